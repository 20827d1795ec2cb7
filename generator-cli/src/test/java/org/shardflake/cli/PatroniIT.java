/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.nio.file.Path;
import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.shardflake.ShardSet;
import org.shardflake.cluster.NeededPrograms;
import org.shardflake.cluster.PatroniPair;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveStep;
import org.shardflake.move.Mover;
import org.shardflake.server.ServerUrl;

/** A server that Patroni keeps, or the catalog on one, fails over at a step of a move while a router writes, and its old primary comes back. */
@Tag("full")
class PatroniIT {

    private static final AtomicInteger CASES = new AtomicInteger();

    /**
     * A rest of the load on a target, which applies one transaction after the other and waits for its standby at each: it would
     * not catch up with writers that never rest.
     */
    private static final Duration PACED = Duration.ofMillis(20);

    @SuppressWarnings("NullAway.Init") // by start
    private static PostgresCluster cluster;

    @SuppressWarnings("NullAway.Init") // by start
    private static PatroniPair pair;

    @TempDir
    Path directory;

    @BeforeAll
    static void start() {
        List<String> missing = PatroniPair.missingPrograms();
        if (!missing.isEmpty()) {
            System.err.println("PatroniIT is skipped, since these are not installed: " + String.join(", ", missing));
        }
        NeededPrograms.assume(missing.isEmpty(), String.join(", ", missing));
        cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(2)
                .start();
        pair = PatroniPair.start();
        if (!pair.keepsSlots()) {
            System.err.println("PatroniIT is skipped: standbys keep slots with Patroni 4 and PostgreSQL 17 or later");
        }
        assumeTrue(pair.keepsSlots(), "standbys keep no slots");
    }

    @AfterAll
    static void stop() {
        if (pair != null) {
            pair.close();
        }
        if (cluster != null) {
            cluster.close();
        }
    }

    /** How the primary goes. */
    enum How {
        KILLED,
        MACHINE,
        SWITCHOVER
    }

    /**
     * Makes the pair fail over right after a step, once. Its standby gets the slots before that, while both servers follow each other:
     * a stream that is stopped, or has nothing to send, does not bring them there.
     */
    private static final class Failover implements MoveListener {
        private final MoveStep when;
        private final How how;
        private final String database;
        private boolean done;

        Failover(MoveStep when, How how, String database) {
            this.database = database;
            this.when = when;
            this.how = how;
        }

        @Override
        public void reached(MoveStep step) {
            boolean isFollowed = when.compareTo(MoveStep.SUBSCRIBED) >= 0;
            boolean isEarly = when.compareTo(MoveStep.REHEARSED) < 0;
            if (!done && isFollowed && step == (isEarly ? when : MoveStep.REHEARSED)) {
                pair.awaitSlots(database);
            }
            if (done || step != when) {
                return;
            }
            done = true;
            pair.awaitStandby();
            switch (how) {
                case KILLED -> pair.killPrimary();
                case SWITCHOVER -> pair.switchOver();
                case MACHINE -> {
                    PostgresServer old = pair.killMachineOfPrimary();
                    pair.start(old);
                }
            }
        }
    }

    private static Connection connect(String url) throws Exception {
        return ServerUrl.parse(url).connect("a test");
    }

    private static Stream<Arguments> failovers() {
        Stream<Arguments> eachStep = Stream.of(MoveStep.values())
                .filter(step -> step != MoveStep.PART_COPIED) // of a large table
                .flatMap(step -> Stream.of("db2", "db1", "catalog").map(its -> arguments(its, step, How.KILLED)));
        return Stream.concat(
                Stream.of(
                        arguments("db2", MoveStep.OPENED, How.MACHINE),
                        arguments("db1", MoveStep.FENCED, How.SWITCHOVER),
                        arguments("catalog", MoveStep.ENDING, How.MACHINE)),
                eachStep);
    }

    @ParameterizedTest
    @MethodSource("failovers")
    void aMoveGoesOnAndNothingIsLost(String its, MoveStep step, How how) throws Exception {
        String database = "patroni_" + CASES.incrementAndGet();
        Map<String, String> urls = Map.of(
                its,
                pair.uri(database),
                its.equals("catalog") ? "db1" : "catalog",
                cluster.server(0).uri(database),
                its.equals("db2") ? "db1" : "db2",
                cluster.server(1).uri(database));
        for (PostgresServer server : List.of(pair.primary(), cluster.server(0), cluster.server(1))) {
            NoteShards.execute(server, "CREATE DATABASE " + database);
        }
        String db1 = Objects.requireNonNull(urls.get("db1"));
        String db2 = Objects.requireNonNull(urls.get("db2"));
        NoteShards notes = new NoteShards(Objects.requireNonNull(urls.get("catalog")), Map.of("db1", db1, "db2", db2));
        notes.create(directory);

        Failover failover = new Failover(step, how, database);
        NoteLoad load = new NoteLoad(notes.catalog(), its.equals("db2") ? PACED : Duration.ZERO);
        try (load) {
            load.awaitMore(50);
            Mover mover = notes.mover(failover);
            mover.carryOut(mover.beginOrResume("db1", "db2", ShardSet.of(1), "a test"), false);
            load.awaitMore(50);
        }

        assertThat(failover.done).isTrue();
        pair.awaitStandby();
        notes.launch("doctor", "--fix");
        notes.succeed("doctor");
        try (Connection source = connect(db1);
                Connection target = connect(db2)) {
            load.isAllIn(target);
            NoteShards.isEnded(source);
            NoteShards.isEnded(target);
        }
        // Patroni copies all databases to the member that comes back.
        for (PostgresServer server : List.of(pair.primary(), cluster.server(0), cluster.server(1))) {
            NoteShards.execute(server, "DROP DATABASE " + database + " WITH (FORCE)");
        }
    }
}
