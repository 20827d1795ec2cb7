/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.StringReader;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.postgresql.PGConnection;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.compare.TableDifference;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.CopiesDifferException;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.replication.Replication;
import org.shardflake.router.ShardRouter;
import org.shardflake.sql.AdvisoryLock;
import org.shardflake.sql.FunctionLibrary;

/** Moves without load, step by step. */
class MoverTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private final List<MoveStep> steps = new ArrayList<>();
    private AccountShards shards;
    private Mover mover;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.create(postgres, 2, 8, directory);
        mover = shards.mover(MoveSettings.DEFAULT, new MoveListener() {
            @Override
            public synchronized void reached(MoveStep step) {
                steps.add(step);
            }
        });
        for (int shard = 0; shard < 8; shard++) {
            shards.execute("db1", """
                    INSERT INTO shard_000%1$s.account (uid, balance, note) SELECT %1$s + 8 * n, n, repeat('x', 50) FROM generate_series(1, 1000) n;
                    INSERT INTO shard_000%1$s.entry (account_id, amount, key) SELECT id, balance, gen_random_uuid() FROM shard_000%1$s.account
                    """.formatted(shard));
        }
    }

    @Test
    void movesShardsAndLeavesNothingBehind() throws SQLException {
        ShardSet moving = ShardSet.parse("1-3,6");
        Move move = mover.record("db1", "db2", moving, "a test");
        move = mover.follow(move.id());
        assertThat(move.phase()).isEqualTo(MovePhase.FOLLOWING);
        assertThat(move.shards()).allSatisfy(shard -> assertThat(shard.rows()).isEqualTo(2000));
        assertThat(mover.verify(move.id(), moving)).isEmpty();

        move = mover.cutOver(move.id(), moving);
        assertThat(move.shards()).allSatisfy(shard -> {
            assertThat(shard.server()).isEqualTo("db2");
            assertThat(shard.verified()).isEqualTo(Verified.AT_CUTOVER);
        });
        try (ShardRouter router = shards.router().build()) {
            router.run(9, tx -> {
                assertThat(tx.shard()).isEqualTo(1);
                tx.connection()
                        .createStatement()
                        .execute(tx.sql("INSERT INTO ${shard.schema}.account (uid) VALUES (9)"));
            });
        }
        assertThat(shards.number("db2", "SELECT count(*) FROM shard_0001.account"))
                .isEqualTo(1001);

        move = mover.reverse(move.id(), ShardSet.of(1));
        assertThat(shards.number("db1", "SELECT count(*) FROM shard_0001.account"))
                .isEqualTo(1001);
        move = mover.cutOver(move.id(), moving);
        mover.complete(move.id());

        assertThat(shards.leftovers("db1")).isZero();
        assertThat(shards.leftovers("db2")).isZero();
        assertThat(shards.number("db1", "SELECT count(*) FROM pg_namespace WHERE nspname ~ '^shard_'"))
                .isEqualTo(4);
        assertThat(mover.moves()).isEmpty();
    }

    @Test
    void aMoveThatEndsWhileItIsReadIsOver() throws Exception {
        long id = mover.record("db1", "db2", ShardSet.of(3), "").id();
        CompletableFuture<List<Move>> read;
        try (Connection end = shards.catalogUrl().connect("a test")) {
            end.setAutoCommit(false);
            Sql.execute(end, "LOCK TABLE shardflake_catalog.move_shard");
            read = CompletableFuture.supplyAsync(mover::moves);
            while (shards.catalogNumber(
                            "SELECT count(*) FROM pg_locks WHERE relation = 'shardflake_catalog.move_shard'::regclass AND NOT granted")
                    == 0) {
                assertThat(read).isNotDone();
                Thread.sleep(10);
            }
            Sql.execute(
                    end,
                    "DELETE FROM shardflake_catalog.move_shard; DELETE FROM shardflake_catalog.move WHERE id = " + id);
            end.commit();
        }

        assertThat(read.get(1, TimeUnit.MINUTES)).isEmpty();
    }

    @Test
    @Tag("full")
    void aShardThatWasCopiedBeforeAnInterruptionIsNotCopiedAgainUnlessItHasChanged() throws SQLException {
        ShardSet moving = ShardSet.range(0, 4);
        Move move = mover.record("db1", "db2", moving, "");
        AtomicInteger copied = new AtomicInteger();
        MoveSettings usual = MoveSettings.DEFAULT;
        MoveSettings oneByOne = new MoveSettings(
                1,
                usual.partSize(),
                0,
                0,
                usual.maxLag(),
                usual.pause(),
                usual.lockTimeout(),
                usual.patience(),
                usual.verify());
        Mover interrupted = shards.mover(oneByOne, new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                if (step == MoveStep.SHARD_COPIED && copied.incrementAndGet() == 3) {
                    throw new IllegalStateException("stopped by the test");
                }
            }
        });
        assertThatThrownBy(() -> interrupted.follow(move.id())).hasMessage("stopped by the test");
        ShardSet there = mover.move(move.id()).shardSet(ShardPhase.COPIED);
        assertThat(there.size()).isEqualTo(3);
        int changed = there.stream().findFirst().getAsInt();
        shards.execute("db1", String.format(Locale.ROOT, """
                UPDATE shard_%1$04d.account SET note = CASE balance WHEN 1 THEN 'two' ELSE 'one' END WHERE balance IN (1, 2)
                """, changed));
        Map<Integer, Long> before = files(moving);

        assertThat(mover.follow(move.id()).phase()).isEqualTo(MovePhase.FOLLOWING);

        Map<Integer, Long> after = files(moving);
        for (int shard : moving.stream().toArray()) {
            boolean kept = there.contains(shard) && shard != changed;
            assertThat(Objects.equals(after.get(shard), before.get(shard)))
                    .as("shard %s kept", shard)
                    .isEqualTo(kept);
        }
        assertThat(mover.move(move.id()).shards())
                .allSatisfy(shard -> assertThat(shard.rows()).isEqualTo(2000));
        assertThat(mover.verify(move.id(), moving)).isEmpty();
        mover.cancel(move.id(), Mover.End.BACK);
    }

    @Test
    void aPartThatWasCopiedBeforeAnInterruptionIsNotCopiedAgain() throws SQLException {
        ShardSet moving = ShardSet.of(5);
        Move move = mover.record("db1", "db2", moving, "");
        interruptAfter(8, move);
        String indexes = "SELECT count(*) FROM pg_indexes WHERE schemaname = 'shard_0005'";
        assertThat(shards.number("db2", indexes)).isLessThan(shards.number("db1", indexes));
        shards.execute("db2", "CREATE TABLE public.seen AS SELECT id, xmin::text AS version FROM shard_0005.account");

        assertThat(shards.mover(inParts(), MoveListener.NONE).follow(move.id()).phase())
                .isEqualTo(MovePhase.FOLLOWING);

        assertThat(shards.number("db2", "SELECT count(*) FROM public.seen")).isBetween(100L, 999L);
        assertThat(
                        shards.number(
                                "db2",
                                "SELECT count(*) FROM public.seen s WHERE NOT EXISTS (SELECT FROM shard_0005.account a WHERE a.id = s.id AND a.xmin::text = s.version)"))
                .isZero();
        assertThat(shards.number("db2", indexes)).isEqualTo(shards.number("db1", indexes));
        assertThat(mover.move(move.id()).shard(5).rows()).isEqualTo(2000);
        assertThat(mover.verify(move.id(), moving)).isEmpty();
        mover.cutOver(move.id(), moving);
        mover.complete(move.id());
    }

    /** In the first phase there is no slot, and the schema is compared again. Larger parts: the shard has none any more. */
    @ParameterizedTest
    @CsvSource({"preparing, 8192", "preparing, 1073741824", "copying, 1073741824"})
    @Tag("full")
    void aCopyInPartsGoesOnHoweverItWasInterrupted(String phase, long partSize) throws SQLException {
        ShardSet moving = ShardSet.of(5);
        Move move = mover.record("db1", "db2", moving, "");
        interruptAfter(1, move);
        shards.executeInCatalog(
                "UPDATE shardflake_catalog.move SET phase = '%s' WHERE id = %s".formatted(phase, move.id()));

        Mover next = shards.mover(AccountShards.inParts(partSize), MoveListener.NONE);
        assertThat(next.follow(move.id()).phase()).isEqualTo(MovePhase.FOLLOWING);

        assertThat(mover.verify(move.id(), moving)).isEmpty();
        mover.cutOver(move.id(), moving);
        mover.complete(move.id());
    }

    /** As when the target has lost its last commits, which need not be on its disk. */
    @Test
    @Tag("full")
    void aCopiedShardThatHasLostItsIndexesGetsThemBack() throws SQLException {
        ShardSet moving = ShardSet.range(4, 5);
        Move move = mover.record("db1", "db2", moving, "");
        Mover interrupted = shards.mover(MoveSettings.DEFAULT, new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                if (step == MoveStep.REVERSE_SLOT_CREATED) {
                    throw new IllegalStateException("stopped by the test");
                }
            }
        });
        assertThatThrownBy(() -> interrupted.follow(move.id())).hasMessage("stopped by the test");
        assertThat(mover.move(move.id()).shardSet(ShardPhase.COPIED)).isEqualTo(moving);
        shards.execute(
                "db2",
                "ALTER TABLE shard_0004.entry DROP CONSTRAINT entry_account_id_fkey; ALTER TABLE shard_0004.account DROP CONSTRAINT account_pkey; DROP INDEX shard_0004.account_uid");

        assertThat(mover.follow(move.id()).phase()).isEqualTo(MovePhase.FOLLOWING);

        assertThat(mover.verify(move.id(), moving)).isEmpty();
        mover.cutOver(move.id(), moving);
        mover.complete(move.id());
    }

    /** The target's half copy of a shard, which never was there, has rows that the source lacks after it was restored. */
    @Test
    @Tag("full")
    void partsOfAShardDoNotHoldUpTheEndOfAMoveWhoseSourceHasLostItsSlot() throws SQLException {
        ShardSet moving = ShardSet.of(5);
        Move move = mover.record("db1", "db2", moving, "");
        interruptAfter(1, move);
        shards.execute("db1", "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots");
        shards.execute("db1", "UPDATE shard_0005.account SET note = 'restored'");

        mover.cancel(move.id(), Mover.End.BACK);

        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
        assertThat(shards.number("db2", "SELECT count(*) FROM pg_namespace WHERE nspname = 'shard_0005'"))
                .isZero();
    }

    /** Begins to copy in parts, and is stopped when so many are copied. */
    private void interruptAfter(int parts, Move move) {
        AtomicInteger copied = new AtomicInteger();
        Mover interrupted = shards.mover(inParts(), new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                if (step == MoveStep.PART_COPIED && copied.incrementAndGet() == parts) {
                    throw new IllegalStateException("stopped by the test");
                }
            }
        });
        assertThatThrownBy(() -> interrupted.follow(move.id())).hasMessage("stopped by the test");
    }

    /** Parts of a page. */
    private static MoveSettings inParts() {
        return AccountShards.inParts(8192);
    }

    /** What a table that is truncated gets anew. */
    private Map<Integer, Long> files(ShardSet of) throws SQLException {
        Map<Integer, Long> files = new TreeMap<>();
        for (int shard : of.stream().toArray()) {
            files.put(
                    shard,
                    shards.number(
                            "db2",
                            String.format(Locale.ROOT, "SELECT pg_relation_filenode('shard_%04d.account')", shard)));
        }
        return files;
    }

    /** As after a failover of the source: what is over stays over, and the rest stays where it is. */
    @Test
    @Tag("full")
    void aMoveWhoseSlotIsLostCanBeEndedWhereItIs() throws SQLException, InterruptedException {
        ShardSet moving = ShardSet.of(2, 3);
        Move move = mover.follow(mover.record("db1", "db2", moving, "").id());
        mover.cutOver(move.id(), ShardSet.of(2));
        String name = "shardflake_" + move.tag() + "_forward";
        shards.execute("db2", "ALTER SUBSCRIPTION %s DISABLE".formatted(name));
        try (Connection db1 = shards.database("db1").connect()) {
            Replication.dropIdleSlot(db1, name);
        }

        assertThatThrownBy(() -> mover.cutOver(move.id(), ShardSet.of(3)))
                .isInstanceOf(MoveRefusedException.class)
                .hasMessageContaining("db1 has lost the replication slot " + name);
        assertThatThrownBy(() -> mover.cancel(move.id(), Mover.End.BACK))
                .isInstanceOf(MoveRefusedException.class)
                .satisfies(e -> assertThat(((ShardflakeException) e).hint().orElse(""))
                        .contains("leave them there with shardflake move cancel %s --keep-moved".formatted(move.id())));
        mover.cancel(move.id(), Mover.End.KEPT);

        assertThat(mover.moves()).isEmpty();
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
        shards.execute("db2", "INSERT INTO shard_0002.account (uid) VALUES (2)");
        shards.execute("db1", "INSERT INTO shard_0003.account (uid) VALUES (3)");
        assertThat(shards.number("db1", "SELECT count(*) FROM pg_namespace WHERE nspname = 'shard_0002'"))
                .isZero();
        assertThat(shards.number("db2", "SELECT count(*) FROM pg_namespace WHERE nspname = 'shard_0003'"))
                .isZero();
    }

    @Test
    @Tag("full")
    void idsThatAnAttemptLeftStoppedGoOnWithTheNextCommand() throws SQLException {
        Move move = mover.follow(mover.record("db1", "db2", ShardSet.of(3), "").id());
        shards.execute("db1", "SELECT shardflake.fence_ids(3, true)");
        isFenced(() -> shards.execute("db1", "INSERT INTO shard_0003.account (uid) VALUES (3)"));

        mover.settle(move.id());

        shards.execute("db1", "INSERT INTO shard_0003.account (uid) VALUES (3)");
        mover.cancel(move.id(), Mover.End.BACK);
    }

    @Test
    @Tag("full")
    void bringsTheTargetsFunctionLibraryUpToDate() throws SQLException {
        Move move = followOntoLibrary(
                "DROP FUNCTION shardflake.complete_tables(integer); UPDATE shardflake.databasechangelog SET md5sum = '9:0' WHERE id = 'complete_tables'");

        assertThat(shards.number("db2", "SELECT count(*) FROM pg_proc WHERE proname = 'complete_tables'"))
                .isOne();
        mover.cancel(move.id(), Mover.End.BACK);
    }

    @Test
    @Tag("full")
    void deploysTheFunctionLibraryWhereThatWasInterruptedAtItsBeginning() throws SQLException {
        Move move = followOntoLibrary(
                "CREATE TABLE public.databasechangelog (LIKE shardflake.databasechangelog); DROP SCHEMA shardflake CASCADE; CREATE SCHEMA shardflake; ALTER TABLE public.databasechangelog SET SCHEMA shardflake");

        assertThat(shards.number("db2", "SELECT shardflake.epoch_ms()"))
                .isEqualTo(FunctionLibrary.DEFAULT_EPOCH_MILLIS);
        mover.cancel(move.id(), Mover.End.BACK);
    }

    /** Follows a shard onto a server whose function library this was done to. */
    private Move followOntoLibrary(String damage) throws SQLException {
        try (Connection db2 = shards.url("db2").connect("a test")) {
            FunctionLibrary.deploy(db2);
            Sql.execute(db2, damage);
        }
        return mover.follow(mover.record("db1", "db2", ShardSet.of(3), "").id());
    }

    /** Anyone who may connect to the catalog can take the lock. */
    @Test
    void aMoveThatWaitsForItsLockNamesTheHolder() throws Exception {
        long move = mover.record("db1", "db2", ShardSet.of(3), "").id();
        AdvisoryLock lock = new AdvisoryLock("shardflake.move", (int) move);
        List<String> told = new ArrayList<>();
        try (Connection other = shards.catalogDatabase().connect();
                Connection catalog = shards.catalogDatabase().connect()) {
            Sql.execute(other, "SET application_name = 'a script'");
            assertThat(lock.take(other, Duration.ZERO)).isEmpty();

            MoveLease.take(catalog, move, OptionalLong.empty(), new MoveListener() {
                @Override
                public void waits(String why) {
                    told.add(why);
                    try {
                        lock.release(other);
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                }
            });
        }

        assertThat(told)
                .singleElement()
                .asString()
                .matches("move %s: process [0-9]+ of role \\w+ \\(a script\\) works on it".formatted(move));
    }

    @Test
    void cancelLeavesTheSourceAsItWas() throws SQLException {
        ShardSet moving = ShardSet.parse("0-7");
        Move move = mover.follow(mover.record("db1", "db2", moving, "").id());

        mover.cancel(move.id(), Mover.End.BACK);

        assertThat(shards.leftovers("db1")).isZero();
        assertThat(shards.leftovers("db2")).isZero();
        assertThat(shards.number("db2", "SELECT count(*) FROM pg_namespace WHERE nspname ~ '^shard_'"))
                .isZero();
        shards.execute("db1", "INSERT INTO shard_0007.account (uid) VALUES (7)");
        assertThatThrownBy(() -> mover.move(move.id()))
                .hasMessageContaining("no move %s is in progress".formatted(move.id()));
    }

    @Test
    void whoeverStillWritesToTheSourceIsRefused() throws Exception {
        Move move = mover.follow(mover.record("db1", "db2", ShardSet.of(3), "").id());
        try (Connection older = shards.database("db1").connect();
                Connection preparing = shards.database("db1").connect();
                Connection plain = shards.database("db1").connect();
                PreparedStatement prepared =
                        preparing.prepareStatement("INSERT INTO shard_0003.account (uid) VALUES (3)")) {
            older.setAutoCommit(false);
            Sql.execute(older, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
            long before = Sql.number(older, "SELECT count(*) FROM shard_0003.account");
            for (int i = 0; i < 6; i++) {
                prepared.execute(); // Planned once and for all by now.
            }

            mover.cutOver(move.id(), ShardSet.of(3));

            isFenced(() -> Sql.execute(older, "UPDATE shard_0003.account SET note = 'late'"));
            isFenced(prepared::execute);
            isFenced(() -> Sql.execute(plain, "INSERT INTO shard_0003.account (uid) VALUES (3)"));
            isFenced(() -> Sql.execute(plain, "TRUNCATE shard_0003.tag"));
            isFenced(() -> Sql.execute(plain, "SELECT shard_0003.next_id('shard_0003.account_id_seq')"));
            isFenced(() -> plain.unwrap(PGConnection.class)
                    .getCopyAPI()
                    .copyIn("COPY shard_0003.account (id, uid) FROM STDIN", new StringReader("7\t3\n")));
            assertThat(Sql.number(plain, "SELECT count(*) FROM shard_0003.account"))
                    .isEqualTo(before + 6);
            older.rollback();
        }
        mover.complete(move.id());
    }

    private static void isFenced(ThrowingCallable write) {
        assertThatThrownBy(write)
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("SF001"));
    }

    @Test
    @Tag("full")
    void aLongTransactionDelaysTheCutoverAndNotTheOtherWriters() throws Exception {
        Move move = mover.follow(mover.record("db1", "db2", ShardSet.of(3), "").id());
        try (Connection writing = shards.database("db1").connect();
                Connection others = shards.database("db1").connect()) {
            writing.setAutoCommit(false);
            Sql.execute(writing, "UPDATE shard_0003.account SET note = 'slow' WHERE balance = 7");
            CompletableFuture<Move> cutover =
                    CompletableFuture.supplyAsync(() -> mover.cutOver(move.id(), ShardSet.of(3)));
            // A writer that waited for the long transaction would run into this.
            Sql.execute(others, "SET lock_timeout = '5s'");
            for (int i = 0; i < 200; i++) {
                Sql.execute(others, "UPDATE shard_0003.account SET note = 'quick' WHERE balance = 8");
                Thread.sleep(5);
            }
            assertThat(cutover).isNotDone();
            writing.commit();

            assertThat(cutover.get(60, TimeUnit.SECONDS).shard(3).server()).isEqualTo("db2");
        }
        assertThat(shards.number("db2", "SELECT count(*) FROM shard_0003.account WHERE note IN ('slow', 'quick')"))
                .isEqualTo(2);
        mover.complete(move.id());
    }

    @Test
    void idsGoOnIncreasingThoughTheTargetsClockIsTenMinutesBehind() throws Exception {
        Move move = mover.follow(mover.record("db1", "db2", ShardSet.of(3), "").id());
        shards.execute(
                "db2",
                "CREATE OR REPLACE FUNCTION shardflake.clock() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE RETURN clock_timestamp() - interval '10 minutes'");
        long last = shards.number("db1", "SELECT shard_0003.next_id('shard_0003.account_id_seq')");

        mover.cutOver(move.id(), ShardSet.of(3));
        for (int i = 0; i < 5000; i++) {
            long next = shards.number(
                    "db2", "SELECT max(id) FROM shardflake.next_ids(3, 'shard_0003.account_id_seq', 10) id");
            assertThat(next).isGreaterThan(last);
            last = next;
            i += 500;
        }
        mover.reverse(move.id(), ShardSet.of(3));
        assertThat(shards.number("db1", "SELECT shard_0003.next_id('shard_0003.account_id_seq')"))
                .isGreaterThan(last);
        shards.execute("db2", "DROP FUNCTION IF EXISTS shardflake.clock() CASCADE");
    }

    @Test
    void findsASingleByteARowTooFewAndARowTooMany() throws Exception {
        Move move = mover.follow(
                mover.record("db1", "db2", ShardSet.parse("3-5"), "").id());
        // As a bug of replication would, past the fence.
        shards.execute("db2", """
                SET session_replication_role = replica;
                UPDATE shard_0003.account SET note = overlay(note PLACING 'y' FROM 17) WHERE balance = 500;
                DELETE FROM shard_0003.entry WHERE amount = 700;
                INSERT INTO shard_0004.tag VALUES (1, 'extra')
                """);

        Map<Integer, List<TableDifference>> found = mover.verify(move.id(), ShardSet.parse("3-5"));

        assertThat(found).containsOnlyKeys(3, 4);
        List<TableDifference> ofShard3 = found.getOrDefault(3, List.of());
        assertThat(ofShard3)
                .extracting(TableDifference::table)
                .containsExactly("shard_0003.account", "shard_0003.entry");
        assertThat(ofShard3.get(0).different()).hasSize(1);
        assertThat(ofShard3.get(1).missing()).hasSize(1);
        assertThat(found.getOrDefault(4, List.of()).get(0).extra()).containsExactly("(1,extra)");
        assertThat(mover.move(move.id()).shard(3).verified()).isEqualTo(Verified.DIFFERENT);

        assertThatThrownBy(() -> mover.cutOver(move.id(), ShardSet.parse("3-5")))
                .isInstanceOf(CopiesDifferException.class)
                .hasMessageContaining("the copy of shard 3 on db2 differs, so it was not cut over");
        mover.cancel(move.id(), Mover.End.BACK);
    }

    @Test
    void whatIsNotComparedAtTheCutoverIsComparedAfterwards() throws Exception {
        Mover later = shards.mover(AccountShards.uncompared(MoveSettings.DEFAULT.patience()), MoveListener.NONE);
        Move move = later.follow(
                later.record("db1", "db2", ShardSet.parse("3-4"), "").id());
        later.cutOver(move.id(), ShardSet.of(3));
        assertThat(later.move(move.id()).shard(3).verified()).isEqualTo(Verified.NOT_COMPARED);
        assertThatThrownBy(() -> later.cancel(move.id(), Mover.End.KEPT_UNCOMPARED))
                .isInstanceOf(MoveRefusedException.class)
                .hasMessageContaining("copies of shard 3 were not compared since their cutover");
        later.carryOut(move, true);
        assertThat(later.move(move.id()).shards())
                .allSatisfy(shard -> assertThat(shard.verified()).isEqualTo(Verified.ONLINE));
        later.cancel(move.id(), Mover.End.KEPT_UNCOMPARED);
        assertThat(shards.number("db2", "SELECT count(*) FROM shard_0004.account"))
                .isEqualTo(1000);
        assertThat(shards.number("db1", "SELECT count(*) FROM pg_namespace WHERE nspname = 'shard_0004'"))
                .isZero();

        Move wrong = later.follow(later.record("db1", "db2", ShardSet.of(5), "").id());
        shards.execute(
                "db2", "SET session_replication_role = replica; DELETE FROM shard_0005.entry WHERE amount = 700");
        assertThatThrownBy(() -> later.carryOut(wrong, true))
                .isInstanceOf(CopiesDifferException.class)
                .hasMessageContaining("all shards are cut over, but copies of shard 5 differ");
        assertThat(later.move(wrong.id()).shard(5).verified()).isEqualTo(Verified.DIFFERENT);
        assertThatThrownBy(() -> later.complete(wrong.id()))
                .hasMessageContaining("copies of shard 5 differ, so the source's are not removed");
        later.reverse(wrong.id(), ShardSet.of(5));
        later.cancel(wrong.id(), Mover.End.BACK);
        assertThat(shards.number("db1", "SELECT count(*) FROM shard_0005.entry WHERE amount = 700"))
                .isOne();
    }

    /** One that was thought dead, with its connection to the catalog cut in the middle of a cutover, comes back. */
    @Test
    @Tag("full")
    void whoeverComesBackFromTheDeadChangesNothing() throws Exception {
        Move move = mover.follow(mover.record("db1", "db2", ShardSet.of(3), "").id());
        CountDownLatch fenced = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Mover stalled = shards.mover(MoveSettings.DEFAULT, new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                if (step == MoveStep.FENCED) {
                    fenced.countDown();
                    try {
                        goOn.await();
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                }
            }
        });
        CompletableFuture<Throwable> end = CompletableFuture.supplyAsync(() -> {
            try {
                stalled.cutOver(move.id(), ShardSet.of(3));
                return new AssertionError("it should not have gone on");
            } catch (RuntimeException e) {
                return e;
            }
        });
        fenced.await();
        shards.catalogNumber(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'shardflake move' AND datname = current_database()");

        mover.cutOver(move.id(), ShardSet.of(3));
        assertThat(mover.move(move.id()).shard(3).server()).isEqualTo("db2");
        goOn.countDown();
        assertThat(end.get(60, TimeUnit.SECONDS))
                .isInstanceOf(MoveRefusedException.class)
                .hasMessageContaining("has been worked on by another shardflake since");

        isFenced(() -> shards.execute("db1", "INSERT INTO shard_0003.account (uid) VALUES (3)"));
        shards.execute("db2", "INSERT INTO shard_0003.account (uid) VALUES (3)");
        mover.complete(move.id());
    }
}
