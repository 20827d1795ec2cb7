/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.command.Commands;
import org.shardflake.cli.command.option.ConfirmMixin;
import picocli.CommandLine;
import picocli.CommandLine.Model;

class ShardflakeTest {

    @Test
    void showsHelp() {
        assertThat(Cli.launch("id", "range", "--help")).isEqualTo(new Result(0, """
                                Usage: shardflake id range [-h] [--no-color] [--stacktrace] [--wide] [--catalog=URL] [--epoch=TIME]
                                                           --from=TIME [-o=FORMAT] --to=TIME
                                Shows the smallest and the largest id of a time range, in any shard.
                                Both ends are included, each with its whole millisecond, as with BETWEEN and the SQL functions
                                shardflake.min_id and shardflake.max_id. An end outside the times that ids hold stands for the
                                first or the last of them.
                                      --from=TIME       First millisecond, as UTC milliseconds or ISO-8601.
                                      --to=TIME         Last millisecond, as UTC milliseconds or ISO-8601.
                                      --epoch=TIME      The moment from which the time in ids counts, as UTC milliseconds or
                                                          ISO-8601 (default: epoch in shardflake.yaml, or that of the catalog, or
                                                          without one 2025-01-01T00:00:00Z).
                                      --catalog=URL     The catalog that knows the epoch.
                                  -o, --output=FORMAT   table, json or yaml (default: table).
                                      --wide            All columns of tables, also on a terminal that is too narrow for them.
                                  -h, --help            Show this help and exit.
                                      --stacktrace      Show stack traces of errors.
                                      --no-color        No colours, as with NO_COLOR or TERM=dumb in the environment.

                                Exit codes:
                                  0   ok
                                  1   the catalog cannot be asked for the epoch
                                  2   the command line is wrong, or a time out of range

                                Example: shardflake id range --from 2026-01-01T00:00:00Z --to 2026-01-31T23:59:59.999Z
                                """, ""));
    }

    @Test
    void documentsTheExitCodes() {
        assertThat(Cli.launch("--help").out()).contains("""
                        Exit codes:
                          0   ok
                          1   failure
                          2   the command line is wrong
                          3   partly done
                          4   a precondition is not met
                          5   verification failed
                        """);
    }

    @ParameterizedTest
    @CsvSource({
        "id",
        "id decode",
        "id encode",
        "id convert",
        "id range",
        "id next",
        "id generate",
        "init",
        "server",
        "server add",
        "server list",
        "server change",
        "server drain",
        "server remove",
        "map",
        "map show",
        "map locate",
        "map export",
        "map import",
        "map history",
        "adopt",
        "schema",
        "schema deploy",
        "schema status",
        "schema rollback",
        "rebalance",
        "rebalance plan",
        "rebalance apply",
        "rebalance run",
        "doctor",
        "reconcile",
        "local",
        "local start",
        "local status",
        "local stop",
        "config"
    })
    void helpsWithEachCommand(String command) {
        Result result = Cli.launch((command + " --help").split(" "));

        assertThat(result.exitCode()).isZero();
        assertThat(result.err()).isEmpty();
        assertThat(result.out())
                .startsWith("Usage: shardflake " + command + " ")
                .containsOnlyOnce("Example: ");
    }

    @Test
    void showsItsVersion() {
        Result result = Cli.launch("--version");

        assertThat(result.out()).startsWith("shardflake ").contains("\nid layout 1\nJava " + Runtime.version());
        assertThat(result.exitCode()).isZero();
    }

    @Test
    void saysWhatToDoNextWhenCalledWithNothingToDo() {
        assertThat(Cli.launch()).isEqualTo(new Result(0, """
                                No catalog is set, and there is no local cluster here. To begin:
                                  shardflake demo                           see it run, on servers that go away again
                                  shardflake local start                    a cluster that stays, to try every command on
                                  shardflake init --server NAME=URL         an installation on your own servers

                                All commands: shardflake --help
                                """, ""));
    }

