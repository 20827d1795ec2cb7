/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.console;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.CatalogUnavailableException;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.Invocation;
import org.shardflake.cli.console.Operator;
import org.shardflake.cli.console.ShownCommand;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.install.ServerFailedException;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.CatalogSchema;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;

/** Runs commands for the console with its catalog and environment, and records each in the map's history. */
final class ConsoleOperator implements Operator {

    /** The commands that change something and that the page may run. */
    private static final Set<String> CHANGES = Set.of(
            "doctor",
            "gateway drop",
            "gateway refresh",
            "move cancel",
            "move complete",
            "move cutover",
            "move reverse",
            "move start",
            "reconcile",
            "reference delete",
            "reference deploy",
            "reference move",
            "reference repair",
            "schema deploy",
            "server split",
            "upgrade");

    /** The exit codes of a successful dry run, whether or not the command found something to do. */
    private static final Set<Integer> PASSED = Set.of(ExitCodes.OK, ExitCodes.VERIFICATION);

    private final Invocation.Root root;
    private final CatalogMixin catalog;
    private final String origin;

    /**
     * @param user of the operating system, who started the console
     */
    ConsoleOperator(Invocation.Root root, CatalogMixin catalog, String user) {
        this.root = root;
        this.catalog = catalog;
        this.origin = "from the console of " + user;
    }

    /**
     * Refuses a catalog that cannot record which command was run.
     *
     * @throws CliException if the catalog is of an older version
     */
    void requireHistory() {
        catalog.catalog().load();
        try (Connection connection = catalog.url().connect("shardflake console")) {
            if (CatalogSchema.version(connection) < CatalogSchema.version()) {
                throw new CliException(
                        Kind.PRECONDITION,
                        "the catalog is of an older version, whose history cannot record commands of a console",
                        Advice.of("bring it up to date with %s, or leave out --allow-changes", CliCommand.UPGRADE));
            }
        } catch (SQLException e) {
            throw ServerFailedException.connecting(catalog.url(), e);
        }
    }

    /** A command that the page shows: its names, its description, and its words. */
    private record Parsed(String path, CommandSpec spec, List<String> words) {

        boolean has(String option) {
            return spec.findOption(option) != null;
        }
    }

    private Parsed parse(CliCommand shown) {
        List<String> words = shown.words();
        CommandLine command = root.commands();
        int names = 0;
        for (String word : words) {
            CommandLine below = command.getSubcommands().get(word);
            if (below == null) {
                break;
            }
            command = below;
            names++;
        }
        return new Parsed(String.join(" ", words.subList(0, names)), command.getCommandSpec(), words);
    }

    @Override
    public boolean canRun(CliCommand shown) {
        Parsed command = parse(shown);
        boolean onlyReads = shown.equals(CliCommand.DOCTOR)
                || command.words().contains("--dry-run")
                || command.words().contains("--watch");
        return CHANGES.contains(command.path()) && !onlyReads && shown.isComplete();
    }

    @Override
    public Trial tryOut(ShownCommand shown) {
        Parsed command = parse(shown.command());
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        int exitCode = ExitCodes.OK;
        if (command.has("--dry-run")) {
            exitCode = run(command, List.of("--dry-run"), output, question -> false);
        }
        Outcome outcome = outcome(command, exitCode);
        String question = asks(command) && !outcome.isRefusal() ? question(command) : "";
        return new Trial(
                command.has("--dry-run") ? shown + " --dry-run" : "", output.toString(UTF_8), question, outcome);
    }

    /** Whether the command asks before it changes anything; a deployment asks only if rows would be given up. */
    private static boolean asks(Parsed command) {
        return command.has("--yes")
                && (!command.path().equals("schema deploy") || command.words().contains("--recreate"));
    }

    /** The question that the command asks before it changes anything, found by answering no. */
    private String question(Parsed command) {
        List<String> asked = new ArrayList<>();
        run(command, List.of(), OutputStream.nullOutputStream(), question -> {
            asked.add(question);
            return false;
        });
        return asked.isEmpty() ? "" : asked.get(0);
    }

    @Override
    public boolean agrees(String answer) {
        return ConfirmMixin.isYes(answer);
    }

    @Override
    public void record(String line) {
        try (Connection connection = catalog.url().connect("shardflake console")) {
            Sql.update(
                    connection,
                    "INSERT INTO shardflake_catalog.history (version, change, reason) SELECT version, 'command run', ? FROM shardflake_catalog.installation",
                    line + ", " + origin);
        } catch (SQLException e) {
            throw new CatalogUnavailableException(String.valueOf(e.getMessage()), e);
        }
    }

    @Override
    public Outcome run(CliCommand shown, String question, OutputStream output) {
        Parsed command = parse(shown);
        return outcome(command, run(command, List.of(), output, question::equals));
    }

    private int run(Parsed command, List<String> more, OutputStream output, Predicate<String> agreement) {
        List<String> args = new ArrayList<>(command.words());
        args.addAll(more);
        args.addAll(catalog.arguments());
        Map<String, String> environment = new HashMap<>(root.invocation().environment());
        environment.put(ServerUrl.ORIGIN, origin);
        return root.run(args, output, environment, agreement);
    }

    private static Outcome outcome(Parsed command, int exitCode) {
        String meaning = command.spec().usageMessage().exitCodeList().getOrDefault(String.valueOf(exitCode), "");
        return new Outcome(exitCode, meaning, !PASSED.contains(exitCode));
    }
}
