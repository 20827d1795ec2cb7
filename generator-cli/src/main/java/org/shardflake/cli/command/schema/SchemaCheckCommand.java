/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.schema;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.DryRunMixin;
import org.shardflake.cli.command.option.LockTimeoutMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Progress;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.deploy.DeployTarget;
import org.shardflake.deploy.RowChecks;
import org.shardflake.deploy.SchemaChecks;
import org.shardflake.deploy.SchemaChecks.ServerReport;
import org.shardflake.deploy.StrayRows;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake schema check}: keeps rows of other shards out of existing tables. */
@Command(
        name = "check",
        description = {
            "Adds to existing tables the checks that new ones get: they refuse rows whose id or uid belongs to another shard.",
            "Looks for such rows first; a table that has any is named and left unchanged. Locks are short: a"
                    + " check is added NOT VALID, then validated while reads and writes continue. Run the command again to do"
                    + " only what is left."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:every table has its checks and no rows of other shards",
            "1:a server or the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "3:some tables stayed locked by others; run the command again to do the rest",
            "4:there is no catalog, or a deployment or move is running; nothing was changed",
            "5:some tables have rows of other shards"
        },
        footer = {"", "Example: shardflake schema check --uid-column uid"})
final class SchemaCheckCommand implements Callable<Integer> {

    /** The maximum number of lines shown, since rows that are wrong everywhere would fill the screen. */
    private static final int SHOWN = 20;

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--uid-column",
            paramLabel = "NAME",
            description = "The column that holds the uid, recorded permanently (default: the one recorded, or none).")
    private @Nullable String uidColumn;

    @Mixin
    private TargetsMixin targets;

    @Mixin
    private LockTimeoutMixin lockTimeout;

    @Mixin
    private DryRunMixin dryRun;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        ShardMap map = catalog.catalog().load();
        List<DeployTarget> servers = targets.targets(map, catalog);
        try (SchemaChecks checks = SchemaChecks.prepare(servers)) {
            catalog.installation().requireUnmoved(servers);
            if (dryRun.isOn()) {
                dryRun.say();
            } else {
                checks.record(new RowChecks(true, uidColumn, map.sharding().shardCount()));
            }
            List<ServerReport> reports = run(checks, servers);
            output.print(facts(reports), () -> table(reports));
            return exitCode(reports);
        }
    }

    private List<ServerReport> run(SchemaChecks checks, List<DeployTarget> servers) throws InterruptedException {
        int shards = servers.stream().mapToInt(server -> server.shards().size()).sum();
        Progress.Factory progress = Progress.on(spec.commandLine().getErr(), Progress.isTerminal());
        try (Progress checking = progress.start("checking shards", shards)) {
            return checks.run(lockTimeout.get(), dryRun.isOn(), checking::advance);
        }
    }

    private static int exitCode(List<ServerReport> reports) {
        if (reports.stream().anyMatch(report -> !report.strays().isEmpty())) {
            return ExitCodes.VERIFICATION;
        }
        return reports.stream().allMatch(report -> report.busy().isEmpty()) ? ExitCodes.OK : ExitCodes.PARTLY_DONE;
    }

    private static Map<String, Object> facts(List<ServerReport> reports) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("servers", reports.stream().map(SchemaCheckCommand::facts).toList());
        facts.put(
                "strays",
                strays(reports).stream().map(SchemaCheckCommand::facts).toList());
        facts.put(
                "locked",
                reports.stream().flatMap(report -> report.busy().stream()).toList());
        return facts;
    }

    private static List<StrayRows> strays(List<ServerReport> reports) {
        return reports.stream().flatMap(report -> report.strays().stream()).toList();
    }

    private static Map<String, Object> facts(ServerReport report) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("server", report.server());
        facts.put("shards", report.shards());
        facts.put("present", report.present());
        facts.put("added", report.added());
        facts.put("refused", report.strays().size());
        return facts;
    }

    private static Map<String, Object> facts(StrayRows strays) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("shard", strays.shard());
        facts.put("server", strays.server());
        facts.put("table", strays.table());
        facts.put("column", strays.column());
        facts.put("rows", strays.rows());
        facts.put("samples", strays.samples());
        return facts;
    }

    private String table(List<ServerReport> reports) {
        TableWriter table = new TableWriter(
                "SERVER", "SHARDS", "CHECKS PRESENT", dryRun.isOn() ? "TO ADD" : "ADDED", "WITH STRAY ROWS");
        reports.forEach(report -> table.row(
                report.server(),
                report.shards(),
                report.present(),
                report.added(),
                report.strays().size()));
        StringJoiner text = new StringJoiner("\n").add(table.toString());
        List<StrayRows> strays = strays(reports);
        strays.stream().limit(SHOWN).forEach(stray -> text.add(stray.toString()));
        if (strays.size() > SHOWN) {
            text.add(String.format(Locale.ROOT, "%,d more tables; -o json has them all", strays.size() - SHOWN));
        }
        reports.stream()
                .flatMap(report -> report.busy().stream())
                .limit(SHOWN)
                .forEach(busy -> text.add("%s was locked all the time: run it again".formatted(busy)));
        return text.toString();
    }
}
