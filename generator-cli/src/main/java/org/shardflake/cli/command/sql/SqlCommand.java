/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.sql;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.DurationConverter;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.error.FileFailure;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.output.JsonWriter;
import org.shardflake.cli.output.RowsWriter;
import org.shardflake.cli.output.TaskProgress;
import org.shardflake.deploy.DeployTarget;
import org.shardflake.deploy.SchemaStatus;
import org.shardflake.jdbc.Plural;
import org.shardflake.router.ShardRouter;
import org.shardflake.script.ScriptReport;
import org.shardflake.script.ScriptRunner;
import org.shardflake.script.ScriptSettings;
import org.shardflake.script.ShardScript;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code shardflake sql}: runs a query over many shards, or statements that write in each. */
@Command(
        name = "sql",
        description = {
            "Runs a query in all shards, or some, and prints the rows of all. Name tables without a schema.",
            "Results are not combined across shards: ORDER BY, GROUP BY and DISTINCT apply to each shard; LIMIT and aggregates, too, and need --with-shard. --limit, --count and --sum are for all shards.",
            "--write runs statements that write, once in each shard, in separate transactions: after an interruption the same command continues."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:all rows were printed, or the statements were run in all shards",
            "1:a server or the catalog failed, or the deadline passed: the output is incomplete; or the statements failed in every shard tried",
            "2:the command line is wrong, or the SQL is not a query, or cannot run in a transaction on a shard",
            "3:shards are missing from the output (--partial), or the statements were not run in some",
            "4:there is no catalog, other statements were run under this name, or shards are being moved before the first run of all"
        },
        footer = {
            "",
            "Example: shardflake sql 'SELECT id, title FROM photo WHERE likes > 1000' --with-shard -o csv",
            "         shardflake sql --write \"UPDATE photo SET title = '' WHERE title IS NULL\" --all-shards"
        })
