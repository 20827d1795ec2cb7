/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.router.Lookup;
import org.shardflake.router.LookupEntry;
import org.shardflake.router.LookupTakenException;
import org.shardflake.router.RetryPolicy;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;

/**
 * Threads fight for values while they die at every step, their sessions are ended, and shards move. No value has two owners at any time,
 * no search finds what nobody holds, and in the end none is blocked and both sides agree.
 */
@Tag("full")
class LookupCrashIT {

    private static final int ROWS_OF_A_THREAD = 4;
    private static final String SESSIONS = "a mortal";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    @TempDir
    static Path directory;

    private static LookupFixture fixture;

    private static final AtomicInteger FIGHTS = new AtomicInteger();

    private LookupHistory history = new LookupHistory();
    /** Each fight is about values of its own. */
    private String prefix = "";

    private final Map<String, LongAdder> outcomes = new TreeMap<>();
    private final AtomicInteger working = new AtomicInteger();
    /** After how many statements threads died. */
    private final Map<Integer, LongAdder> deaths = new TreeMap<>();

    @BeforeAll
    static void create() throws Exception {
        fixture = new LookupFixture(postgres, directory);
        fixture.create();
        fixture.lookups().create(LookupFixture.plan("email", true));
        fixture.lookups().backfill("account.email", BackfillSettings.DEFAULT, rows -> {});
    }

    @Test
    void noValueHasTwoOwnersForAMoment() throws Exception {
        fight(8, 25, 60, 2);
    }

    @Test
    void noValueHasTwoOwners() throws Exception {
        fight(32, 1000, 100, 100);
        fight(32, 20, 40, 100); // Nearly everybody wants what another has.
    }

    private void fight(int threads, int values, int turns, int moves) throws Exception {
        history = new LookupHistory();
        prefix = "v%s-".formatted(FIGHTS.incrementAndGet());
        ExecutorService pool = Executors.newFixedThreadPool(threads + 3);
        try (ShardRouter router = fixture.router()
                .poolSize(threads)
                .retryPolicy(RetryPolicy.DEFAULT.withDeadline(Duration.ofSeconds(10)))
                .customizePools((server, config) -> config.setDataSource(mortal(server.url())))
                .build()) {
            List<Future<?>> fighters = new ArrayList<>();
            working.set(threads);
            for (int thread = 0; thread < threads; thread++) {
                int seed = thread;
                fighters.add(pool.submit(() -> {
                    try {
                        return fight(router, new Random(seed), values, turns);
                    } finally {
                        working.decrementAndGet();
                    }
                }));
            }
            List<Future<?>> others = List.of(
                    pool.submit(() -> search(router, values, turns * threads)),
                    pool.submit(() -> killSessions(turns * threads)),
                    pool.submit(() -> move(moves)));
            for (Future<?> fighter : fighters) {
                fighter.get(9, TimeUnit.MINUTES);
            }
            for (Future<?> other : others) {
                other.get(2, TimeUnit.MINUTES);
            }
            System.out.printf(
                    "%s threads, %s values: %s; deaths at %s; %,d holdings, %,d searches%n",
                    threads, values, outcomes, deaths, history.size(), history.findings());
            assertThat(history.contradictions()).isEmpty();
            requireAgreement(router, values);
        } finally {
            pool.shutdownNow();
        }
    }

    private static MortalDataSource mortal(String url) {
        var source = ServerUrl.parse(url).dataSource();
        source.setApplicationName(SESSIONS);
        return new MortalDataSource(source);
    }

    private Void fight(ShardRouter router, Random random, int values, int turns) throws Exception {
        List<LookupEntry> rows = new ArrayList<>();
        for (int i = 0; i < ROWS_OF_A_THREAD; i++) {
            long uid = random.nextInt(1000);
            rows.add(insert(uid));
        }
        Lookup emails = router.lookup("account.email");
        for (int turn = 0; turn < turns; turn++) {
            LookupEntry row = rows.get(random.nextInt(rows.size()));
            String wanted = random.nextInt(4) == 0 ? null : prefix + random.nextInt(values);
            long begun = history.tick();
            int last = random.nextInt(12);
            if (random.nextInt(3) == 0) {
                MortalDataSource.dieAfter(last);
            }
            String outcome = tryTo(() -> change(router, emails, row, wanted));
            MortalDataSource.revive();
            if (outcome.equals("Death")) {
                count(deaths, last);
            }
            count(outcomes, outcome);
            history.holds(row, read(router, row), begun);
        }
        return null;
    }

    private static synchronized <K> void count(Map<K, LongAdder> counts, K what) {
        counts.computeIfAbsent(what, its -> new LongAdder()).increment();
    }

    @FunctionalInterface
    private interface Attempt {
        void run() throws SQLException;
    }

    private static String tryTo(Attempt attempt) {
        try {
            attempt.run();
            return "done";
        } catch (LookupTakenException e) {
            return "taken";
        } catch (ShardflakeException | SQLException | MortalDataSource.Death e) {
            return e.getClass().getSimpleName();
        }
    }

