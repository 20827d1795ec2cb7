/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.shardflake.Server;
import org.shardflake.ShardSet;
import org.shardflake.changes.ChangeStream;
import org.shardflake.changes.ChangeStreamStatus;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.cluster.PostgresStandby;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.doctor.Doctor;
import org.shardflake.doctor.Finding;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.CopiesDifferException;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.move.server.MoveServer;
import org.shardflake.replication.Replication;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;
import org.shardflake.split.SplitListener;
import org.shardflake.split.SplitStep;
import org.shardflake.split.Splitter;

/** A server is split by its standby, under load, with deaths on the way. */
class SplitterIT {

    private static final int SHARDS = 8;
    private static final ShardSet MOVING = ShardSet.parse("1,4-6");

    /** The database of shards, not postgres: PostgreSQL's own is that of nobody. */
    private static final String DATABASE = "accounts";

    @TempDir
    static Path directory;

    @SuppressWarnings("NullAway.Init") // by start
    private static PostgresCluster cluster;

    @SuppressWarnings("NullAway.Init") // by start
    private static AccountShards shards;

    /** Ends a run as a kill does: nothing is tidied up, connections close. */
    private static final class Killed extends Error {
        private static final long serialVersionUID = 1L;
    }

    @BeforeAll
    static void start() throws Exception {
        cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(2)
                .setting("wal_retrieve_retry_interval", "200ms")
                .start();
        for (PostgresServer server : cluster.servers()) {
            execute(server, "postgres", "CREATE DATABASE " + DATABASE);
        }
        shards = AccountShards.of(
                List.of(TestDatabase.existing(cluster.server(0), DATABASE)),
                TestDatabase.existing(cluster.server(1), DATABASE));
        shards.deploy(SHARDS, directory);
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    private static void execute(PostgresServer server, String database, String sql) throws SQLException {
        try (Connection connection = server.connect(database);
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** A standby of db1, which a split calls db2. */
    private static final class Half {
        final PostgresStandby standby;
        final AccountShards both;

        Half() throws SQLException {
            standby = cluster.standbyOf(cluster.server(0));
            standby.awaitReplay();
            both = AccountShards.of(
                    List.of(
                            TestDatabase.existing(cluster.server(0), DATABASE),
                            TestDatabase.existing(standby, DATABASE)),
                    TestDatabase.existing(cluster.server(1), DATABASE));
        }

        SplitRequest request() {
            return request(standby.uri(DATABASE));
        }

        static SplitRequest request(String uri) {
            return new SplitRequest("db1", new Server("db2", uri), ServerUrl.parse(uri), MOVING, "a test");
        }

        Splitter splitter(SplitListener listener) {
            return new Splitter(
                    both.catalogUrl(), name -> new MoveServer(name, both.url(name)), MoveSettings.DEFAULT, listener);
        }

        /** As the command makes it. */
        Mover mover() {
            return both.mover(AccountShards.uncompared(MoveSettings.DEFAULT.patience()), MoveListener.NONE);
        }

        /** What the command does. */
        void split(SplitListener listener, boolean keep) {
            long id = splitter(listener).promote(request());
            if (mover().moves().stream().anyMatch(move -> move.id() == id)) {
                mover().carryOut(mover().move(id), keep);
            }
            if (!keep) {
                splitter(listener).finish(id);
            }
        }

        void giveUp() {
            Splitter splitter = splitter(SplitListener.NONE);
            splitter.cancel(
                    splitter.begun("db1", "db2").orElseThrow().move(), request().standby());
        }

        /** It was not promoted, or is of no use. */
        void discard() throws SQLException {
            standby.stop();
            execute(
                    cluster.server(0),
                    DATABASE,
                    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_type = 'physical'");
        }

        /** All shards are on db1 again, and there is no db2. */
        void undo() throws SQLException {
            if (both.catalogNumber("SELECT count(*) FROM shardflake_catalog.server") > 1) {
                if (mover().moves().isEmpty()) {
                    Mover back = mover();
                    // From the promoted standby, as from any server.
                    back.carryOut(back.record("db2", "db1", MOVING, "back"), false);
                }
                shards.catalog().removeServer("db2", "a test");
            }
            discard();
        }
    }

    private interface Work {
        void happen(AccountLoad load) throws Exception;
    }

    private static void underLoad(boolean outages, Work work) throws Exception {
        for (int shard = 0; shard < SHARDS; shard++) {
            shards.execute(
                    "db1",
                    String.format(
                            Locale.ROOT, "TRUNCATE shard_%1$04d.account, shard_%1$04d.entry, shard_%1$04d.tag", shard));
        }
        try (ShardRouter router = shards.router().build()) {
            ShardSet all = ShardSet.range(0, SHARDS - 1);
            AccountLoad load =
                    outages ? AccountLoad.startWithOutages(router, all, 4, 10) : AccountLoad.start(router, all, 4, 10);
            try {
                load.awaitMore(300);
                work.happen(load);
                load.awaitMore(300);
            } finally {
                load.close();
            }
            assertThat(load.failures()).isEmpty();
        }
    }

    private static void expectSplit(Half half, AccountLoad load) throws SQLException {
        assertThat(load.compare(half.both)).isEmpty();
        assertThat(half.both.leftovers("db1") + half.both.leftovers("db2")).isZero();
        assertThat(half.both.catalogNumber("SELECT count(*) FROM shardflake_catalog.split"))
                .isZero();
        String present = "SELECT count(*) FROM pg_namespace WHERE nspname ~ '^shard_[0-9]{4}$'";
        assertThat(half.both.number("db1", present)).isEqualTo(SHARDS - MOVING.size());
        assertThat(half.both.number("db2", present)).isEqualTo(MOVING.size());
        assertThat(half.both.number("db1", "SELECT count(*) FROM pg_replication_slots"))
                .isZero();
        assertThat(half.both.number("db2", "SELECT count(*) FROM shardflake.placement WHERE NOT here"))
                .isZero();
    }

    @Test
    void aServerIsSplitUnderLoadWithADeathOnTheWay() throws Exception {
        split(List.of(SplitStep.PROMOTED));
    }

    @Test
    @Tag("full")
    void aServerIsSplitUnderLoadWithDeathsOnTheWay() throws Exception {
        split(List.of(SplitStep.CUT_OFF, SplitStep.PROMOTED, SplitStep.CLOSED));
    }

    private static void split(List<SplitStep> deaths) throws Exception {
        Half half = new Half();
        execute(
                cluster.server(0),
                DATABASE,
                "CREATE SUBSCRIPTION idle CONNECTION 'dbname=none' PUBLICATION none WITH (connect = false)");
        AccountLoad[] loads = new AccountLoad[1];
        ChangeStream changes =
                new ChangeStream(shards.catalogUrl(), server -> half.both.url(server.name()), voice -> {});
        changes.create();
        half.standby.awaitReplay();
        underLoad(false, load -> {
            loads[0] = load;
            // A standby with standbys of its own would take them along.
            execute(half.standby, "postgres", "SELECT pg_create_physical_replication_slot('its_own')");
            refused(half, half.standby.uri(DATABASE), "standby-has-standbys");
            execute(half.standby, "postgres", "SELECT pg_drop_replication_slot('its_own')");
            for (SplitStep step : deaths) {
                assertThatThrownBy(() -> half.split(killed(step), false)).isInstanceOf(Killed.class);
            }
            // The standby has only copies, so it must not publish them.
            half.split(at(SplitStep.MOVE_RECORDED, () -> expectCurrent(changes)), false);
        });
        expectCurrent(changes);
        changes.drop();
        expectSplit(half, loads[0]);
        assertThat(half.both.number("db2", "SELECT count(*) FROM pg_subscription"))
                .isZero();
        execute(cluster.server(0), DATABASE, "ALTER SUBSCRIPTION idle SET (slot_name = NONE); DROP SUBSCRIPTION idle");
        assertThat(applicationUrlFindings(half, "db2", "db1"))
                .hasSize(2)
                .allMatch(found -> found.contains("leads to a copy"));
        assertThat(applicationUrlFindings(half, "db1", "db2")).isEmpty();
        half.undo();
    }

    private static void expectCurrent(ChangeStream changes) {
        assertThat(changes.status()).hasSize(2).allMatch(ChangeStreamStatus::isCurrent);
    }

    /** What the doctor says of URLs for applications that lead to these servers. */
    private static List<String> applicationUrlFindings(Half half, String ofFirst, String ofSecond)
            throws InterruptedException {
        Map<String, ServerUrl> urls = Map.of("db1", half.both.url("db1"), "db2", half.both.url("db2"));
        Map<String, ServerUrl> forApplications = Map.of("db1", half.both.url(ofFirst), "db2", half.both.url(ofSecond));
        return new Doctor(half.both.catalogUrl(), urls, forApplications, half.mover(), Set.of(), ServerUrl::parse)
                .examine().stream()
                        .filter(finding -> finding.check().equals("application-url"))
                        .map(Finding::toString)
                        .toList();
    }

    /** A listener that does something when a step is first reached. */
    private static SplitListener at(SplitStep step, Runnable action) {
        AtomicBoolean armed = new AtomicBoolean(true);
        return new SplitListener() {
            @Override
            public void reached(SplitStep reached) {
                if (reached == step && armed.getAndSet(false)) {
                    action.run();
                }
            }
        };
    }

    private static SplitListener killed(SplitStep step) {
        return at(step, () -> {
            throw new Killed();
        });
    }

    private static SplitListener crashed(SplitStep step, PostgresServer server) {
        // On a thread of its own: that of the work may be interrupted.
        return at(
                step,
                () -> CompletableFuture.runAsync(() -> {
                            server.crash();
                            server.start();
                        })
                        .join());
    }

    private static PostgresServer server(String victim, Half half) {
        return switch (victim) {
            case "source" -> cluster.server(0);
            case "catalog" -> cluster.server(1);
            case "standby" -> half.standby;
            default -> throw new IllegalArgumentException(victim);
        };
    }

    /** Each of them needs a standby of its own. */
    @ParameterizedTest
    @Tag("full")
    @MethodSource("deaths")
    void aDeathIsSurvivedOrRefused(SplitStep step, String victim) throws Exception {
        String outcome = outcome(step, victim);
        System.out.printf("%s, %s: %s%n", step, victim, outcome);
        boolean cannotTell = step == SplitStep.PROMOTED && victim.equals("standby");
        assertThat(outcome.contains("refused")).as(outcome).isEqualTo(cannotTell);
    }

    /** All 36 take ten minutes. Without {@code -Dsplit.deaths=all} someone dies at each step, and everybody at the promotion. */
    private static Stream<Arguments> deaths() {
        List<SplitStep> steps = List.of(SplitStep.values());
        List<String> victims = List.of("tool", "source", "standby", "catalog");
        boolean all = "all".equals(System.getProperty("split.deaths"));
        return IntStream.range(0, steps.size())
                .boxed()
                .flatMap(i -> victims.stream()
                        .filter(victim -> all
                                || steps.get(i) == SplitStep.PROMOTED
                                || victim.equals(victims.get(i % victims.size())))
                        .map(victim -> Arguments.of(steps.get(i), victim)));
    }

    private static String outcome(SplitStep step, String victim) throws Exception {
        Half half = new Half();
        AccountLoad[] loads = new AccountLoad[1];
        List<String> how = new ArrayList<>();
        underLoad(!victim.equals("tool"), load -> {
            loads[0] = load;
            try {
                half.split(victim.equals("tool") ? killed(step) : crashed(step, server(victim, half)), false);
                how.add("went on");
            } catch (Killed | RuntimeException e) {
                how.add("run again");
                try {
                    half.split(SplitListener.NONE, false);
                } catch (MoveRefusedException refused) {
                    how.add("refused: " + refused.getMessage());
                    half.giveUp();
                }
            }
        });
        if (how.size() < 2) {
            expectSplit(half, loads[0]);
        } else {
            assertThat(loads[0].compare(half.both)).isEmpty();
            assertThat(half.both.leftovers("db1")).isZero();
            assertThat(half.both.catalogNumber("SELECT count(*) FROM shardflake_catalog.server"))
                    .isOne();
        }
        half.undo();
        return String.join(", ", how);
    }

    @Test
    @Tag("full")
    void aSplitGivenUpBeforeThePromotionLeavesNothing() throws Exception {
        Half half = new Half();
        for (SplitStep step : List.of(SplitStep.SLOT_CREATED, SplitStep.CUT_OFF)) {
            assertThatThrownBy(() -> half.split(killed(step), false)).isInstanceOf(Killed.class);
            Split split = half.splitter(SplitListener.NONE).begun("db1", "db2").orElseThrow();
            // As if killed before it told the standby to read this.
            execute(half.standby, "postgres", "ALTER SYSTEM SET autovacuum = off");
            Server source = half.both.catalog().load().server("db1");
            assertThatThrownBy(() -> Splitter.requireNotNeeded(half.both.catalogUrl(), source))
                    .isInstanceOf(MoveRefusedException.class)
                    .hasMessage("db1 is being split, into db2");
            assertThat(half.splitter(SplitListener.NONE)
                            .cancel(split.move(), half.request().standby()))
                    .isEqualTo(Splitter.Cancelled.STANDBY_AS_BEFORE);
            assertThat(half.both.leftovers("db1")).isZero();
            half.standby.awaitReplay();
            assertThat(
                            half.both.number(
                                    "db2",
                                    "SELECT count(*) FROM pg_settings WHERE sourcefile LIKE '%auto.conf' AND name <> 'primary_slot_name'"))
                    .isZero();
        }
        assertThat(half.both.number("db1", "SELECT count(*) FROM pg_replication_slots WHERE active"))
                .isOne();
        half.discard();
    }

    /** Nobody can keep a client that asks for it from writing in that moment, but it is noticed. */
    @Test
    @Tag("full")
    void aWriteBetweenPromotionAndFenceIsFound() throws Exception {
        Half half = new Half();
        assertThatThrownBy(() -> half.split(at(SplitStep.PROMOTED, () -> writeThere(half)), false))
                .isInstanceOf(MoveRefusedException.class)
                .hasMessageContaining("was written to by someone else after its promotion");
        half.giveUp();
        assertThat(half.both.catalogNumber("SELECT count(*) FROM shardflake_catalog.server"))
                .isOne();
        assertThat(half.both.leftovers("db1")).isZero();
        half.discard();
    }

    private static void writeThere(Half half) {
        String insert = "INSERT INTO shard_0001.tag VALUES (1, 'stray')";
        try {
            assertThatThrownBy(() -> execute(half.standby, DATABASE, insert))
                    .hasMessageContaining("cannot execute INSERT in a read-only transaction");
            execute(half.standby, DATABASE, "BEGIN READ WRITE; %s; COMMIT".formatted(insert));
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    /** Comparing would find that the copies are older, and refuse to remove them. */
    @Test
    @Tag("full")
    void aSplitWhoseSlotIsLostEndsAsItsRefusalSays() throws Exception {
        Half half = new Half();
        half.both.execute("db1", "INSERT INTO shard_0001.tag VALUES (7, 'before')");
        half.standby.awaitReplay();
        assertThatThrownBy(() -> half.split(killed(SplitStep.MOVE_RECORDED), false))
                .isInstanceOf(Killed.class);
        half.both.execute(
                "db1",
                "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_type = 'logical'");
        half.both.execute("db1", "UPDATE shard_0001.tag SET name = 'after' WHERE account_id = 7");
        MoveRefusedException refused =
                catchThrowableOfType(MoveRefusedException.class, () -> half.split(SplitListener.NONE, false));
        long id = half.mover().moves().get(0).id();
        assertThat(refused).hasMessageContaining("has lost the replication slot");
        assertThat(refused.hint().orElse("")).contains("move cancel %s --uncompared".formatted(id));

        assertThatThrownBy(() -> half.mover().cancel(id, Mover.End.BACK)).isInstanceOf(CopiesDifferException.class);
        half.mover().cancel(id, Mover.End.BACK_UNCOMPARED);
        half.splitter(SplitListener.NONE).finish(id);

        assertThat(half.both.leftovers("db1")).isZero();
        assertThat(half.both.number("db1", "SELECT count(*) FROM shard_0001.tag WHERE account_id = 7"))
                .isOne();
        half.both.catalog().removeServer("db2", "a test");
        half.discard();
    }

    @Test
    @Tag("full")
    void aSplitThatWasNeverComparedEndsThoughTheWayBackIsLost() throws Exception {
        Half half = new Half();
        half.both.execute("db1", "INSERT INTO shard_0001.tag VALUES (8, 'before')");
        half.standby.awaitReplay();
        long id = half.splitter(SplitListener.NONE).promote(half.request());
        half.mover().follow(id);
        half.mover().cutOver(id, MOVING);
        try (Connection db2 = half.standby.connect(DATABASE)) {
            Replication.dropSlot(db2, "shardflake_" + half.mover().move(id).tag() + "_reverse");
        }
        half.both.execute("db2", "INSERT INTO shard_0001.tag VALUES (9, 'after')");

        half.mover().cancel(id, Mover.End.KEPT_UNCOMPARED);
        List<String> told = new CopyOnWriteArrayList<>();
        try (Connection holder = half.standby.connect(DATABASE)) {
            holder.setAutoCommit(false);
            Sql.execute(holder, "LOCK TABLE shard_0000.tag IN ACCESS SHARE MODE");
            assertThatThrownBy(() -> hasty(half, told).finish(id))
                    .hasMessageContaining("the copy of shard 0 on db2 is left");
        }
        assertThat(told).anyMatch(line -> line.startsWith("the copy of shard 0 on db2 is left, since sessions there"));
        half.splitter(SplitListener.NONE).finish(id);

        assertThat(half.both.number("db2", "SELECT count(*) FROM shard_0001.tag WHERE account_id IN (8, 9)"))
                .isEqualTo(2);
        assertThat(half.both.leftovers("db1") + half.both.leftovers("db2")).isZero();
        assertThat(half.both.catalogNumber("SELECT count(*) FROM shardflake_catalog.split"))
                .isZero();
        half.undo();
    }

    @Test
    @Tag("full")
    void whatIsNoStandbyOfItIsRefused() throws Exception {
        Half half = new Half();
        refused(half, shards.catalogDatabase().uri(), "is not a standby, but a primary");
        refused(half, half.standby.uriOfBoth(DATABASE), "are several hosts");
        refused(half, half.standby.uri("postgres"), "the URL names another database");
        PostgresStandby others = cluster.standbyOf(cluster.server(1));
        refused(half, others.uri(DATABASE), "is not a standby of db1");
        others.stop();
        AccountShards known = half.both;
        String url = known.catalog().load().server("db1").url();
        known.executeInCatalog(
                "UPDATE shardflake_catalog.server SET url = '%s'".formatted(half.standby.uriOfBoth(DATABASE)));
        refused(half, half.standby.uri(DATABASE), "the URL of db1 names");
        known.executeInCatalog("UPDATE shardflake_catalog.server SET url = '%s'".formatted(url));
        execute(cluster.server(0), "postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'");
        execute(cluster.server(0), "postgres", "SELECT pg_reload_conf()");
        known.await("db1", "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", 1);
        refused(half, half.standby.uri(DATABASE), "commits on db1 wait for");
        execute(cluster.server(0), "postgres", "ALTER SYSTEM RESET synchronous_standby_names");
        execute(cluster.server(0), "postgres", "SELECT pg_reload_conf()");
        half.discard();
    }

    @Test
    @Tag("full")
    void waitsOfASplitHaveAVoiceAndObeyPatience() throws Exception {
        Half half = new Half();
        List<String> told = new CopyOnWriteArrayList<>();
        Splitter hasty = hasty(half, told);
        try (Connection holder = half.both.catalogUrl().connect("a long change")) {
            holder.setAutoCommit(false);
            Sql.execute(holder, "SELECT FROM shardflake_catalog.installation FOR UPDATE");
            expectWait(hasty, half, "the catalog waited \\d+ s for .*\\(a long change\\).*");
        }
        try (Connection holder = half.both.url("db1").connect("a long report")) {
            holder.setAutoCommit(false);
            Sql.execute(holder, "INSERT INTO shard_0001.tag VALUES (10, 'before')");
            expectWait(hasty, half, "db1 waited \\d+ s for .*\\(a long report\\).*");
        }
        half.standby.pauseReplay();
        expectWait(hasty, half, "db2 does not get what db1 writes, or not soon enough.*");
        half.standby.resumeReplay();
        assertThat(told)
                .anyMatch(line -> line.startsWith("the catalog waits for ") && line.contains("(a long change)"))
                .anyMatch(line -> line.startsWith("db1 waits for ") && line.contains("(a long report)"))
                .anyMatch(line -> line.startsWith("db2 waits for what db1 writes"));

        half.giveUp();
        assertThat(half.both.leftovers("db1")).isZero();
        half.discard();
    }

    private static Splitter hasty(Half half, List<String> told) {
        return new Splitter(
                half.both.catalogUrl(),
                name -> new MoveServer(name, half.both.url(name)),
                AccountShards.uncompared(Duration.ofSeconds(3)),
                new SplitListener() {
                    @Override
                    public void waits(String what) {
                        told.add(what);
                    }
                });
    }

    private static void expectWait(Splitter splitter, Half half, String message) {
        assertThatThrownBy(() -> splitter.promote(half.request()))
                .isInstanceOf(MoveException.class)
                .hasMessageMatching(message);
    }

    private static void refused(Half half, String standby, String why) {
        assertThatThrownBy(() -> half.splitter(SplitListener.NONE).promote(Half.request(standby)))
                .isInstanceOf(MoveRefusedException.class)
                .hasMessageContaining(why);
    }
}
