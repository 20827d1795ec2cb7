/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

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
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
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
    void aServerThatEndsSessionsDuringTheChecksIsNamed() throws Exception {
        Mover mover = shards.mover(AccountShards.patient(Duration.ofSeconds(60)), listener);
        CompletableFuture<Throwable> checked = CompletableFuture.supplyAsync(() -> {
            Throwable failure = null;
            for (int time = 0; failure == null && time < 200; time++) {
                failure = catchThrowable(() -> mover.check("db1", "db2", ShardSet.of(1)));
            }
            return failure;
        });

        assertThat(Poll.everyMillis(5, LONG).until(() -> {
                    shards.execute(
                            "db2",
                            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'shardflake move, checking%' AND state = 'active'");
                    return checked.isDone();
                }))
                .isTrue();

        assertThat(checked.get())
                .isInstanceOf(ShardflakeException.class)
                .hasMessageContaining("db2 (")
                .hasMessageContaining("ended the session");
    }

    @Test
    void aLockHasItsHolderNamedAndIsAwaitedAsLongAsPatienceSays() throws SQLException {
        Move move = shards.mover(AccountShards.patient(Duration.ofSeconds(60)), listener)
                .create("db1", "db2", ShardSet.of(1), "");
        Mover hasty = shards.mover(AccountShards.patient(Duration.ofSeconds(2)), listener);
        try (Connection writer = session("a long report")) {
            writer.setAutoCommit(false);
            Sql.execute(writer, "INSERT INTO shard_0001.account (uid) VALUES (1)");

            assertThatThrownBy(() -> hasty.follow(move.id()))
                    .isInstanceOf(MoveException.class)
                    .hasMessageMatching("db1 waited \\d+ s for .*\\(a long report\\).* longer than patience allows.*");

            writer.rollback();
        }
        assertThat(told).anyMatch(line -> line.startsWith("db1 waits for ") && line.contains("(a long report)"));
        shards.mover(AccountShards.patient(Duration.ofSeconds(60)), listener).follow(move.id());
        shards.mover(AccountShards.patient(Duration.ofSeconds(60)), listener).cancel(move.id(), Mover.End.BACK);
    }

    @Test
    @Tag("full")
    void aCutoverNamesTheTransactionsThatItWaitsFor() throws SQLException {
        Mover mover = shards.mover(AccountShards.patient(Duration.ofSeconds(3)), listener);
        Move move = mover.create("db1", "db2", ShardSet.of(1), "");
        mover.follow(move.id());
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
        mover.cancel(move.id(), Mover.End.BACK);
    }

    /** Its target is away, for which a cutover waits in vain. */
    @Test
    @Tag("full")
    void aLostSlotIsToldWhileTheTargetIsAway() throws SQLException {
        Mover mover = shards.mover(AccountShards.patient(Duration.ofSeconds(60)), listener);
        Move move =
                mover.follow(mover.create("db1", "db2", ShardSet.of(1, 2), "").id());
        mover.cutOver(move.id(), ShardSet.of(1));
        String stream = "shardflake_" + move.tag() + "_forward";
        shards.execute("db2", "ALTER SUBSCRIPTION %s DISABLE".formatted(stream));
        try (Connection db1 = shards.database("db1").connect()) {
            Replication.dropSlot(db1, stream);
        }
        Predicate<String> isTold = line -> line.startsWith("db1 has no replication slot " + stream)
                && line.contains("shardflake move cancel %s --keep-moved".formatted(move.id()))
                && line.contains("begin again for shards 2");
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
                                        "end the move with shardflake move cancel %s --keep-moved, which leaves those on db2 there, and begin again for shards 2"
                                                .formatted(move.id())));
        mover.cancel(move.id(), Mover.End.KEPT);
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
    }

    /** A copy is what is left of rows that the source has lost, as in a failover to a standby that was behind. */
    @Test
    @Tag("full")
    void rowsThatASourceHasLostAreAllListed() throws SQLException {
        Mover mover = shards.mover(AccountShards.patient(Duration.ofSeconds(60)), listener);
        Move move = mover.follow(mover.create("db1", "db2", ShardSet.of(1), "").id());
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
                .hasMessageContaining("shardflake move verify " + move.id());
        mover.cancel(move.id(), Mover.End.BACK_UNCOMPARED);
    }
}
