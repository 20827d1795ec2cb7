/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.jdbc.ServerRefusalException;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.CopiesDifferException;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.replication.Replication;

/** What was written to the copy that is to go, past its fence, is not lost with it. */
class MoveEndTest {

    private static final ShardSet MOVING = ShardSet.parse("1-5");
    private static final String PAST_THE_FENCE = "SET session_replication_role = replica;";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private final AtomicInteger refused = new AtomicInteger();
    private AccountShards shards;
    private Mover mover;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.create(postgres, 2, 8, directory);
        mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        for (int shard = 0; shard < 8; shard++) {
            shards.execute("db1", """
                    INSERT INTO shard_000%1$s.account (uid, balance, note) SELECT %1$s + 8 * n, n, repeat('x', 50) FROM generate_series(1, 500) n;
                    INSERT INTO shard_000%1$s.tag SELECT n, 'new' FROM generate_series(1, 500) n
                    """.formatted(shard));
        }
    }

    private static final MoveSettings IMPATIENT = new MoveSettings(
            2,
            1 << 30,
            0,
            0,
            Duration.ofSeconds(10),
            Duration.ofMillis(90),
            Duration.ofMillis(30),
            Duration.ofSeconds(2),
            true);

    /** A table of the shard's owner, whoever that is. */
    private static final String RESCUED = """
            CREATE TABLE shard_0003.rescued AS SELECT 1 AS id;
            DO $$ BEGIN EXECUTE 'ALTER TABLE shard_0003.rescued OWNER TO '
                || (SELECT nspowner::regrole FROM pg_namespace WHERE nspname = 'shard_0003'); END $$
            """;

    private long cutOver() throws SQLException {
        long id =
                mover.follow(mover.record("db1", "db2", MOVING, "a test").id()).id();
        mover.cutOver(id, MOVING);
        return id;
    }

    private long copiesOnTheSource() throws SQLException {
        return shards.number(
                "db1", "SELECT count(*) FROM pg_namespace WHERE nspname BETWEEN 'shard_0001' AND 'shard_0005'");
    }

    private void differs(long id, ShardSet shard) throws SQLException {
        assertThatThrownBy(() -> mover.complete(id))
                .isInstanceOfSatisfying(
                        CopiesDifferException.class,
                        e -> assertThat(e.differences())
                                .containsOnlyKeys(shard.stream().boxed().toList()));
        assertThat(copiesOnTheSource()).isEqualTo(5);
        assertThat(mover.move(id).phase()).isEqualTo(MovePhase.FOLLOWING);
    }

    @Test
    void rowsWrittenToTheSourceAfterTheCutoverAreNotLostAtComplete() throws SQLException {
        long id = cutOver();
        shards.execute("db1", PAST_THE_FENCE + """
                INSERT INTO shard_0002.tag VALUES (-1, 'late');
                UPDATE shard_0003.account SET note = 'late' WHERE balance = 7;
                DELETE FROM shard_0004.tag WHERE account_id = 7;
                TRUNCATE shard_0005.tag
                """);

        differs(id, ShardSet.parse("2-5"));

        // The way back is open still, and takes what is written meanwhile.
        shards.execute("db2", "INSERT INTO shard_0001.tag VALUES (-2, 'there')");
        mover.reverse(id, ShardSet.of(1));
        assertThat(shards.number("db1", "SELECT count(*) FROM shard_0001.tag WHERE account_id = -2"))
                .isOne();
    }

    /** The copies were equal when the shard went back, and that is not what counts. */
    @Test
    void whatTheTargetHasLostWhileItFollowedIsNotLostAtComplete() throws SQLException {
        long id = cutOver();
        mover.reverse(id, ShardSet.of(3));
        shards.execute("db2", PAST_THE_FENCE + "DELETE FROM shard_0003.tag WHERE account_id = 7");

        assertThatThrownBy(() -> mover.cutOver(id, ShardSet.of(3)))
                .isInstanceOfSatisfying(
                        CopiesDifferException.class,
                        e -> assertThat(e.differences()).containsOnlyKeys(3));

        assertThatThrownBy(() -> mover.complete(id)).isInstanceOf(MoveRefusedException.class);
        assertThat(copiesOnTheSource()).isEqualTo(5);
    }

    /** What {@code pg_restore --disable-triggers} does. */
    @Test
    @Tag("full")
    void rowsWrittenWhileTriggersWereDisabledAreNotLostAtComplete() throws SQLException {
        long id = cutOver();
        shards.execute("db1", """
                ALTER TABLE shard_0003.tag DISABLE TRIGGER ALL;
                INSERT INTO shard_0003.tag VALUES (-1, 'late');
                ALTER TABLE shard_0003.tag ENABLE TRIGGER ALL
                """);

        differs(id, ShardSet.of(3));

        shards.execute("db1", PAST_THE_FENCE + "DELETE FROM shard_0003.tag WHERE account_id = -1");
        mover.complete(id);
        assertThat(copiesOnTheSource()).isZero();
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
    }

    @Test
    @Tag("full")
    void aTableThatOnlyTheSourceHasIsNotLostAtComplete() throws SQLException {
        long id = cutOver();
        shards.execute("db1", RESCUED);

        differs(id, ShardSet.of(3));

        shards.execute("db1", "TRUNCATE shard_0003.rescued");
        mover.complete(id);
        assertThat(copiesOnTheSource()).isZero();
    }

    private Mover writing(MoveStep when, String... writes) {
        AtomicBoolean armed = new AtomicBoolean(true);
        return shards.mover(MoveSettings.DEFAULT, new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                if (step == when && armed.getAndSet(false)) {
                    for (String write : writes) {
                        try {
                            shards.execute("db1", write);
                        } catch (SQLException e) {
                            assertThat(e.getSQLState()).isEqualTo("SF001");
                            refused.incrementAndGet();
                        }
                    }
                }
            }
        });
    }

    @Test
    @Tag("full")
    void nobodyWritesToTheSourceAfterTheLastComparison() throws SQLException {
        long id = cutOver();

        writing(
                        MoveStep.ENDING,
                        PAST_THE_FENCE + "INSERT INTO shard_0003.tag VALUES (-1, 'late')",
                        PAST_THE_FENCE + "UPDATE shard_0003.account SET note = 'late' WHERE balance = 7",
                        PAST_THE_FENCE + "DELETE FROM shard_0003.tag WHERE account_id = 7",
                        PAST_THE_FENCE + "TRUNCATE shard_0003.tag")
                .complete(id);

        assertThat(refused).hasValue(4);
        assertThat(copiesOnTheSource()).isZero();
    }

    private static final String OPENED =
            "ALTER TABLE shard_0003.tag DISABLE TRIGGER ALL; INSERT INTO shard_0003.tag VALUES (-1, 'late'); ALTER TABLE shard_0003.tag ENABLE TRIGGER ALL; ALTER TABLE shard_0003.tag ENABLE ALWAYS TRIGGER shardflake_seal, ENABLE ALWAYS TRIGGER shardflake_seal_truncate";

    @ParameterizedTest
    @ValueSource(strings = {OPENED, RESCUED})
    @Tag("full")
    void rowsWrittenByForceAfterTheLastComparisonAreNotLost(String write) throws SQLException {
        long id = cutOver();

        assertThatThrownBy(() -> writing(MoveStep.ENDING, write).complete(id))
                .isInstanceOf(CopiesDifferException.class)
                .hasMessageContaining("copies of shard 3 on db1 were opened to writes after they had been compared");

        differs(id, ShardSet.of(3));
    }

    /** When there is no way back any more. */
    @Test
    @Tag("full")
    void rowsWrittenByForceJustBeforeACopyGoesAreNotLost() throws SQLException {
        long id = cutOver();

        assertThatThrownBy(() -> writing(MoveStep.FORWARD_DROPPED, OPENED).complete(id))
                .isInstanceOf(CopiesDifferException.class)
                .hasMessageContaining("the copy of shard 3 on db1 was opened to writes after it had been compared");
        assertThat(shards.number("db1", "SELECT count(*) FROM shard_0003.tag WHERE account_id = -1"))
                .isOne();

        // As the message says, after a look at the rows.
        shards.execute("db1", "SELECT shardflake.drop_shard(3, force => true)");
        mover.complete(id);
        assertThat(copiesOnTheSource()).isZero();
    }

    @ParameterizedTest
    @EnumSource(names = {"SEALED", "ENDING"})
    @Tag("full")
    void aTargetThatGoesDownAtCompleteKeepsTheSourcesCopiesAndTheSameCommandGoesOn(MoveStep when) throws SQLException {
        long id = cutOver();
        PostgresServer target = shards.database("db2").server();
        AtomicBoolean armed = new AtomicBoolean(true);
        Mover failing = shards.mover(IMPATIENT, new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                if (step == when && armed.getAndSet(false)) {
                    target.crash();
                }
            }
        });
        try {
            assertThatThrownBy(() -> failing.complete(id)).isInstanceOf(ServerRefusalException.class);
            assertThat(copiesOnTheSource()).isEqualTo(5);
        } finally {
            target.start();
        }

        mover.complete(id);

        assertThat(copiesOnTheSource()).isZero();
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
    }

    /** Ends a run as a kill does: nothing is tidied up. */
    private static final class Killed extends Error {
        private static final long serialVersionUID = 1L;
    }

    private interface Work {
        void run() throws SQLException;
    }

    private static void whileDown(PostgresServer server, Work work) throws SQLException {
        server.crash();
        try {
            work.run();
        } finally {
            server.start();
        }
    }

    private Mover dying(MoveStep when) {
        return shards.mover(MoveSettings.DEFAULT, new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                if (step == when) {
                    throw new Killed();
                }
            }
        });
    }

    @ParameterizedTest
    @EnumSource(names = {"SHARD_COPIED", "FENCED", "STAGED"})
    @Tag("full")
    void aTargetThatIsGoneForGoodIsLetGoOf(MoveStep when) throws SQLException {
        PostgresServer target = shards.database("db2").server();
        Mover dying = dying(when);
        Move move = dying.record("db1", "db2", ShardSet.parse("2-3"), "a test");
        assertThatThrownBy(() -> dying.carryOut(move, false))
                .isInstanceOfAny(Killed.class, IllegalStateException.class); // copying, in threads
        assertThatThrownBy(() -> mover.cancelWithoutTarget(move.id())).hasMessage("db2 answers");
        whileDown(target, () -> {
            assertThatThrownBy(() -> shards.mover(IMPATIENT, MoveListener.NONE).cancel(move.id(), Mover.End.BACK))
                    .isInstanceOfSatisfying(
                            MoveException.class,
                            e -> assertThat(e.hint())
                                    .contains("if db2 is gone for good: shardflake move cancel %s --target-lost"
                                            .formatted(move.id())));
            mover.cancelWithoutTarget(move.id());

            assertThat(Mover.moves(shards.catalogUrl())).isEmpty();
            assertThat(shards.leftovers("db1")).isZero();
            shards.execute(
                    "db1",
                    "INSERT INTO shard_0002.account (uid) VALUES (2); INSERT INTO shard_0003.account (uid) VALUES (3)");
        });
        assertThatThrownBy(() -> shards.execute("db2", "INSERT INTO shard_0003.account (uid) VALUES (3)"))
                .isInstanceOf(SQLException.class);
    }

    /** It has been on the target before, and back. */
    @Test
    @Tag("full")
    void aTargetThatIsGoneForGoodIsLetGoOfThoughItHadTheShardOnce() throws SQLException {
        PostgresServer target = shards.database("db2").server();
        Move move = mover.record("db1", "db2", ShardSet.of(3), "a test");
        mover.follow(move.id());
        mover.cutOver(move.id(), ShardSet.of(3));
        mover.reverse(move.id(), ShardSet.of(3));
        Mover dying = dying(MoveStep.FENCED);
        assertThatThrownBy(() -> dying.cutOver(move.id(), ShardSet.of(3))).isInstanceOf(Killed.class);
        whileDown(target, () -> {
            mover.cancelWithoutTarget(move.id());

            shards.execute("db1", "INSERT INTO shard_0003.account (uid) VALUES (3)");
        });
    }

    /** The next command had given up the cutover in the catalog, but not opened the shard. */
    @Test
    @Tag("full")
    void aTargetThatIsGoneForGoodIsLetGoOfThoughOpeningTheShardWasInterrupted() throws SQLException {
        PostgresServer target = shards.database("db2").server();
        Move move = mover.record("db1", "db2", ShardSet.of(3), "a test");
        mover.follow(move.id());
        Mover dying = dying(MoveStep.FENCED);
        assertThatThrownBy(() -> dying.cutOver(move.id(), ShardSet.of(3))).isInstanceOf(Killed.class);
        shards.execute("db1", "ALTER FUNCTION shardflake.record_placement RENAME TO gone");
        assertThatThrownBy(() -> mover.cutOver(move.id(), ShardSet.of(3)))
                .hasMessageContaining("shardflake.record_placement");
        shards.execute("db1", "ALTER FUNCTION shardflake.gone RENAME TO record_placement");
        whileDown(target, () -> {
            mover.cancelWithoutTarget(move.id());

            shards.execute("db1", "INSERT INTO shard_0003.account (uid) VALUES (3)");
        });
    }

    /** The catalog was restored to before the cutover. */
    @Test
    @Tag("full")
    void aTargetThatIsGoneForGoodIsNotLetGoOfByACatalogThatForgotTheCutover() throws SQLException {
        PostgresServer target = shards.database("db2").server();
        Move move = mover.record("db1", "db2", ShardSet.of(3), "a test");
        mover.follow(move.id());
        mover.cutOver(move.id(), ShardSet.of(3));
        try (Connection catalog = shards.catalogUrl().connect("a test")) {
            Sql.execute(
                    catalog,
                    "SET session_replication_role = replica; UPDATE shardflake_catalog.move_shard SET phase = 'copied', mark = NULL WHERE shard = 3;"
                            + " UPDATE shardflake_catalog.shard SET server = 'db1', epoch = epoch - 1 WHERE shard = 3");
        }
        whileDown(target, () -> {
            assertThatThrownBy(() -> mover.cancelWithoutTarget(move.id()))
                    .hasMessageContaining("older than the servers");
        });
    }

    @Test
    @Tag("full")
    void aTargetThatIsGoneForGoodIsNotLetGoOfWithTheRowsThatItHas() throws SQLException {
        PostgresServer target = shards.database("db2").server();
        Mover dying = dying(MoveStep.SWITCHED);
        Move move = dying.record("db1", "db2", ShardSet.of(3), "a test");
        assertThatThrownBy(() -> dying.carryOut(move, false)).isInstanceOf(Killed.class);
        whileDown(target, () -> {
            assertThatThrownBy(() -> mover.cancelWithoutTarget(move.id()))
                    .hasMessage("shard 3 is on db2, which may have rows that db1 lacks");
        });

        mover.carryOut(move, false);

        assertThat(copiesOnTheSource()).isEqualTo(4);
    }

    @Test
    @Tag("full")
    void aSourceThatCannotFollowKeepsItsCopies() throws SQLException {
        long id = cutOver();
        String stream = "shardflake_" + mover.move(id).tag() + "_reverse";
        try (Connection db2 = shards.database("db2").connect()) {
            Replication.dropSlot(db2, stream);
        }

        assertThatThrownBy(() -> mover.complete(id)).hasMessageContaining("db2 has no replication slot " + stream);
        assertThatThrownBy(() -> mover.cancel(id, Mover.End.KEPT))
                .hasMessageContaining("could not be compared, and are kept")
                .satisfies(e -> assertThat(((ShardflakeException) e).hint().orElse(""))
                        .contains("shardflake move cancel %s --keep-moved --uncompared".formatted(id)));
        assertThat(copiesOnTheSource()).isEqualTo(5);

        mover.cancel(id, Mover.End.KEPT_UNCOMPARED);
        assertThat(copiesOnTheSource()).isZero();
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
    }

    /** How a source loses what it follows by. */
    private enum Loss {
        SLOT,
        LOG_OF_SLOT,
        SUBSCRIPTION
    }

    private void lose(Loss loss, String stream) throws SQLException {
        switch (loss) {
            case SLOT -> {
                try (Connection db2 = shards.database("db2").connect()) {
                    Replication.dropSlot(db2, stream);
                }
            }
            case LOG_OF_SLOT -> {
                String slot = "SELECT count(*) FROM pg_replication_slots WHERE slot_name = '%s' AND ".formatted(stream);
                shards.execute("db1", "ALTER SUBSCRIPTION %s DISABLE".formatted(stream));
                shards.await("db2", slot + "active", 0);
                shards.execute("db2", "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'");
                try {
                    shards.execute("db2", "SELECT pg_reload_conf()");
                    // The checkpointer may hear of the setting late.
                    for (int tries = 0;
                            tries < 100 && shards.number("db2", slot + "wal_status = 'lost'") == 0;
                            tries++) {
                        shards.execute("db2", "SELECT pg_logical_emit_message(false, 'a test', 'x'), pg_switch_wal()");
                        shards.execute("db2", "CHECKPOINT");
                    }
                } finally {
                    shards.execute("db2", "ALTER SYSTEM RESET max_slot_wal_keep_size");
                    shards.execute("db2", "SELECT pg_reload_conf()");
                }
                assertThat(shards.number("db2", slot + "wal_status = 'lost'")).isOne();
            }
            case SUBSCRIPTION -> {
                try (Connection db1 = shards.database("db1").connect()) {
                    Replication.dropSubscription(db1, stream, "");
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Loss.class)
    void copiesThatCanNoLongerFollowGoIfTheirShardsHaveAllTheirRows(Loss loss) throws SQLException {
        mover = shards.mover(AccountShards.uncompared(MoveSettings.DEFAULT.patience()), MoveListener.NONE);
        long id = cutOver();
        assertThatThrownBy(() -> mover.cancel(id, Mover.End.KEPT_UNCOMPARED))
                .isInstanceOf(MoveRefusedException.class)
                .satisfies(e -> assertThat(((ShardflakeException) e).hint().orElse(""))
                        .contains("compare the former with shardflake move verify %s".formatted(id)));
        lose(loss, "shardflake_" + mover.move(id).tag() + "_reverse");
        shards.execute("db2", "INSERT INTO shard_0002.tag VALUES (501, 'newer')");
        shards.execute("db2", "UPDATE shard_0003.tag SET name = 'newer' WHERE account_id = 7");

        assertThatThrownBy(() -> mover.cancel(id, Mover.End.KEPT_UNCOMPARED))
                .isInstanceOf(CopiesDifferException.class)
                .hasMessageContaining("copies of shard 3 on db1 were not found equal since their cutover")
                .hasMessageContaining(
                        "on db1, SELECT shardflake.drop_shard(shard, force => true) FROM unnest('{3}'::integer[]) shard");
        assertThat(copiesOnTheSource()).isEqualTo(5);

        shards.execute("db1", "SELECT shardflake.drop_shard(shard, force => true) FROM unnest('{3}'::integer[]) shard");
        mover.cancel(id, Mover.End.KEPT_UNCOMPARED);
        assertThat(copiesOnTheSource()).isZero();
        assertThat(shards.number("db2", "SELECT count(*) FROM shard_0002.tag")).isEqualTo(501);
        assertThat(shards.number("db2", "SELECT count(*) FROM shard_0003.tag WHERE name = 'newer'"))
                .isOne();
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
    }

    /** What a source that was restored lacks, the target's copy may still have. */
    @Test
    void rowsThatARestoredSourceLacksAreNotLostAtCancel() throws SQLException {
        long id =
                mover.follow(mover.record("db1", "db2", MOVING, "a test").id()).id();
        String stream = "shardflake_" + mover.move(id).tag() + "_forward";
        try (Connection db2 = shards.database("db2").connect()) {
            Sql.execute(
                    db2,
                    "ALTER SUBSCRIPTION %1$s DISABLE; ALTER SUBSCRIPTION %1$s SET (slot_name = NONE)"
                            .formatted(stream));
        }
        try (Connection db1 = shards.database("db1").connect()) {
            Replication.dropSlot(db1, stream);
        }
        shards.execute(
                "db1",
                "DELETE FROM shard_0002.tag WHERE account_id = 7; INSERT INTO shard_0003.tag VALUES (-1, 'since')");

        assertThatThrownBy(() -> mover.cancel(id, Mover.End.BACK))
                .isInstanceOfSatisfying(
                        CopiesDifferException.class,
                        e -> assertThat(e.differences()).containsOnlyKeys(2))
                .hasMessageContaining("db1 has lost the slot of move 1, as after a restore or a failover");
        assertThat(shards.number("db2", "SELECT count(*) FROM shard_0002.tag WHERE account_id = 7"))
                .isOne();

        mover.cancel(id, Mover.End.BACK_UNCOMPARED);
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
    }

    @Test
    void rowsWrittenToTheSourceAreNotLostWhenTheMoveIsEndedWhereItIs() throws SQLException {
        long id =
                mover.follow(mover.record("db1", "db2", MOVING, "a test").id()).id();
        mover.cutOver(id, ShardSet.of(3));
        shards.execute("db1", PAST_THE_FENCE + "INSERT INTO shard_0003.tag VALUES (-1, 'late')");

        assertThatThrownBy(() -> mover.cancel(id, Mover.End.KEPT)).isInstanceOf(CopiesDifferException.class);

        assertThat(copiesOnTheSource()).isEqualTo(5);
        shards.execute("db1", PAST_THE_FENCE + "DELETE FROM shard_0003.tag WHERE account_id = -1");
        mover.cancel(id, Mover.End.KEPT);
        assertThat(copiesOnTheSource()).isEqualTo(4);
    }

    @Test
    @Tag("full")
    void aRowThatIsWrittenAllTheTimeDoesNotHoldUpTheEnd() throws Exception {
        long id = cutOver();
        AtomicBoolean stop = new AtomicBoolean();
        CountDownLatch writing = new CountDownLatch(100);
        CompletableFuture<Long> writes = CompletableFuture.supplyAsync(() -> {
            long count = 0;
            try (Connection db2 = shards.database("db2").connect()) {
                while (!stop.get() && count < 1_000_000) {
                    Sql.execute(db2, "UPDATE shard_0003.account SET balance = balance + 1 WHERE note = 'counter'");
                    writing.countDown();
                    count++;
                }
                return count;
            } catch (SQLException e) {
                throw new IllegalStateException(e);
            }
        });
        shards.execute("db2", "INSERT INTO shard_0003.account (uid, balance, note) VALUES (3, 0, 'counter')");
        assertThat(writing.await(60, TimeUnit.SECONDS)).isTrue();

        mover.complete(id);

        stop.set(true);
        writes.get(60, TimeUnit.SECONDS);
        assertThat(copiesOnTheSource()).isZero();
    }

    /** One session that has written past the fence and not committed yet. */
    @Test
    @Tag("full")
    void aTransactionThatIsStillWritingToTheSourceKeepsIt() throws SQLException {
        long id = cutOver();
        try (Connection writing = shards.database("db1").connect()) {
            writing.setAutoCommit(false);
            Sql.execute(writing, PAST_THE_FENCE + "INSERT INTO shard_0003.tag VALUES (-1, 'late')");

            assertThatThrownBy(() -> mover.complete(id))
                    .isInstanceOf(MoveException.class)
                    .hasMessageContaining("shard 3");
            assertThat(copiesOnTheSource()).isEqualTo(5);

            writing.commit();
        }
        differs(id, ShardSet.of(3));
    }

    @Test
    @Tag("full")
    void aSubscriptionOfTheUsersOwnIntoAMovingShardStopsItsCutover() throws SQLException {
        long id =
                mover.follow(mover.record("db1", "db2", MOVING, "a test").id()).id();
        shards.subscribe("db1", 3);

        assertThatThrownBy(() -> mover.cutOver(id, MOVING))
                .isInstanceOf(MoveRefusedException.class)
                .hasMessageContaining(
                        "shard 3 was not cut over: on db1, subscription own_feed writes to shard_0003.tag");
        assertThat(mover.move(id).shard(3).server()).isEqualTo("db1");
    }

    /** A subscription that begins after the cutover. */
    @Test
    @Tag("full")
    void rowsOfASubscriptionIntoTheSourceAreNotLostAtComplete() throws Exception {
        long id = cutOver();
        shards.subscribe("db1", 3);
        shards.executeInCatalog("INSERT INTO shard_0003.tag VALUES (-1, 'late')");
        shards.await("db1", "SELECT count(*) FROM shard_0003.tag WHERE account_id = -1", 1);

        differs(id, ShardSet.of(3));
    }

    @Test
    @Tag("full")
    void aFailureWithoutAStateIsNotHiddenByAnother() throws SQLException {
        long id =
                mover.follow(mover.record("db1", "db2", MOVING, "a test").id()).id();
        Mover failing = shards.mover(MoveSettings.DEFAULT, new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                if (step == MoveStep.DRAINED) {
                    MoveEndTest.<RuntimeException>fail(new SQLException("no state at all"));
                }
            }
        });

        assertThatThrownBy(() -> failing.cutOver(id, ShardSet.of(3)))
                .isInstanceOf(ServerRefusalException.class)
                .hasMessage("no state at all");
        shards.execute("db1", "INSERT INTO shard_0003.tag VALUES (-1, 'open')");
    }

    @SuppressWarnings("unchecked")
    private static <E extends Exception> void fail(Exception failure) throws E {
        throw (E) failure;
    }

    @Test
    @Tag("full")
    void settlesWhatWasClosedForTheEnd() throws SQLException {
        long id = cutOver();
        Mover dying = shards.mover(MoveSettings.DEFAULT, new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                if (step == MoveStep.ENDING) {
                    throw new IllegalStateException("the end");
                }
            }
        });
        assertThatThrownBy(() -> dying.complete(id)).hasMessage("the end");

        mover.complete(id);

        assertThat(copiesOnTheSource()).isZero();
        assertThat(List.of(shards.leftovers("db1"), shards.leftovers("db2"))).containsOnly(0L);
    }
}
