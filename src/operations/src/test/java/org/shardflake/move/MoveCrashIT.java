/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.router.ShardRouter;

/** Kills the tool, the source, the target and the catalog at every step of a move, under load. */
class MoveCrashIT {

    private static final int SHARDS = 6;
    private static final ShardSet MOVING = ShardSet.parse("1,4");

    private enum Victim {
        TOOL,
        SOURCE,
        TARGET,
        CATALOG
    }

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private AccountShards shards;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.create(postgres, 2, SHARDS, directory);
        for (int shard : MOVING.stream().toArray()) {
            shards.execute( // enough for parts of a page
                    "db1",
                    String.format(
                            Locale.ROOT,
                            "INSERT INTO shard_%04d.tag SELECT n, 'tag ' || n FROM generate_series(1, 2000) n",
                            shard));
        }
    }

    @Test
    void aMoveSurvivesDeaths() throws Exception {
        underLoad(load -> {
            survives(load, Victim.TARGET, MoveStep.PART_COPIED);
            survives(load, Victim.TARGET, MoveStep.FENCED);
            survives(load, Victim.CATALOG, MoveStep.SWITCHED);
        });
    }

    @Test
    @Tag("full")
    @Timeout(value = 30, unit = TimeUnit.MINUTES)
    void everyStepSurvivesTheDeathOfEverybody() throws Exception {
        Map<MoveStep, Map<Victim, String>> outcomes = new EnumMap<>(MoveStep.class);
        underLoad(load -> {
            for (MoveStep step : MoveStep.values()) {
                for (Victim victim : Victim.values()) {
                    if (isPossible(step, victim)) {
                        outcomes.computeIfAbsent(step, s -> new TreeMap<>()).put(victim, survives(load, victim, step));
                    }
                }
            }
            for (MoveStep step : List.of(
                    MoveStep.ENDING,
                    MoveStep.REVERSE_DROPPED,
                    MoveStep.FORWARD_DROPPED,
                    MoveStep.SHARD_DROPPED,
                    MoveStep.CLEANED)) {
                kill(Victim.TOOL, step, true);
            }
        });
        publish(outcomes);
    }

    private interface Deaths {
        void happen(AccountLoad load) throws Exception;
    }

    private void underLoad(Deaths deaths) throws Exception {
        try (ShardRouter router = shards.router().build();
                AccountLoad load = AccountLoad.startWithOutages(router, ShardSet.range(0, SHARDS - 1), 4, 20)) {
            load.awaitMore(300);
            deaths.happen(load);
            load.awaitMore(300);
            load.close();
            assertThat(load.failures()).isEmpty();
            assertThat(load.compare(shards)).isEmpty();
            System.out.printf(
                    "%,d transactions, %,d of them with an outcome that had to be looked up%n",
                    load.acknowledged(), load.unknown());
        }
    }

    private String survives(AccountLoad load, Victim victim, MoveStep step) throws Exception {
        String outcome = kill(victim, step, false);
        assertThat(load.failures()).as("%s killed at %s", victim, step).isEmpty();
        return outcome;
    }

    @ParameterizedTest
    @EnumSource(names = {"SHARD_COPIED", "FENCED", "STAGED", "SWITCHED"})
    @Tag("full")
    void anInterruptLeavesNoShardClosed(MoveStep step) throws Exception {
        Process process = startTool("db1", "db2", step, false);
        process.destroy(); // SIGTERM, which Java takes as it takes the SIGINT of Ctrl-C.
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(shards.mover(MoveSettings.DEFAULT, MoveListener.NONE).moves())
                .singleElement()
                .satisfies(move -> assertThat(move.problem()).isEmpty());

        ShardMap map = shards.catalog().load();
        for (int shard : MOVING.stream().toArray()) {
            shards.execute(
                    map.server(shard).name(), "INSERT INTO shard_000%1$s.account (uid) VALUES (%1$s)".formatted(shard));
        }

        MoveProcess.run(shards.mover(MoveSettings.DEFAULT, MoveListener.NONE), "db1", "db2", MOVING, false);
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
        for (int shard : MOVING.stream().toArray()) {
            assertThat(shards.number("db2", "SELECT count(*) FROM shard_000%s.account".formatted(shard)))
                    .isOne();
        }
    }

    /** The move is recorded by a call of its own, which a crash of the catalog makes fail; nothing is to be recovered. */
    private static boolean isPossible(MoveStep step, Victim victim) {
        return step != MoveStep.RECORDED || victim != Victim.CATALOG;
    }

    /** Moves shards, back and forth in turn, with a death on the way, and returns how it ended. */
    private String kill(Victim victim, MoveStep step, boolean cancel) throws Exception {
        String source = shards.catalog().load().server(1).name();
        String target = source.equals("db1") ? "db2" : "db1";
        if (victim == Victim.TOOL) {
            killTool(source, target, step, cancel);
            MoveProcess.run(
                    shards.mover(MoveProcess.settings(step), MoveListener.NONE), source, target, MOVING, cancel);
        } else {
            MoveProcess.run(
                    shards.mover(MoveProcess.settings(step), killer(server(victim, source, target), step)),
                    source,
                    target,
                    MOVING,
                    cancel);
        }
        assertThat(shards.leftovers("db1") + shards.leftovers("db2"))
                .as("%s killed at %s", victim, step)
                .isZero();
        assertThat(shards.catalogNumber("SELECT count(*) FROM shardflake_catalog.move_shard"))
                .isZero();
        String left = cancel ? target : source;
        assertThat(shards.number(
                        left, "SELECT count(*) FROM pg_namespace WHERE nspname IN ('shard_0001', 'shard_0004')"))
                .isZero();
        String now = shards.catalog().load().server(1).name();
        assertThat(now).isEqualTo(cancel ? source : target);
        return now.equals(target) ? "moved" : "cancelled";
    }

    private PostgresServer server(Victim victim, String source, String target) {
        return switch (victim) {
            case SOURCE -> shards.database(source).server();
            case TARGET -> shards.database(target).server();
            case CATALOG, TOOL -> shards.catalogDatabase().server();
        };
    }

    /** Crashes a server when a step is first reached, and starts it again. */
    private static MoveListener killer(PostgresServer server, MoveStep step) {
        AtomicBoolean armed = new AtomicBoolean(true);
        return new MoveListener() {
            @Override
            public void reached(MoveStep reached) {
                if (reached == step && armed.getAndSet(false)) {
                    // On a thread of its own: that of the work may be interrupted, since other threads meet the crash.
                    CompletableFuture.runAsync(() -> {
                                server.crash();
                                server.start();
                            })
                            .join();
                }
            }
        };
    }

    private void killTool(String source, String target, MoveStep step, boolean cancel) throws Exception {
        Process process = startTool(source, target, step, cancel);
        process.destroyForcibly();
        assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
    }

    /** Returns when it has reached a step, where it stays. */
    private Process startTool(String source, String target, MoveStep step, boolean cancel) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                MoveProcess.class.getName(),
                shards.catalogDatabase().uri(),
                source,
                shards.database(source).uri(),
                target,
                shards.database(target).uri(),
                MOVING.toString(),
                step.name(),
                Boolean.toString(cancel)));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        BufferedReader out = process.inputReader();
        String line = out.readLine();
        while (line != null && !line.equals("reached") && !line.equals("ended")) {
            line = out.readLine();
        }
        assertThat(line).as("step %s", step).isEqualTo("reached");
        return process;
    }

    /** Writes the matrix beside the build, and compares it with the one among the benchmarks. */
    private static void publish(Map<MoveStep, Map<Victim, String>> outcomes) throws Exception {
        StringBuilder text = new StringBuilder(
                "| Killed when this had just been done | the tool | the source | the target | the catalog |\n|---|---|---|---|---|\n");
        outcomes.forEach((step, victims) -> {
            text.append("| ").append(step);
            for (Victim victim : Victim.values()) {
                text.append(" | ").append(victims.getOrDefault(victim, "-"));
            }
            text.append(" |\n");
        });
        Files.writeString(Path.of("target", "move-matrix.md"), text);
        assertThat(Files.readString(Path.of("..", "docs", "benchmarks", "crashes.md")))
                .contains(text);
    }
}
