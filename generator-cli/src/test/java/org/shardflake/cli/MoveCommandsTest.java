/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.cli.command.option.Invocation;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.move.AccountShards;

/** The move commands, as an operator uses them. */
class MoveCommandsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private AccountShards shards;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.create(postgres, 2, 8, directory);
        shards.execute(
                "db1", "INSERT INTO shard_0003.account (uid, balance) SELECT 3, n FROM generate_series(1, 100) n");
    }

    private Cli.Result launch(String... args) {
        return Cli.launch(InputStream.nullInputStream(), shards.environment(), args);
    }

    @Test
    void aDryRunShowsThePlanAndChangesNothing() throws SQLException {
        Cli.Result plan = launch("move", "start", "--shards=2-4", "--to=db2", "--dry-run");

        assertThat(plan.exitCode()).as(plan.toString()).isZero();
        assertThat(plan.out())
                .startsWith("3 shards from db1 to db2: 9 tables, ")
                .containsPattern("wal-level-db1 +ok +wal_level is logical")
                .containsPattern("target-reaches-source +ok +db2 connects to db1");
        assertThat(shards.leftovers("db1")).isZero();
        assertThat(launch("move", "status").out()).isEqualTo("no move is in progress\n");
    }

    @Test
    void stepByStep() throws SQLException {
        Cli.Result started = launch("move", "start", "--shards=2-4", "--to=db2");
        assertThat(started.exitCode()).as(started.toString()).isZero();
        assertThat(started.out()).isEqualTo("move 1: db2 follows db1 with 3 shards; next: shardflake move cutover 1\n");
        assertThat(launch("move", "status").out())
                .containsPattern("1 +following +\\S+ +db1 +db2 +2-4 +3 of 3 +0 of 3 +");
        assertThat(launch("move", "verify").out()).isEqualTo("compared 3 shards: no row differs\n");

        assertThat(launch("move", "cutover", "1", "--shards", "2-3", "--dry-run"))
                .isEqualTo(new Cli.Result(
                        0, "would cut over 2 shards of move 1: 2,3\n", "dry run: nothing was changed\n"));
        Cli.Result cutover = launch("move", "cutover", "1", "--shards", "3");
        assertThat(cutover.exitCode()).as(cutover.toString()).isZero();
        assertThat(cutover.out()).startsWith("cut over 1 shard; write pause: median ");
        assertThat(cutover.err()).containsPattern("shard 3 is on db2, after a pause of \\d+ ms");
        assertThat(launch("map", "locate", "--shard=3", "-o", "json").out())
                .isEqualTo("{\"shard\":3,\"schema\":\"shard_0003\",\"server\":\"db2\",\"epoch\":2}\n");
        assertThat(launch("move", "cutover", "1", "--shards", "3").out()).contains("nothing to do");

        Cli.Result tooEarly = launch("move", "complete", "--yes");
        assertThat(tooEarly.exitCode()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(tooEarly.err()).startsWith("error: move 1 is not complete: shards 2,4 are still on db1");
        Cli.Result tooLate = launch("move", "cancel", "--yes");
        assertThat(tooLate.exitCode()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(tooLate.err())
                .contains(
                        "error: shard 3 of move 1 is on db2 already\nhint: bring them back with shardflake move reverse 1 first, or leave them there with shardflake move cancel 1 --keep-moved");

        assertThat(launch("move", "complete", "--dry-run").err()).isEqualTo(tooEarly.err());
        assertThat(launch("move", "cancel", "--dry-run").err()).isEqualTo(tooLate.err());
        assertThat(launch("move", "reverse", "--dry-run").out()).isEqualTo("would bring back 1 shard of move 1: 3\n");
        Cli.Result unasked = launch("move", "cancel");
        assertThat(unasked.exitCode()).isEqualTo(ExitCodes.USAGE);
        assertThat(unasked.err()).isEqualTo("""
                error: cannot ask whether to cancel move 1 and remove the copies of 3 shards on db2: there is no terminal
                hint: add --yes; shardflake move status 1 shows the move
                """);

        assertThat(launch("move", "reverse").out()).startsWith("brought back 1 shard; write pause");
        Cli.Result answers = launch("move", "cancel", "--target-lost", "--yes");
        assertThat(answers.err()).isEqualTo("""
                error: db2 answers
                hint: shardflake move cancel 1 cleans up there, too
                """);
        assertThat(answers.exitCode()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(launch("move", "cancel", "--target-lost", "--keep-moved", "--yes")
                        .exitCode())
                .isEqualTo(ExitCodes.USAGE);
        assertThat(launch("move", "cancel", "--dry-run", "-o", "json").out())
                .isEqualTo("{\"cancelled\":1,\"dryRun\":true}\n");
        assertThat(launch("move", "cancel", "--yes").out()).isEqualTo("cancelled move 1 of 3 shards from db1 to db2\n");
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
    }

    @Test
    @Tag("full")
    void aShardThatWasDroppedOnTheTargetCanBeMovedAgain() throws SQLException {
        assertThat(launch("move", "start", "--shards=3", "--to=db2").exitCode()).isZero();
        shards.execute("db2", "DROP SCHEMA shard_0003 CASCADE");
        assertThat(launch("move", "cancel", "--yes").exitCode()).isZero();
        assertThat(launch("doctor", "--fix").out()).contains("history-stale");

        assertThat(launch("move", "run", "--shards=3", "--to=db2").exitCode()).isZero();
        assertThat(
                        shards.number(
                                "db2",
                                "SELECT count(*) FROM shardflake_deploy.databasechangelog WHERE starts_with(filename, 'shard_0003/')"))
                .isEqualTo(3);
        Cli.Result back = launch("move", "run", "--shards=3", "--to=db1");
        assertThat(back.exitCode()).as(back.toString()).isZero();
    }

    /** As a lagging standby or a restored catalog has it: the shard has been cut over, and the catalog does not know. */
    @Test
    @Tag("full")
    void aCatalogOlderThanACutoverClosesNoShard() throws SQLException {
        assertThat(launch("move", "start", "--shards=3", "--to=db2").exitCode()).isZero();
        assertThat(launch("move", "cutover").exitCode()).isZero();
        shards.executeInCatalog(
                "UPDATE shardflake_catalog.move_shard SET phase = 'copied', mark = NULL, verified = ''; SET session_replication_role = replica; UPDATE shardflake_catalog.shard SET server = 'db1', epoch = 1 WHERE shard = 3");

        for (String[] command : new String[][] {
            {"doctor", "--fix"}, {"reconcile"}, {"move", "cutover", "1"}, {"move", "cancel", "1", "--yes"}
        }) {
            assertThat(launch(command).exitCode()).as(command[0]).isBetween(4, 5);
        }

        assertThat(shards.number("db2", "SELECT shardflake.is_fenced(3)::integer"))
                .isZero();
        assertThat(shards.number("db1", "SELECT shardflake.is_fenced(3)::integer"))
                .isEqualTo(1);
        shards.execute("db2", "INSERT INTO shard_0003.account (uid) VALUES (3)");
    }

    @Test
    void allAtOnce() throws SQLException {
        Cli.Result run = launch("move", "run", "--shards=0-7", "--to=db2", "-o", "json");

        assertThat(run.exitCode()).as(run.toString()).isZero();
        assertThat(run.out())
                .contains("\"from\":\"db1\",\"to\":\"db2\",\"shards\":\"0-7\",\"rows\":100,")
                .contains("\"completed\":true,\"pauseMillis\":{\"p50\":");
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
        assertThat(shards.number("db1", "SELECT count(*) FROM pg_namespace WHERE nspname ~ '^shard_'"))
                .isZero();
        assertThat(launch("move", "run", "--shards=0-7", "--to=db2").out())
                .isEqualTo("all of these shards are on db2; nothing to do\n");
        assertThat(launch("map", "history", "--limit=1").out())
                .contains("move completed")
                .contains("8 shards");
    }

    @Test
    void aPersonIsAskedBeforeOldCopiesAreRemoved() throws IOException {
        Path plan = directory.resolve("plan.yaml");
        assertThat(launch("rebalance", "plan", "--file=" + plan).exitCode()).isZero();
        List<String> asked = new ArrayList<>();
        Predicate<String> no = question -> {
            asked.add(question);
            return false;
        };
        Invocation.Root root =
                (Invocation.Root) Shardflake.allCommands().getCommandSpec().userObject();
        ByteArrayOutputStream output = new ByteArrayOutputStream();
        for (List<String> command : List.of(
                List.of("move", "run", "--shards=2-4", "--to=db2"),
                List.of("rebalance", "apply", plan.toString()),
                List.of("rebalance", "run"),
                List.of("rebalance", "run", "--auto"))) {
            assertThat(root.run(command, output, shards.environment(), no))
                    .as(output.toString(UTF_8))
                    .isEqualTo(ExitCodes.USAGE);
        }
        for (List<String> command : List.of(
                List.of("move", "run", "--shards=2-4", "--to=db2", "--dry-run"),
                List.of("move", "run", "--shards=2-4", "--to=db1"))) {
            assertThat(root.run(command, output, shards.environment(), no))
                    .as(output.toString(UTF_8))
                    .isZero();
        }

        assertThat(asked)
                .containsExactly(
                        "move shards 2-4 to db2, and remove the old copies once they are compared? [y/N]",
                        "make 1 move of 4 shards, and remove the old copies once they are compared? [y/N]",
                        "measure and move shards, and remove the old copies once they are compared? [y/N]",
                        "measure and move shards until you press Ctrl-C, and remove the old copies once they are compared? [y/N]");
        assertThat(output.toString(UTF_8)).contains("error: not confirmed; nothing was changed\n");
        assertThat(launch("map", "show").out()).containsPattern("db1 +8 +0-7");
        assertThat(launch("move", "status").out()).isEqualTo("no move is in progress\n");
    }

    @Test
    void ctrlCSaysWhatIsLeftAndTheNextRunSaysThatItResumes() throws Exception {
        shards.execute(
                "db1", "INSERT INTO shard_0003.account (uid, balance) SELECT 3, n FROM generate_series(1, 20000) n");
        ProcessBuilder command = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                Shardflake.class.getName(),
                "move",
                "run",
                "--shards=2-4",
                "--to=db2",
                "--rate=10KB");
        command.environment().putAll(shards.environment());
        Path err = directory.resolve("err");
        Process process = command.redirectError(err.toFile()).start();
        await().atMost(Duration.ofMinutes(2))
                .until(() -> launch("move", "status").out().contains(" copying "));
        assertThat(launch("move", "status", "-o", "json").out()).contains("\"commandRuns\":true");
        process.destroy(); // SIGTERM, which Java takes as it takes the SIGINT of Ctrl-C.
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();

        assertThat(Files.readString(err)).containsPattern("""
                interrupted: move 1 of 3 shards from db1 to db2 is copying: \\d of 3 copied, 0 on db2
                to go back: shardflake move cancel 1
                to continue: shardflake move run --shards=2-4 --to=db2 --rate=10KB
                """);
        await().atMost(Duration.ofMinutes(1))
                .untilAsserted(
                        () -> assertThat(launch("move", "status").out())
                                .contains(" stopped ")
                                .endsWith(
                                        "move 1: its command no longer runs; continue with shardflake move start --shards 2-4 --to db2, or go back with shardflake move cancel 1\n"));
        Cli.Result resumed = launch("move", "run", "--shards=2-4", "--to=db2");
        assertThat(resumed.exitCode()).as(resumed.toString()).isZero();
        assertThat(resumed.err())
                .containsPattern("resuming move 1 of 3 shards from db1 to db2, which began at \\S+ and is copying\n");
        assertThat(resumed.out()).contains(" s, resumed ");
    }

    @Test
    void whatCannotBeMovedIsSaidBeforeAnythingIsChanged() throws SQLException {
        shards.execute("db1", "CREATE UNLOGGED TABLE shard_0003.cache (id bigint PRIMARY KEY)");

        Cli.Result refused = launch("move", "run", "--shards=3", "--to=db2");

        assertThat(refused.exitCode()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(refused.err())
                .startsWith("error: check unlogged-tables failed: not replicated: shard_0003.cache (and 1 more)\n")
                .contains("hint: ALTER TABLE ... SET LOGGED")
                .endsWith("; shardflake move start --shards 3 --to db2 --dry-run shows all checks\n");
        assertThat(launch("move", "start", "--shards=3", "--to=db9").exitCode()).isEqualTo(ExitCodes.USAGE);
        assertThat(launch("move", "start", "--shards=8", "--to=db2").exitCode()).isEqualTo(ExitCodes.USAGE);
        assertThat(launch("move", "start", "--shards=x", "--to=db2").exitCode()).isEqualTo(ExitCodes.USAGE);
        assertThat(launch("move", "start", "--shards=3", "--to=db2", "--rate=fast")
                        .err())
                .contains("'fast' is not a number of bytes such as 500000, 64kB or 20MB");
        assertThat(launch("move", "verify").err()).startsWith("error: there is no move\nhint: begin one with");
        assertThat(launch("move", "verify", "7").err()).startsWith("error: no move 7 is in progress");
    }

    @Test
    void aShardWithASubscriptionOfTheUsersOwnIsNotMoved() throws SQLException {
        shards.subscribe("db1", 3);

        Cli.Result run = launch("move", "run", "--shards=3", "--to=db2");

        assertThat(run.exitCode()).as(run.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(run.err()).contains("subscription own_feed writes to shard_0003.tag", "Drop them");
    }

    @Test
    @Tag("full")
    void aShardIsInOneMoveAtATimeAndItsPlacementIsTheMoves() throws Exception {
        launch("move", "start", "--shards=3", "--to=db2");

        Cli.Result second = launch("move", "start", "--shards=2-3", "--to=db2");

        assertThat(second.exitCode()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(shards.leftovers("db2")).isNotZero();
        Path changelog = directory.resolve("accounts.sql");
        Files.writeString(
                changelog,
                Files.readString(changelog) + "\n--changeset ann:place\nALTER TABLE tag ADD COLUMN place text;\n");
        Cli.Result deploy =
                launch("schema", "deploy", "--changelog=" + changelog, "--search-path=" + directory, "--shards=2-3");
        assertThat(deploy.exitCode()).as(deploy.toString()).isEqualTo(ExitCodes.OK);
        for (String server : List.of("db1", "db2")) { // the shard and its copy
            assertThat(shards.number(server, "SELECT count(*) FROM shard_0003.tag WHERE place IS NULL"))
                    .isZero();
        }
        assertThatThrownBy(() -> shards.catalog().place(ShardSet.of(3), "db2", "by hand"))
                .hasMessageContaining("shard 3 is being moved, and only its move may change its placement");
        assertThat(launch("move", "start", "--shards=3", "--to=db2", "--dry-run")
                        .err())
                .isEqualTo("would resume move 1 of shard 3, which is following\n");
        assertThat(launch("move", "run", "--shards=2-3", "--to=db2", "--dry-run"))
                .isEqualTo(new Cli.Result(4, "", """
                        error: shard 3 is in move 1 already
                        hint: see shardflake move status 1
                        """));
        Cli.Result again = launch("move", "start", "--shards=3", "--to=db2");
        assertThat(again.out()).startsWith("move 1: db2 follows db1");
        launch("move", "cancel", "--yes");
        assertThat(shards.leftovers("db2")).isZero();
    }
}