    private static void change(ShardRouter router, Lookup emails, LookupEntry row, @Nullable String wanted)
            throws SQLException {
        router.<SQLException>run(row.key(), tx -> {
            String had = Sql.list(
                            tx.connection(),
                            tx.sql("SELECT email FROM ${shard.schema}.account WHERE id = ? FOR UPDATE"),
                            column -> column.getString(1),
                            row.id())
                    .get(0);
            emails.change(had, wanted, row.uid(), row.id());
            Sql.list(
                    tx.connection(),
                    tx.sql("UPDATE ${shard.schema}.account SET email = ?::text WHERE id = ? RETURNING id"),
                    column -> column.getLong(1),
                    wanted,
                    row.id());
        });
    }

    private LookupEntry insert(long uid) throws Exception {
        try (ShardRouter router = fixture.router().build()) {
            return new LookupEntry(uid, LookupFixture.insert(router, uid, null));
        }
    }

    /** What a row holds, once every transaction of this thread on it has ended: the row's lock says so. */
    private static @Nullable String read(ShardRouter router, LookupEntry row) throws Exception {
        for (int tried = 1; ; tried++) {
            try {
                return router.<@Nullable String, SQLException>write(
                        row.key(),
                        tx -> Sql.list(
                                        tx.connection(),
                                        tx.sql("SELECT email FROM ${shard.schema}.account WHERE id = ? FOR UPDATE"),
                                        column -> column.getString(1),
                                        row.id())
                                .get(0));
            } catch (ShardflakeException | SQLException e) {
                if (tried > 200) {
                    throw e;
                }
                TimeUnit.MILLISECONDS.sleep(20); // The pool may have more connections that are closed.
            }
        }
    }

    private Void search(ShardRouter router, int values, int times) {
        Random random = new Random(41);
        Lookup emails = router.lookup("account.email");
        for (int i = 0; i < 20 * times && working.get() > 0; i++) {
            String value = prefix + random.nextInt(values);
            long begun = history.tick();
            try {
                history.found(value, begun, emails.find(value));
            } catch (ShardflakeException e) {
                count(outcomes, "search " + e.getClass().getSimpleName());
            }
        }
        return null;
    }

    private Void killSessions(int times) throws Exception {
        Random random = new Random(42);
        for (int i = 0; i < times && working.get() > 0; i++) {
            TimeUnit.MILLISECONDS.sleep(20);
            try (Connection connection = postgres.database(random.nextInt(2)).connect()) {
                Sql.call(
                        connection,
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = ? AND state <> 'idle' ORDER BY random() LIMIT 1",
                        SESSIONS);
            }
        }
        return null;
    }

    private Void move(int times) {
        Random random = new Random(43);
        Mover mover = Mover.at(fixture.catalog(), MoveSettings.DEFAULT, MoveListener.NONE);
        for (int i = 0; i < times && working.get() > 0; i++) {
            int shard = random.nextInt(LookupFixture.SHARDS);
            ShardMap map = ShardCatalog.at(fixture.catalog()).load();
            String from = map.server(shard).name();
            mover.carryOut(
                    mover.beginOrResume(from, from.equals("db1") ? "db2" : "db1", ShardSet.of(shard), "a test"), false);
            count(outcomes, "moved");
        }
        return null;
    }

    /** Rows, claims and records agree, and whoever wants a value gets it or is told who has it. */
    private void requireAgreement(ShardRouter router, int values) throws Exception {
        Map<String, LookupEntry> holders = new HashMap<>();
        for (String row : fixture.all(
                "SELECT concat_ws(' ', email, uid, id) FROM ${shard.schema}.account WHERE email IS NOT NULL")) {
            String[] its = row.split(" ", -1);
            LookupEntry holder = new LookupEntry(Long.parseLong(its[1]), Long.parseLong(its[2]));
            assertThat(holders.put(its[0], holder))
                    .as("another row with %s", row)
                    .isNull();
        }
        assertThat(fixture.lookups().verify("account.email", 2).differences()).isEmpty();
        Lookup emails = router.lookup("account.email");
        LookupEntry another = insert(5);
        for (int i = 0; i < values; i++) {
            String value = prefix + i;
            LookupEntry holder = holders.get(value);
            assertThat(emails.find(value)).as(value).isEqualTo(Optional.ofNullable(holder));
            Optional<LookupEntry> had = claim(router, emails, value, another);
            assertThat(had).as(value).isEqualTo(Optional.ofNullable(holder));
            if (holder == null) {
                router.run(another.key(), tx -> emails.release(value, another.uid(), another.id()));
            }
        }
        assertThat(fixture.lookups().verify("account.email", 2).differences()).isEmpty();
    }

    /** Who held the value. */
    private static Optional<LookupEntry> claim(ShardRouter router, Lookup emails, String value, LookupEntry row) {
        try {
            router.run(row.key(), tx -> emails.claim(value, row.uid(), row.id()));
            return Optional.empty();
        } catch (LookupTakenException e) {
            return Optional.of(e.holder());
        }
    }
}
