/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.shardflake.cli.NoteShards.execute;
import static org.shardflake.cli.NoteShards.isEnded;
import static org.shardflake.cli.NoteShards.number;
import static org.shardflake.cli.NoteShards.query;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.ShardSet;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.cluster.PostgresStandby;
import org.shardflake.cluster.SavedServers;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveStep;
import org.shardflake.move.Mover;
import org.shardflake.move.exception.CopiesDifferException;
import org.shardflake.server.ServerUrl;

/**
 * A server of a move fails over to a standby that has kept its slots, on PostgreSQL 17 and later, while a router writes. The catalog
 * is on a server of its own; shards 0 and 1 are on db1, 2 and 3 on db2.
 */
@Tag("full")
@Execution(ExecutionMode.CONCURRENT)
class FailoverSlotsIT {

    private static final Duration SOON = Duration.ofMinutes(2);

    /** How long a writer rests after each row: short enough that some write is always in progress, and it leaves CPU time to the servers. */
    private static final Duration REST = Duration.ofMillis(5);

    @SuppressWarnings("NullAway.Init") // by save
    private static SavedServers saved;

    private PostgresCluster cluster;

    @SuppressWarnings("NullAway.Init") // by create
    private PostgresServer failing;

    @SuppressWarnings("NullAway.Init") // by create
    private PostgresStandby standby;

    @SuppressWarnings("NullAway.Init") // by create
    private NoteShards notes;

    @BeforeAll
    static void save(@TempDir Path directory) throws IOException {
        saved = NoteShards.saved(directory, true);
    }