public final class SqlCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Parameters(index = "0", arity = "0..1", paramLabel = "SQL", description = "The query, or the statements to write.")
    private @Nullable String sql;

    @Option(
            names = {"-f", "--file"},
            paramLabel = "FILE",
            description = "A file with the query or the statements.")
    private @Nullable Path file;

    @ArgGroup
    private @Nullable ShardChoice choice;

    @Option(names = "--with-shard", description = "Begin each row with its shard.")
    private boolean withShard;

    @ArgGroup
    private @Nullable Total total;

    static final class Total {
        @Option(names = "--count", description = "Print only the number of rows in all shards.")
        private boolean count;

        @Option(
                names = "--sum",
                paramLabel = "VALUE",
                description = "Print only the sum of a column of the query, or of an expression of its columns.")
        private @Nullable String sum;

        String sql(String query) {
            return "SELECT %s FROM (%s\n) AS rows"
                    .formatted(count ? "pg_catalog.count(*)" : "pg_catalog.sum(" + sum + ")", query);
        }

        String name() {
            return count ? "count" : "sum";
        }
    }

    @Option(names = "--limit", paramLabel = "N", description = "Stop after this many rows, whichever come first.")
    private @Nullable Long limit;

    @Option(
            names = "--deadline",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            description = "How long a query may take in all, such as 500ms, 10s or 5m (default: 1m).")
    private @Nullable Duration deadline;

    @Option(
            names = "--partial",
            description = "Print the rows of the other servers if one fails, and say which shards are missing.")
    private boolean partial;

    @Option(
            names = "--write",
            description = "Run statements that write; needs --all-shards or another choice of shards.")
    private boolean write;

    @Option(
            names = "--run",
            paramLabel = "NAME",
            defaultValue = "",
            description =
                    "The name under which each shard notes that the statements were run (default: a digest of them).")
    private String run;

    @Option(
            names = "--parallelism",
            paramLabel = "N",
            description = "How many shards are written at a time: 1 to 100 (default: 4).")
    private @Nullable Integer parallelism;

    @Option(
            names = "--pause",
            paramLabel = "DURATION",
            converter = DurationConverter.class,
            description = "How long each of them pauses between two shards (default: 0ms).")
    private @Nullable Duration pause;

    @Option(names = "--keep-going", description = "Write in the other shards when one fails, instead of stopping.")
    private boolean keepGoing;

    @Option(
            names = "--dry-run",
            description =
                    "Only run the statements that write in one shard of each history, undo that, and show what would be done.")
    private boolean dryRun;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private RowFormatMixin output;

    @Override
    public Integer call() throws InterruptedException {
        String text = text();
        requireSensible();
        ScriptSettings settings = settings();
        ShardScript script = write ? ShardScript.writes(text) : ShardScript.query(text);
        if (!write) {
            catalog.onlyReads();
        }
        try (ShardRouter router = SqlRouter.open(catalog, write ? settings.parallelism() : 2)) {
            ShardSet shards = choice == null ? ShardChoice.all(router.map()) : choice.of(router.map());
            if (write) {
                return write(router, script, shards, settings);
            }
            requireMeant(script, shards);
            return read(router, script.statements().get(0), shards);
        }
    }

    private String text() {
        if ((sql == null) == (file == null)) {
            throw CliException.usage(
                    sql == null
                            ? "SQL is missing: give it as an argument or with --file"
                            : "SQL and --file are both given; give only one of them");
        }
        return sql == null ? FileFailure.read(file) : sql;
    }

    private void requireSensible() {
        if (write && choice == null) {
            throw new CliException(
                    Kind.USAGE,
                    "--write needs to know in which shards",
                    "--all-shards, or some with --shards, --server, --uid, --id or --key");
        }
        if (write && (total != null || limit != null || deadline != null || partial || withShard)) {
            throw CliException.usage(
                    "--count, --sum, --limit, --deadline, --partial and --with-shard are for queries, not for --write");
        }
        if (!write && (dryRun || keepGoing || !run.isEmpty() || parallelism != null || pause != null)) {
            throw CliException.usage("--dry-run, --keep-going, --run, --parallelism and --pause are for --write");
        }
        if (limit != null && limit < 1) {
            throw CliException.usage("the limit is %s, allowed: 1 or more".formatted(limit));
        }
    }

    /** Refuses a limit or an aggregate that applies to each shard separately but reads as if it applied to all. */
    private void requireMeant(ShardScript script, ShardSet shards) {
        String word =
                withShard || shards.size() == 1 ? "" : script.wordOfOneShard().orElse("");
        boolean isLimit = !word.isEmpty() && word.equals(word.toUpperCase(Locale.ROOT));
        if (word.isEmpty() || (!isLimit && total != null && !total.count)) {
            return;
        }
        throw new CliException(
                Kind.USAGE,
                "%s would apply to each of %s shards, not to all together".formatted(word, shards.size()),
                isLimit
                        ? "--limit N stops after N rows of all shards; --with-shard prints the rows of each shard"
                        : "leave it out of the query and let --count count rows, or --sum VALUE add up, over all shards; --with-shard prints the result of each shard");
    }

    private int read(ShardRouter router, String query, ShardSet shards) {
        RowsWriter rows = new RowsWriter(spec.commandLine().getOut(), output.format());
        SqlRead read = new SqlRead(router, shards, deadline == null ? Duration.ofMinutes(1) : deadline, partial);
        if (total == null) {
            read.rows(query, withShard, limit, rows);
        } else {
            read.total(total.sql(query), total.name(), withShard, rows);
        }
        rows.end();
        if (total == null && limit == null && !withShard && shards.size() > 1 && rows.written() == shards.size()) {
            spec.commandLine()
                    .getErr()
                    .printf(
                            "%s from %s shards: results are not combined; --with-shard begins each row with its shard%n",
                            Plural.of(rows.written(), "row"), shards.size());
        }
        return read.tellMissing(spec.commandLine().getErr());
    }

    private int write(ShardRouter router, ShardScript script, ShardSet shards, ScriptSettings settings)
            throws InterruptedException {
        PrintWriter err = spec.commandLine().getErr();
        ScriptRunner runner = new ScriptRunner(catalog.installation(), router, script, settings);
        ShardSet left = runner.left(shards);
        if (dryRun) {
            err.println("dry run: nothing was changed");
            return rehearse(router.map(), runner, shards, left);
        }
        if (left.isEmpty()) {
            err.printf(
                    "run %s was done in these shards before; to run the statements again, give another name with --run%n",
                    runner.run());
        } else {
            confirm.require(
                    "write in %s (%s)%s"
                            .formatted(
                                    Amounts.shards(left.size()),
                                    left,
                                    tableFirst(runner)
                                            .map(", and before that %s"::formatted)
                                            .orElse("")),
                    "--dry-run runs the statements in one of them, or one of each history, and undoes that");
        }
        catalog.onInterruption(
                () -> "each shard has all of the statements or none of them, and no shard gets them twice");
        ScriptReport report;
        try (TaskProgress progress = new TaskProgress(err)) {
            report = runner.run(shards, progress);
        }
        return SqlReportView.print(report, output.format(), spec.commandLine().getOut(), err);
    }

    /**
     * The announcement that a table will be created in all shards, even those that the statements do not run in, since all shards have the same
     * tables.
     */
    private static Optional<String> tableFirst(ScriptRunner runner) throws InterruptedException {
        int lacking = runner.lackingTable();
        return lacking == 0
                ? Optional.empty()
                : Optional.of("make table shardflake_run, which notes what was run, in %s"
                        .formatted(
                                lacking == 1
                                        ? "the shard that lacks it"
                                        : "all %s that lack it".formatted(Amounts.shards(lacking))));
    }

    private ScriptSettings settings() {
        try {
            return new ScriptSettings(
                    run, parallelism == null ? 4 : parallelism, pause == null ? Duration.ZERO : pause, keepGoing);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }

    /** The shards grouped by history, one of each group: shards with different changesets may have different tables. */
    private List<SchemaStatus.Group> differing(ShardMap map, ShardSet shards) {
        List<DeployTarget> targets = catalog.installation().targets(map).stream()
                .map(target -> new DeployTarget(
                        target.server(), target.url(), target.shards().and(shards)))
                .filter(target -> !target.shards().isEmpty())
                .toList();
        Map<String, SchemaStatus.Group> first = new LinkedHashMap<>();
        SchemaStatus.read(targets, false).groups().forEach(group -> first.putIfAbsent(group.digest(), group));
        return List.copyOf(first.values());
    }

    private int rehearse(ShardMap map, ScriptRunner runner, ShardSet shards, ShardSet left)
            throws InterruptedException {
        Map<String, @Nullable Object> facts = new LinkedHashMap<>();
        facts.put("run", runner.run());
        facts.put("shards", left.toString());
        facts.put("before", shards.size() - left.size());
        facts.put("tableLacking", runner.lackingTable());
        String would = "would write in " + Amounts.shards(left.size());
        List<Map<String, Object>> tried = new ArrayList<>();
        List<SchemaStatus.Group> groups = differing(map, left);
        for (SchemaStatus.Group group : groups) {
            int shard = group.shards().stream().findFirst().orElseThrow();
            long rows = runner.rehearse(shard);
            tried.add(Map.of("shard", shard, "last", group.last(), "rows", rows));
            would += "; in shard %s%s that changes %s"
                    .formatted(
                            shard,
                            groups.size() == 1 ? "" : " (last changeset: %s)".formatted(group.last()),
                            Plural.of(rows, "row"));
        }
        facts.put("tried", tried);
        would += tableFirst(runner).map("; before that it would %s"::formatted).orElse("");
        spec.commandLine()
                .getOut()
                .println(output.format() == RowsWriter.Format.JSON ? JsonWriter.write(facts) : would);
        return ExitCodes.OK;
    }
}
