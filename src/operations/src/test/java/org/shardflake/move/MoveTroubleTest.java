/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Predicate;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.compare.TableDifference;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.CopiesDifferException;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.internal.session.MoveServerSession;
import org.shardflake.move.server.MoveServer;
import org.shardflake.preflight.PreflightReport;
import org.shardflake.replication.Replication;
import org.shardflake.server.ServerUrl;

/** What an operator is told when a move waits, fails or has lost something. */
class MoveTroubleTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static final Duration LONG = Duration.ofMinutes(1);

    @TempDir
    Path directory;

    private final List<String> told = new CopyOnWriteArrayList<>();
    private final MoveListener listener = new MoveListener() {
        @Override
        public void waits(String what) {
            told.add(what);
        }

        @Override
        public void streamFails(String problem) {
            told.add(problem);
        }

        @Override
        public void interrupted(String problem) {
            told.add(problem);
        }
    };
    private AccountShards shards;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.create(postgres, 2, 4, directory);
    }

    private Connection session(String application) throws SQLException {
        return shards.url("db1").named("db1").connect(application);
    }

    private void end(String application) throws SQLException {
        shards.execute(
                "db1",
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '%s'"
                        .formatted(application));
        shards.await(
                "db1", "SELECT count(*) FROM pg_stat_activity WHERE application_name = '%s'".formatted(application), 0);
    }

    @Test
    void aSessionThatIsEndedSaysWhereAndWhyAlsoWhenItIsUsedAgain() throws SQLException {
        try (Connection lost = session("to be ended")) {
            end("to be ended");

            for (int time = 0; time < 2; time++) {
                assertThatThrownBy(() -> Sql.number(lost, "SELECT 1"))
                        .isInstanceOf(SQLException.class)
                        .hasMessageMatching(
                                "(?s)db1 \\(.+:\\d+\\) ended the session: terminating connection due to administrator command.*Hint: .*a restart.*");
            }
        }
        try (Connection idle = session("to be idle")) {
            Sql.execute(idle, "SET idle_session_timeout = '10ms'");
            shards.await("db1", "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'to be idle'", 0);

            assertThatThrownBy(() -> Sql.inTransaction(idle, () -> Sql.number(idle, "SELECT 1")))
                    .hasMessageMatching("(?s)db1 \\(.+\\) ended the session: .*Hint: idle_session_timeout ended it.*");
        }
        try (Connection cancelled = session("to be cancelled")) {
            Sql.execute(cancelled, "SET statement_timeout = '10ms'");

            assertThatThrownBy(() -> Sql.number(cancelled, "SELECT 1 FROM pg_sleep(60)"))
                    .hasMessageMatching("(?s)db1 \\(.+\\): canceling statement.*Hint: .*statement_timeout.*");
        }
    }

    @Test
    void checksGoOnWhenAServerEndedTheirSessionsAsLongAsPatienceLasts() throws Exception {
        try (Connection holder = session("a long change")) {
            holder.setAutoCommit(false);
            Sql.execute(holder, "LOCK TABLE shard_0001.account");
            Mover mover = shards.mover(AccountShards.patient(LONG), listener);
            CompletableFuture<PreflightReport> checked =
                    CompletableFuture.supplyAsync(() -> mover.check("db1", "db2", ShardSet.of(1)));

            endWaiting();
            holder.rollback();

            assertThat(checked.get().passed()).isTrue();
        }
        assertThat(told).anyMatch(line -> line.startsWith("db1 (") && line.contains("ended the session"));
    }

    private void endWaiting() throws SQLException {
        String waiting =
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'shardflake move, checking%' AND wait_event_type = 'Lock'";
        assertThat(Poll.everyMillis(5, LONG).until(() -> shards.number("db1", waiting) > 0))
                .isTrue();
    }

    @Test
    void aLockHasItsHolderNamedAndIsAwaitedAsLongAsPatienceSays() throws SQLException {
        Move move = shards.mover(AccountShards.patient(Duration.ofSeconds(60)), listener)
                .record("db1", "db2", ShardSet.of(1), "");
        Mover hasty = shards.mover(AccountShards.patient(Duration.ofSeconds(2)), listener);
        try (Connection writer = session("a long report")) {
            writer.setAutoCommit(false);
            Sql.execute(writer, "INSERT INTO shard_0001.account (uid) VALUES (1)");

            assertThatThrownBy(() -> hasty.follow(move.id()))
                    .isInstanceOf(MoveException.class)
                    .hasMessageMatching("db1 waited \\d+ s for .*\\(a long report\\).* longer than patience allows");

            writer.rollback();
        }
        assertThat(told).anyMatch(line -> line.startsWith("db1 waits for ") && line.contains("(a long report)"));
        shards.mover(AccountShards.patient(Duration.ofSeconds(60)), listener).follow(move.id());
        shards.mover(AccountShards.patient(Duration.ofSeconds(60)), listener).cancel(move.id(), Mover.End.BACK);
    }

    @Test
    void whatOnlyLooksOrRecordsNamesWhomItWaitsForAndObeysPatience() throws SQLException {
        Mover hasty = shards.mover(AccountShards.patient(Duration.ofSeconds(1)), listener);
        try (Connection db1 = session("a long report");
                Connection catalog = shards.catalogUrl().connect("a long change")) {
            db1.setAutoCommit(false);
            catalog.setAutoCommit(false);
            Sql.execute(db1, "LOCK TABLE shard_0001.account");
            Sql.execute(catalog, "SELECT FROM shardflake_catalog.installation FOR UPDATE");

            assertThatThrownBy(() -> hasty.record("db1", "db2", ShardSet.of(1), ""))
                    .isInstanceOf(MoveException.class)
                    .hasMessageMatching("the catalog waited \\d+ s for .*\\(a long change\\).*");
            catalog.rollback();
            Move move = hasty.record("db1", "db2", ShardSet.of(1), "");
            assertThatThrownBy(() -> hasty.status(move))
                    .isInstanceOf(MoveException.class)
                    .hasMessageMatching("db1 waited \\d+ s for .*\\(a long report\\).*");
            db1.rollback();

            hasty.cancel(move.id(), Mover.End.BACK);
        }
        assertThat(told)
                .anyMatch(line -> line.startsWith("the catalog waits for ") && line.contains("(a long change)"))
                .anyMatch(line -> line.startsWith("db1 waits for a lock on shard_0001.account")
                        && line.contains("(a long report)"));
    }

    /** A process that does not run stands for one that waits for a disk. */
    @Test
    @Tag("full")
    void aWorkerThatDoesNotEndIsAwaitedAsLongAsPatienceSays() throws Exception {
        Mover mover = shards.mover(AccountShards.patient(Duration.ofSeconds(60)), listener);
        Move move = mover.follow(mover.record("db1", "db2", ShardSet.of(1), "").id());
        mover.cutOver(move.id(), ShardSet.of(1));
        String stream = "shardflake_" + move.tag() + "_reverse";
        long worker =
                shards.number("db1", "SELECT pid FROM pg_stat_subscription WHERE subname = '%s'".formatted(stream));
        assumeTrue(
                ProcessHandle.of(worker)
                        .flatMap(process -> process.info().command())
                        .filter(command -> command.endsWith("postgres"))
                        .isPresent(),
                "the server is on another machine");
        shards.executeInCatalog("UPDATE shardflake_catalog.move SET claim = 100");
        try (MoveServerSession source = side("db1", move);
                MoveServerSession target = side("db2", move)) {
            signal("STOP", worker);
            assertThatThrownBy(() -> Stream.reverse(move.tag(), source, target).stop(Duration.ofSeconds(2), listener))
                    .isInstanceOf(MoveException.class)
                    .hasMessageContaining("does not end");
        } finally {
            signal("CONT", worker);
        }
        assertThat(told).contains("db1 waits for the worker of subscription %s to end".formatted(stream));
        mover.reverse(move.id(), ShardSet.of(1));
        mover.cancel(move.id(), Mover.End.BACK);
    }

    private MoveServerSession side(String server, Move move) throws SQLException {
        return MoveServerSession.claim(new MoveServer(server, shards.url(server)), move.tag(), 100, told::add);
    }

    private static void signal(String signal, long process) throws Exception {
        new ProcessBuilder("kill", "-" + signal, String.valueOf(process))
                .start()
                .waitFor();
    }

    @Test
    @Tag("full")
    void aCutoverNamesTheTransactionsThatItWaitsFor() throws SQLException {
        Mover patient = shards.mover(AccountShards.patient(Duration.ofMinutes(1)), listener);
        Mover mover = shards.mover(AccountShards.patient(Duration.ofSeconds(3)), listener);
        Move move = patient.record("db1", "db2", ShardSet.of(1), "");
        patient.follow(move.id());
        try (Connection writer = session("a long report")) {
            writer.setAutoCommit(false);
            Sql.execute(writer, "INSERT INTO shard_0001.account (uid) VALUES (1)");

            assertThatThrownBy(() -> mover.cutOver(move.id(), ShardSet.of(1)))
                    .isInstanceOf(MoveException.class)
                    .hasMessageContaining("(a long report)");

            writer.rollback();
        }
        assertThat(told)
                .anyMatch(line ->
                        line.startsWith("shard 1 is cut over when transactions") && line.contains("(a long report)"));
        patient.cancel(move.id(), Mover.End.BACK);
    }

    /** Its target is away, for which a cutover waits in vain. */
    @Test
    @Tag("full")
    void aLostSlotIsToldWhileTheTargetIsAway() throws SQLException {
        Mover mover = shards.mover(AccountShards.patient(Duration.ofSeconds(60)), listener);
        Move move =
                mover.follow(mover.record("db1", "db2", ShardSet.of(1, 2), "").id());
        mover.cutOver(move.id(), ShardSet.of(1));
        String stream = "shardflake_" + move.tag() + "_forward";
        shards.execute("db2", "ALTER SUBSCRIPTION %s DISABLE".formatted(stream));
        try (Connection db1 = shards.database("db1").connect()) {
            Replication.dropSlot(db1, stream);
        }
        Predicate<String> isTold = line -> line.startsWith("db1 has no replication slot " + stream)
                && line.contains("shardflake move cancel %s --keep-moved".formatted(move.id()))
                && line.contains("begin again for shard 2");
        Mover away = new Mover(
                shards.catalogUrl(),
                name -> new MoveServer(
                        name, name.equals("db2") ? ServerUrl.parse("postgresql://127.0.0.1:1/none") : shards.url(name)),
                AccountShards.patient(Duration.ofSeconds(2)),
                listener);

        assertThat(away.status(mover.move(move.id())).forward().problem()).matches(isTold);
        assertThatThrownBy(() -> away.cutOver(move.id(), ShardSet.of(2))).hasMessageContaining("db2 (127.0.0.1:1)");
        assertThat(told).anyMatch(isTold);
        assertThatThrownBy(() -> mover.cutOver(move.id(), ShardSet.of(2)))
                .isInstanceOfSatisfying(
                        MoveException.class,
                        refused -> assertThat(refused.hint())
                                .hasValue(
                                        "end the move with shardflake move cancel %s --keep-moved, which leaves those on db2 there, and begin again for shard 2"
                                                .formatted(move.id())));
        mover.cancel(move.id(), Mover.End.KEPT);
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
    }

    /** A copy is what is left of rows that the source has lost, as in a failover to a standby that was behind. */
    @Test
    @Tag("full")
    void rowsThatASourceHasLostAreAllListed() throws SQLException {
        Mover mover = shards.mover(AccountShards.patient(Duration.ofSeconds(60)), listener);
        Move move = mover.follow(mover.record("db1", "db2", ShardSet.of(1), "").id());
        shards.execute("db1", "INSERT INTO shard_0001.account (uid) SELECT 1 FROM generate_series(1, 13)");
        shards.await("db2", "SELECT count(*) FROM shard_0001.account", 13);
        String stream = "shardflake_" + move.tag() + "_forward";
        shards.execute("db2", "ALTER SUBSCRIPTION %s DISABLE".formatted(stream));
        try (Connection db1 = shards.database("db1").connect()) {
            Replication.dropSlot(db1, stream);
        }
        shards.execute("db1", "DELETE FROM shard_0001.account");

        Map<Integer, List<TableDifference>> listed = mover.verify(move.id(), ShardSet.of(1));

        assertThat(listed.get(1))
                .singleElement()
                .satisfies(difference -> assertThat(difference.extra()).hasSize(13));
        assertThatThrownBy(() -> mover.cancel(move.id(), Mover.End.BACK))
                .isInstanceOf(CopiesDifferException.class)
                .hasMessageContaining("13 rows")
                .satisfies(e -> assertThat(((ShardflakeException) e).hint().orElse(""))
                        .contains("shardflake move verify %s -o json lists them".formatted(move.id())));
        mover.cancel(move.id(), Mover.End.BACK_UNCOMPARED);
    }
}