    @BeforeEach
    void start() {
        cluster = saved.start();
        assumeTrue(cluster.server(0).majorVersion() >= 17, "slots fail over since PostgreSQL 17");
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private PostgresServer server(String name) {
        return cluster.server(name.equals("db1") ? 1 : 2);
    }

    /** With a standby of one server, which the guide's settings and {@link #keepSlots} make keep its slots. */
    private void create(String its, boolean synchronous) throws SQLException {
        failing = server(its);
        standby = cluster.standbyOf(failing);
        String conninfo = query(standby, "SELECT current_setting('primary_conninfo')") + " dbname=postgres";
        execute(standby, "ALTER SYSTEM SET primary_conninfo = '%s'".formatted(conninfo));
        execute(standby, "ALTER SYSTEM SET hot_standby_feedback = on");
        execute(standby, "SELECT pg_reload_conf()");
        if (synchronous) {
            execute(failing, "ALTER SYSTEM SET synchronous_standby_names = '*'");
            execute(failing, "ALTER SYSTEM SET synchronized_standby_slots = 'standby_%s'".formatted(standby.name()));
            execute(failing, "SELECT pg_reload_conf()");
        }
        notes = new NoteShards(cluster.server(0).uri("postgres"), Map.of("db1", url("db1"), "db2", url("db2")));
        notes.areHere();
        execute(server("db1"), "INSERT INTO shard_0001.note (text) SELECT 'old ' || n FROM generate_series(1, 1000) n");
    }

    private String url(String name) {
        return server(name) == failing
                ? standby.uriOfBoth("postgres")
                : server(name).uri("postgres");
    }

    private PostgresServer now(String name) {
        return server(name) == failing ? standby : server(name);
    }

    private void keepSlots() throws SQLException {
        execute(standby, "ALTER SYSTEM SET sync_replication_slots = on");
        execute(standby, "SELECT pg_reload_conf()");
    }

    /**
     * Waits until the standby has every slot of a move as the primary has it. Its worker begins when there are slots: its pauses grow from
     * 200 ms to 30 s while there is nothing to keep, and one that is ended is started again 10 s after the last start. It keeps a slot
     * when that has got past two snapshots of running transactions, which a primary that is asked for none logs every 15 s.
     */
    private void awaitSlots() throws SQLException {
        keepSlots();
        String slots = "SELECT count(*) FROM pg_replication_slots WHERE slot_type = 'logical'";
        await().atMost(SOON).until(() -> {
            execute(failing, "SELECT pg_log_standby_snapshot()");
            return query(standby, slots + " AND synced AND NOT temporary").equals(query(failing, slots));
        });
    }

    /** Whoever follows a server has told it that it has everything. */
    private void awaitConfirmed(String publisher, String stream) {
        String confirmed =
                "SELECT confirmed_flush_lsn = pg_current_wal_insert_lsn() FROM pg_replication_slots WHERE slot_name LIKE '%%%s'"
                        .formatted(stream);
        await().atMost(SOON).until(() -> query(server(publisher), confirmed).equals("t"));
    }

    private static MoveListener tellingOf(List<String> problems) {
        return new MoveListener() {
            @Override
            public void streamFails(String problem) {
                problems.add(problem);
            }
        };
    }

    private void failOver() {
        failing.crash();
        standby.promote();
    }

    /**
     * Kills the primary of one server right after a step, once. Its standby gets the slots before that, while both servers follow each
     * other: a stream that is stopped, or has nothing to send, does not bring them there.
     */
    private final class Failover implements MoveListener {
        private final MoveStep when;
        private boolean done;

        Failover(MoveStep when) {
            this.when = when;
        }

        @Override
        public void reached(MoveStep step) {
            boolean isEarly = when.compareTo(MoveStep.REHEARSED) < 0;
            try {
                if (!done && step == (isEarly ? when : MoveStep.REHEARSED)) {
                    awaitSlots();
                }
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
            if (!done && step == when) {
                done = true;
                failOver();
            }
        }
    }

    private void moveSurvives(String its, MoveStep step) throws Exception {
        create(its, true);
        Mover mover = notes.mover(new Failover(step));
        NoteLoad load = new NoteLoad(notes.catalog(), REST);
        try (load) {
            load.awaitMore(50);
            Move move = mover.beginOrResume("db1", "db2", ShardSet.of(1), "a test");
            mover.carryOut(move, false);
            load.awaitMore(50);
        }

        assertThat(query(standby, "SELECT NOT pg_is_in_recovery()")).isEqualTo("t");
        try (Connection target = now("db2").connect()) {
            load.isAllIn(target);
        }
        assertThat(number(now("db2"), "SELECT count(*) FROM shard_0001.note WHERE text LIKE 'old %'"))
                .isEqualTo(1000);
        isEnded(now("db1"));
        isEnded(now("db2"));
    }

    @ParameterizedTest
    @CsvSource({"db1, CAUGHT_UP", "db2, OPENED"})
    void aMoveGoesOnAfterAFailoverToAStandbyThatHasKeptTheSlots(String its, MoveStep step) throws Exception {
        moveSurvives(its, step);
    }

    @ParameterizedTest
    @CsvSource({
        "db1, SUBSCRIBED",
        "db1, REHEARSED",
        "db1, ARMED",
        "db1, FENCED",
        "db1, SWITCHED",
        "db1, OPENED",
        "db1, COMPARED",
        "db1, SEALED",
        "db1, COMPARED_AGAIN",
        "db1, ENDING",
        "db1, REVERSE_DROPPED",
        "db1, FORWARD_DROPPED",
        "db2, SUBSCRIBED",
        "db2, CAUGHT_UP",
        "db2, ARMED",
        "db2, FENCED",
        "db2, SWITCHED",
        "db2, COMPARED",
        "db2, SEALED",
        "db2, COMPARED_AGAIN",
        "db2, ENDING",
        "db2, REVERSE_DROPPED",
        "db2, FORWARD_DROPPED"
    })
    @Tag("full")
    void aMoveGoesOnAfterAFailoverAtEachStep(String its, MoveStep step) throws Exception {
        moveSurvives(its, step);
    }

    /** As with Patroni and two members, from the loss of one until it is back: nothing is sent that the standby lacks. */
    @ParameterizedTest
    @ValueSource(strings = {"db1", "db2"})
    @Tag("full")
    void aCommandWaitsForAStandbyThatIsDownAsLongAsItsPatience(String its) throws Exception {
        create(its, true);
        keepSlots();
        List<String> told = new CopyOnWriteArrayList<>();
        MoveListener listener = tellingOf(told);
        ShardSet shard = ShardSet.of(1);
        Mover mover = notes.mover(listener);
        long id = mover.follow(
                        mover.beginOrResume("db1", "db2", shard, "a test").id())
                .id();
        String conninfo = query(standby, "SELECT quote_literal(current_setting('primary_conninfo'))");
        standby.disconnect();
        execute(failing, "ALTER SYSTEM RESET synchronous_standby_names"); // As Patroni does for writers.
        execute(failing, "SELECT pg_reload_conf()");
        // A comparison while the source has the shard, and the way back of a cutover.
        Consumer<Mover> work = its.equals("db1") ? with -> with.verify(id, shard) : with -> with.cutOver(id, shard);
        String other = its.equals("db1") ? "db2" : "db1";
        String lacking = "%s sends nothing that its standbys lack, and none uses the slot standby_%s"
                .formatted(its, standby.name());

        assertThatThrownBy(() -> work.accept(notes.mover(Duration.ofSeconds(2), listener)))
                .hasMessageContaining("%s has made no progress in following %s for 2 s", other, its);

        assertThat(told).anyMatch(problem -> problem.startsWith(lacking));
        Result status = notes.launch("move", "status");
        assertThat(status.out() + status.err()).contains(lacking);
        execute(server("db1"), "INSERT INTO shard_0001.note (text) VALUES ('meanwhile')");
        told.clear();
        CompletableFuture<Void> patient = CompletableFuture.runAsync(() -> work.accept(mover));
        await().atMost(SOON).until(() -> !told.isEmpty());
        execute(standby, "ALTER SYSTEM SET primary_conninfo = " + conninfo);
        execute(standby, "SELECT pg_reload_conf()");
        patient.get(SOON.toSeconds(), TimeUnit.SECONDS);

        mover.carryOut(mover.move(id), false);
        assertThat(number(server("db2"), "SELECT count(*) FROM shard_0001.note WHERE text = 'meanwhile'"))
                .isEqualTo(1);
        isEnded(server("db1"));
        isEnded(server("db2"));
    }

    /** After a planned change nothing rewinds it, so it keeps its slots, and gets none of the same names from the new primary. */
    @Test
    @Tag("full")
    void slotsThatAnOldPrimaryKeepsAsAStandbyAreFoundAndRemoved() throws Exception {
        create("db1", true);
        Mover mover = notes.mover(MoveListener.NONE);
        long id = mover.follow(mover.beginOrResume("db1", "db2", ShardSet.of(1), "a test")
                        .id())
                .id();
        awaitSlots();
        Files.createFile(Path.of(query(failing, "SHOW data_directory"), "standby.signal"));
        execute(
                failing,
                "ALTER SYSTEM SET primary_conninfo = '%s'"
                        .formatted(ServerUrl.parse(standby.uri("postgres"))
                                .conninfo()
                                .replace("'", "''")));
        execute(failing, "ALTER SYSTEM SET sync_replication_slots = on");
        execute(failing, "ALTER SYSTEM SET hot_standby_feedback = on");
        execute(failing, "ALTER SYSTEM SET primary_slot_name = 'old'");
        execute(failing, "ALTER SYSTEM RESET synchronized_standby_slots");
        failing.stop();
        standby.promote();
        execute(standby, "SELECT pg_create_physical_replication_slot('old', true)");
        failing.start();

        Result doctor = notes.launch("doctor");
        assertThat(doctor.out())
                .containsPattern(
                        "problem +db1 +stale-slot +standby localhost:\\d+ has slots shardflake_m1_\\w+_forward from when it was the primary");
        notes.launch("doctor", "--fix");

        String slots = "SELECT count(*) FROM pg_replication_slots WHERE slot_type = 'logical' AND synced";
        await().atMost(SOON).until(() -> query(failing, slots).equals("1"));
        assertThat(notes.launch("doctor").out()).doesNotContain("stale-slot");
        mover.carryOut(mover.move(id), false);
        isEnded(now("db1"));
        isEnded(now("db2"));
    }

    /** It keeps the slot, but not the rows that the other server has confirmed, or was sent. */
    @ParameterizedTest
    @ValueSource(strings = {"db1", "db2"})
    void aStandbyThatWasBehindIsFoundBeforeTheCutover(String its) throws Exception {
        create(its, false);
        Mover mover = notes.mover(MoveListener.NONE);
        long id = mover.follow(mover.beginOrResume("db1", "db2", ShardSet.of(1), "a test")
                        .id())
                .id();
        awaitSlots();
        standby.awaitReplay();
        standby.disconnect();
        execute(server("db1"), "INSERT INTO shard_0001.note (text) SELECT 'late ' || n FROM generate_series(1, 10) n");
        String late = "SELECT count(*) FROM shard_0001.note WHERE text LIKE 'late %'";
        await().atMost(SOON).until(() -> query(server("db2"), late).equals("10"));
        awaitConfirmed("db1", "forward");
        failOver();

        if (its.equals("db1")) {
            assertThatThrownBy(() -> mover.cutOver(id, ShardSet.of(1)))
                    .isInstanceOf(CopiesDifferException.class)
                    .hasMessageStartingWith("db1 failed over to a standby that was behind")
                    .hasMessageEndingWith(", and no shard was cut over");

            // The target has the only copy of these rows.
            assertThatThrownBy(() -> mover.cancel(id, Mover.End.BACK)).isInstanceOf(CopiesDifferException.class);
            assertThat(query(now("db2"), late)).isEqualTo("10");
        } else {
            assertThat(query(standby, late)).isEqualTo("0");

            mover.cutOver(id, ShardSet.of(1));

            assertThat(query(standby, late)).isEqualTo("10");
            mover.carryOut(mover.move(id), false);
            isEnded(now("db1"));
            isEnded(now("db2"));
        }
    }

    /** The source's copies have confirmed what the standby has not got. Nothing of it goes with them, unless they have rows of their own. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anOldCopyMayLackRowsAfterAFailoverButNotHaveOthers(boolean hasOthers) throws Exception {
        create("db1", false);
        List<String> told = new CopyOnWriteArrayList<>();
        Mover mover = notes.mover(tellingOf(told));
        long id = mover.follow(mover.beginOrResume("db1", "db2", ShardSet.of(1), "a test")
                        .id())
                .id();
        mover.cutOver(id, ShardSet.of(1));
        awaitSlots();
        standby.awaitReplay();
        standby.disconnect();
        execute(server("db2"), "INSERT INTO shard_0001.note (text) SELECT 'late ' || n FROM generate_series(1, 10) n");
        if (hasOthers) {
            execute(server("db2"), "DELETE FROM shard_0001.note WHERE text = 'old 7'");
        }
        awaitConfirmed("db2", "reverse");
        failOver();

        if (hasOthers) {
            assertThatThrownBy(() -> mover.complete(id))
                    .isInstanceOf(CopiesDifferException.class)
                    .hasMessageContaining("copies of shard 1 differ");
            assertThat(query(standby, "SELECT count(*) FROM shard_0001.note WHERE text = 'old 7'"))
                    .isEqualTo("1");
        } else {
            mover.complete(id);

            isEnded(now("db1"));
            isEnded(now("db2"));
        }
        assertThat(told)
                .anyMatch(
                        problem -> problem.equals(
                                "db1 has failed over or was restored, and its copies of shard 1 lack rows that db2 has, which are kept there"));
        assertThat(query(server("db2"), "SELECT count(*) FROM shard_0001.note WHERE text LIKE 'late %'"))
                .isEqualTo("10");
    }
}
