/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.move.AccountShards;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.rebalance.RebalancePlanFile;

/** The rebalance commands and {@code server drain}, as an operator uses them: all shards are on db1, and db2 is empty. */
class RebalanceCommandsTest {

    /** The servers of a test share a disk with whatever else is going on. */
    private static final String SLOWER = "--slower=1000";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(4);

    @TempDir
    Path directory;

    private AccountShards shards;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.create(postgres, 2, 8, directory);
    }

    private Cli.Result launch(String... args) {
        return Cli.launch(InputStream.nullInputStream(), shards.environment(), args);
    }

    private ShardSet on(String server) {
        ShardMap map = shards.catalog().load();
        return map.shards(map.server(server));
    }

    private void fill(int shard, int rows) throws SQLException {
        shards.execute(
                "db1",
                String.format(
                        Locale.ROOT,
                        "INSERT INTO shard_%04d.account (uid, balance) SELECT %s, n FROM generate_series(1, %s) n",
                        shard,
                        shard,
                        rows));
    }

    @Test
    void aPlanIsWrittenAndCarriedOut() {
        Path file = directory.resolve("plan.yaml");

        Cli.Result plan = launch("rebalance", "plan", "--by=count", "--file=" + file);
        assertThat(plan.exitCode()).as(plan.toString()).isZero();
        assertThat(plan.out())
                .containsPattern("db1 +8 +4 +200 % +100 %")
                .containsPattern("db2 +0 +4 +0 % +100 %")
                .containsPattern("db1 +db2 +4 ")
                .endsWith(
                        "wrote the plan to %s; to carry it out: shardflake rebalance apply %s\n".formatted(file, file));
        assertThat(on("db2").isEmpty()).isTrue();

        Cli.Result apply = launch("rebalance", "apply", file.toString());
        assertThat(apply.exitCode()).as(apply.toString()).isZero();
        assertThat(apply.out()).endsWith("moved 4 shards\n");
        assertThat(on("db2").size()).isEqualTo(4);
        assertThat(launch("rebalance", "apply", file.toString()).out())
                .isEqualTo("nothing to do: every shard of the plan is on its target\n");
        assertThat(launch("rebalance", "plan", "--by=count").out())
                .endsWith("nothing to do: every server is within 10 % of the mean\n");
    }

    @Test
    void aPlanByBytesMovesTheBigOnesApart() throws SQLException {
        fill(2, 20_000);
        fill(5, 20_000);

        Cli.Result plan = launch("rebalance", "plan", "--pin=2", "-o", "json");

        assertThat(plan.exitCode()).as(plan.toString()).isZero();
        assertThat(plan.out()).contains("\"from\":\"db1\",\"to\":\"db2\"").containsPattern("\"shards\":\"[^\"]*5");
    }

    @Test
    @Tag("full")
    void anInterruptedPlanGoesOn() throws SQLException, IOException {
        Path file = directory.resolve("plan.yaml");
        launch("rebalance", "plan", "--by=count", "--file=" + file);
        Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        ShardSet planned = RebalancePlanFile.read(file).moves().get(0).shards();
        Move begun = mover.beginOrResume("db1", "db2", planned, "");
        mover.follow(begun.id());
        mover.cutOver(begun.id(), planned);

        Cli.Result apply = launch("rebalance", "apply", file.toString());

        assertThat(apply.exitCode()).as(apply.toString()).isZero();
        assertThat(on("db2").size()).isEqualTo(4);
        assertThat(mover.moves()).isEmpty();
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
    }

    @Test
    void aPlanOfAnotherMapIsRefused() throws IOException {
        Path file = directory.resolve("plan.yaml");
        launch("rebalance", "plan", "--by=count", "--file=" + file);
        Files.writeString(file, Files.readString(file).replace("db2", "db9"));

        Cli.Result apply = launch("rebalance", "apply", file.toString());

        assertThat(apply.exitCode()).as(apply.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(apply.err()).contains("the plan names server db9, which is not in the shard map");
        assertThat(on("db2").isEmpty()).isTrue();
        assertThat(launch("rebalance", "apply", directory.resolve("none.yaml").toString())
                        .err())
                .contains("none.yaml: no such file or directory");
    }

    @Test
    void aServerIsDrained() throws SQLException {
        Cli.Result unasked = launch("server", "drain", "db1", "--by=count");
        assertThat(unasked.exitCode()).isEqualTo(ExitCodes.USAGE);
        assertThat(unasked.err()).startsWith("error: cannot ask whether to move 8 shards to drain db1");
        assertThat(launch("server", "drain", "db1", "--by=count", "--dry-run").out())
                .containsPattern("db1 +8 +0 ");
        assertThat(on("db1").size()).isEqualTo(8);

        Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        mover.beginOrResume("db1", "db2", ShardSet.range(2, 3), "interrupted before it began");
        Cli.Result drain = launch("server", "drain", "db1", "--by=count", "--yes");

        assertThat(drain.exitCode()).as(drain.toString()).isZero();
        assertThat(drain.out()).endsWith("drained server db1: moved 8 shards\n");
        assertThat(on("db1").isEmpty()).isTrue();
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
        assertThat(launch("server", "drain", "db1", "--yes").out())
                .isEqualTo("nothing to do: server db1 has no shards\n");
        assertThat(launch("server", "remove", "db1", "--yes").exitCode()).isZero();
    }

    @Test
    @Tag("full")
    void aServerIsDrainedOntoTwoOthersAtATime() throws Exception {
        shards = AccountShards.create(postgres, 3, 8, directory);
        assertThat(launch("server", "drain", "db1", "--yes", "--parallel=0").err())
                .startsWith("error: 0 concurrent moves; at least 1 is required");
        shards.execute("db3", "CREATE SCHEMA shard_0007");
        Cli.Result refused = launch("server", "drain", "db1", "--by=count", "--yes");
        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(refused.err())
                .contains(
                        "error: no move was started, since the one from db1 to db3 cannot be: check target-free failed");
        assertThat(on("db1").size()).isEqualTo(8);
        shards.execute("db3", "DROP SCHEMA shard_0007");

        Cli.Result drain = launch("server", "drain", "db1", "--by=count", "--yes", "--pauses-per-minute=6000");

        assertThat(drain.exitCode()).as(drain.toString()).isZero();
        assertThat(drain.err())
                .contains("db1 to db2: both servers follow each other")
                .contains("db1 to db3: both servers follow each other")
                .containsPattern("db1 to db2: move \\d is done")
                .containsPattern("db1 to db3: move \\d is done")
                .doesNotContain("copying bytes");
        assertThat(drain.out())
                .containsPattern("db1 +db2 ")
                .containsPattern("db1 +db3 ")
                .endsWith("drained server db1: moved 8 shards\n");
        assertThat(on("db2").size()).isEqualTo(4);
        assertThat(on("db3").size()).isEqualTo(4);

        Cli.Result back = launch("move", "run", "--shards=0-7", "--to=db1");
        assertThat(back.exitCode()).as(back.toString()).isZero();
        assertThat(back.err()).contains("db2 to db1: move").contains("db3 to db1: move");
        assertThat(on("db1").size()).isEqualTo(8);
        assertThat(shards.leftovers("db1") + shards.leftovers("db2") + shards.leftovers("db3"))
                .isZero();
    }

    private Cli.Result run(String... options) {
        List<String> args =
                new ArrayList<>(List.of("rebalance", "run", "--by=count", "--over=1s", "--watch=1s", SLOWER));
        args.addAll(List.of(options));
        return launch(args.toArray(String[]::new));
    }

    @Test
    @Tag("full")
    void aRunRefusesWhatMakesNoSense() {
        assertThat(run("--budget=0")).isEqualTo(new Cli.Result(2, "", "error: budget is 0, allowed: 1 or more\n"));
        assertThat(launch("rebalance", "run", "--slower=0"))
                .isEqualTo(new Cli.Result(2, "", "error: slower is 0, allowed: 1 or more\n"));
        assertThat(launch("rebalance", "run", "--watch=0s").err())
                .isEqualTo("error: watch (in milliseconds) is 0, allowed: 1 or more\n");
        assertThat(run("--parallel=0").err()).startsWith("error: 0 concurrent moves; at least 1 is required");
        assertThat(launch("rebalance", "run", "--exclude=db9", "--over=60m").exitCode())
                .isEqualTo(ExitCodes.USAGE);
        assertThat(launch("rebalance", "run", "--pin=2000", "--over=60m").exitCode())
                .isEqualTo(ExitCodes.USAGE);
        assertThat(run("--drain=db1").exitCode()).isEqualTo(ExitCodes.USAGE);
        assertThat(on("db1").size()).isEqualTo(8);
    }

    @Test
    void aRunThatIsRehearsedMovesNothing() {
        Cli.Result run = run("--dry-run", "--auto", "--max-moves=2");
        assertThat(run.exitCode()).as(run.toString()).isZero();
        assertThat(run.err()).isEqualTo("dry run: nothing was changed\n");
        assertThat(run.out())
                .matches(
                        "[-0-9:TZ]+ move shards? [0-9,-]+ from db1 to db2: db1 200 %, db2 0 % of the mean; then db1 150 %, db2 50 %\n");
        assertThat(on("db1").size()).isEqualTo(8);
    }

    @Test
    @Tag("full")
    void aRunMakesOneRound() throws SQLException {
        Cli.Result run = run("-o=json");
        assertThat(run.exitCode()).as(run.toString()).isZero();
        assertThat(run.out()).matches("""
                        \\{"time":"[^"]+","decision":"move","shards":"[0-9,-]+","from":"db1","to":"db2","saw":"[^"]+","why":"[^"]+"}
                        \\{"time":"[^"]+","decision":"keep","shards":"[0-9,-]+","from":"db1","to":"db2","saw":"[^"]+","why":"[^"]+"}
                        """);
        assertThat(on("db2").size()).isEqualTo(4);
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
        assertThat(run().out())
                .matches("[-0-9:TZ]+ stay: db1 100 %, db2 100 % of the mean; no move is worth what it costs\n");
    }

    @Test
    @Tag("full")
    void aRunThatIsLeftRunningStopsAtAMoveOfSomebodyElse() throws Exception {
        CompletableFuture<Cli.Result> running = CompletableFuture.supplyAsync(() -> run("--auto"));
        Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        while (on("db2").size() < 4 || !mover.moves().isEmpty()) {
            assertThat(running).isNotDone();
            Thread.sleep(100);
        }
        Move other = mover.beginOrResume("db2", "db1", on("db2"), "a test");

        Cli.Result run = running.get();
        assertThat(run.exitCode()).as(run.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(run.out())
                .containsPattern(
                        "Z stop: move %s of shards? [0-9,-]+ from db2 to db1 is in progress".formatted(other.id()));
        assertThat(run.err())
                .contains("error: move %s of shard".formatted(other.id()))
                .contains("hint: wait for its end; if its command no longer runs, shardflake move run --shards ");
    }
}
