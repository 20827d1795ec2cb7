/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.shardflake.CliCommand;
import org.shardflake.cli.error.ExitCodes;
import picocli.CommandLine;

/** Nothing but the constants of {@link CliCommand} can be advised, so what holds for them holds for all advice. */
class AdvisedCommandsTest {

    private static final String NOWHERE = "postgresql://app@127.0.0.1:1/none";

    private static final String URL = NOWHERE;

    private static final Set<CliCommand> START_SERVERS = Set.of(CliCommand.DEMO, CliCommand.LOCAL_START);

    private static final Set<CliCommand> READ_A_FILE =
            Set.of(CliCommand.MAP_IMPORT, CliCommand.MAP_IMPORT_YES, CliCommand.REBALANCE_APPLY);

    private static final Map<String, String> VALUES = Map.ofEntries(
            Map.entry("COLUMN", "uid"),
            Map.entry("DIR", "db"),
            Map.entry("DURATION", "30s"),
            Map.entry("FILE", "app.xml"),
            Map.entry("ID", "11637205501278089"),
            Map.entry("KEY...", "New York"),
            Map.entry("MOVE", "7"),
            Map.entry("N", "7"),
            Map.entry("NAME", "db1"),
            Map.entry("NAME=URL", "db1=" + URL),
            Map.entry("ROLE", "reports"),
            Map.entry("SERVER", "db2"),
            Map.entry("SHARDS", "0-3,7"),
            Map.entry("SQL", "DELETE FROM photo"),
            Map.entry("TABLE", "photo"),
            Map.entry("TABLE.COLUMN", "photo.title"),
            Map.entry("TEXT", "o'neil"),
            Map.entry("TIME", "2026-01-01T00:00:00Z"),
            Map.entry("URL", URL),
            Map.entry("URL_OF_THE_POOLER", URL),
            Map.entry("URL_OF_THE_SERVER", URL),
            Map.entry("WORK", "moves"));

    @Test
    void theParserTakesEachWithAllThatItNeeds() {
        CommandLine all = Shardflake.allCommands();
        List<CliCommand> commands = all();
        assertThat(commands).hasSizeGreaterThan(60);
        for (CliCommand command : commands) {
            List<String> places = command.words().stream()
                    .filter(word -> word.matches("[A-Z].*"))
                    .toList();
            assertThat(VALUES.keySet()).as(command.toString()).containsAll(places);
            CliCommand filled = filled(command);

            assertThat(filled.isComplete()).as(filled.toString()).isTrue();
            assertThat(places.isEmpty() || !command.isComplete())
                    .as(command.toString())
                    .isTrue();
            assertThatCode(() -> assertThat(all.parseArgs(filled.words().toArray(String[]::new))
                                    .hasSubcommand())
                            .isTrue())
                    .as(filled.toString())
                    .doesNotThrowAnyException();
        }
    }

    /** Rules that a command checks itself, before it connects: nothing listens at the catalog's address. */
    @Test
    void noneIsRefusedAsAWrongCommandLine() {
        CommandLine parser = Shardflake.allCommands();
        for (CliCommand command : all()) {
            if (START_SERVERS.contains(command) || READ_A_FILE.contains(command)) {
                continue;
            }
            List<String> words = new ArrayList<>(filled(command).words());
            CommandLine.ParseResult parsed = parser.parseArgs(words.toArray(String[]::new));
            while (parsed.hasSubcommand()) {
                parsed = parsed.subcommand();
            }
            if (parsed.commandSpec().findOption("--catalog") != null && !words.contains("--catalog")) {
                words.add("--catalog=" + NOWHERE);
            }

            Cli.Result result = Cli.launch(words.toArray(String[]::new));

            boolean isOnlyUnconfirmed = result.err().startsWith("error: cannot ask whether");
            assertThat(result.exitCode() == ExitCodes.USAGE && !isOnlyUnconfirmed)
                    .as("%s: %s", words, result)
                    .isFalse();
        }
    }

    private static CliCommand filled(CliCommand command) {
        return command.with(command.words().stream()
                .filter(word -> word.matches("[A-Z].*"))
                .map(VALUES::get)
                .toArray());
    }

    private static List<CliCommand> all() {
        return Stream.of(CliCommand.class.getFields())
                .filter(field -> Modifier.isStatic(field.getModifiers()) && field.getType() == CliCommand.class)
                .map(field -> {
                    try {
                        return (CliCommand) field.get(null);
                    } catch (IllegalAccessException e) {
                        throw new AssertionError(e);
                    }
                })
                .flatMap(command -> Stream.of(command, command.ofTables(List.of("photo", "likes"), "uid", null)))
                .distinct()
                .toList();
    }
}