    @Test
    void helpAndVersionAreCommandsToo() {
        assertThat(Cli.launch("help")).isEqualTo(Cli.launch("--help"));
        assertThat(Cli.launch("version")).isEqualTo(Cli.launch("--version"));
        assertThat(Cli.launch("help", "move", "run"))
                .isEqualTo(Cli.launch("move", "help", "run"))
                .isEqualTo(Cli.launch("move", "run", "--help"));
        assertThat(Cli.launch("help", "doctr").err()).startsWith("error: unknown command \"doctr\"\n");
    }

    @Test
    void theHelpGroupsAllCommandsWithinEightyColumns() {
        String help = Cli.launch("--help").out();

        assertThat(Commands.OVERVIEW.lines().filter(line -> line.length() > 80)).isEmpty();
        assertThat(Shardflake.allCommands().getSubcommands().keySet())
                .allSatisfy(name -> assertThat(help).containsOnlyOnce("\n  %s ".formatted(name)));
    }

    /** Each command that removes rows or a server asks, in the same way. A new one has to be put into this list. */
    @Test
    void whatTakesRowsOrServersAwayAsks() {
        List<String> asking = new ArrayList<>();
        addAsking(Shardflake.allCommands(), asking);

        assertThat(asking)
                .containsExactlyInAnyOrder(
                        "adopt cutover",
                        "adopt rehearse",
                        "adopt reverse",
                        "adopt run",
                        "cdc drop",
                        "gateway drop",
                        "lookup drop",
                        "map import",
                        "move cancel",
                        "move complete",
                        "move run",
                        "rebalance apply",
                        "rebalance run",
                        "reference delete",
                        "schema deploy",
                        "schema rollback",
                        "separate",
                        "server drain",
                        "server remove",
                        "server split",
                        "sql");
    }

    private static void addAsking(CommandLine command, List<String> asking) {
        Model.OptionSpec yes = command.getCommandSpec().findOption("--yes");
        if (yes != null) {
            assertThat(yes.userObject()).isInstanceOf(Field.class);
            assertThat(((Field) yes.userObject()).getDeclaringClass()).isEqualTo(ConfirmMixin.class);
            asking.add(command.getCommandSpec().qualifiedName().replaceFirst("shardflake ", ""));
        }
        new HashSet<>(command.getSubcommands().values()).forEach(below -> addAsking(below, asking));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "id decod | unknown command \"decod\" | did you mean shardflake id decode?",
                "deploy | unknown command \"deploy\" | did you mean shardflake schema deploy or shardflake reference deploy or shardflake gateway deploy?",
                "zzz | unknown command \"zzz\" | see shardflake --help",
                "doctor x | unexpected argument \"x\" | see shardflake doctor --help",
                "doctor --changelog=app.sql | unknown option --changelog | see shardflake doctor --help",
                "id decode 5 -o xml | --output: 'xml' is not one of table, json, yaml | see shardflake id decode --help",
                "map locate --uid abc | --uid: 'abc' is not a whole number | see shardflake map locate --help",
                "map locate --shard 99999999999 | --shard: '99999999999' is too large | see shardflake map locate --help",
                "map locate | missing: one of --shard=N, --uid=N, --id=N, --key=TEXT | see shardflake map locate --help",
                "map locate --shard 1 --uid 3 | only one of --shard=N, --uid=N can be given | see shardflake map locate --help",
                "move run | missing: --shards SHARDS, --to SERVER | see shardflake move run --help",
                "move run --to | --to needs a value: SERVER | see shardflake move run --help",
                "move run --shards 1 --to a --to b | --to is given more than once | see shardflake move run --help"
            })
    void saysWhatIsWrongWithACommandLine(String line, String error, String hint) {
        assertThat(Cli.launch(line.split(" ")))
                .isEqualTo(new Result(2, "", "error: %s\nhint: %s\n".formatted(error, hint)));
    }

    @Test
    void showsAStackTraceOnRequest() {
        Result result = Cli.launch("id", "encode", "--time=0", "--shard=7", "--sequence=0", "--stacktrace");

        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err())
                .startsWith("error: time 1970-01-01T00:00:00Z is before the epoch")
                .contains("Caused by: java.lang.IllegalArgumentException", "\tat org.shardflake.IdLayout");
    }
}
