/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.zaxxer.hikari.HikariConfig;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.cluster.PostgresExtension;

@Timeout(60)
class ShardConnectionsTest {

    private static final int SHARDS = 400;
    private static final int SIZE = 4;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1);

    private static HikariConfig config(int size, int timeoutMillis) {
        HikariConfig config = new HikariConfig();
        config.setPoolName("test");
        config.setJdbcUrl(postgres.database(0).jdbcUrl());
        config.setUsername(postgres.database(0).user());
        config.setPassword(postgres.database(0).password());
        config.setMaximumPoolSize(size);
        config.setConnectionTimeout(timeoutMillis);
        config.setInitializationFailTimeout(-1);
        return config;
    }

    private static ShardConnections connections(int size, int timeoutMillis) {
        ShardConnections connections = new ShardConnections(config(size, timeoutMillis), true);
        await().atMost(Duration.ofMinutes(1))
                .pollInterval(Duration.ofMillis(5))
                .until(() -> connections.idle() == size);
        return connections;
    }

    private static int pid(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT pg_backend_pid()")) {
            row.next();
            return row.getInt(1);
        }
    }

    private static int use(ShardConnections connections, int shard) throws SQLException {
        ShardConnections.Loan loan = connections.lend(shard);
        try {
            return pid(loan.connection());
        } finally {
            loan.giveBack(true);
        }
    }

    @Test
    void aShardGetsItsConnectionAgainAndAllConnectionsHaveTheirShare() throws Exception {
        try (ShardConnections connections = connections(SIZE, 5000)) {
            List<Integer> first = new ArrayList<>();
            for (int shard = 0; shard < SHARDS; shard += 2) {
                first.add(use(connections, shard));
            }
            for (int shard = SHARDS - 2; shard >= 0; shard -= 2) {
                assertThat(use(connections, shard)).isEqualTo(first.get(shard / 2));
            }
            for (int pid : new HashSet<>(first)) {
                assertThat(first.stream().filter(other -> other == pid)).hasSizeBetween(45, 55);
            }
        }
    }

    /** Both connections have served both shards, so either would do for the one that has waited longer. */
    @Test
    void whenAllAreBusyAReturnedConnectionGoesToTheShardThatIsAtHomeThere() throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        try (ShardConnections connections = connections(2, 5000)) {
            int other = otherHome(connections, 0);
            busy(connections, threads);
            long apart;
            do {
                ShardConnections.Loan first = connections.lend(0);
                ShardConnections.Loan second = connections.lend(other);
                long start = System.nanoTime();
                Future<ShardConnections.Loan> earlier = waiting(connections, threads, other);
                Future<ShardConnections.Loan> later = waiting(connections, threads, 0);
                apart = System.nanoTime() - start;
                Connection home = first.connection().unwrap(Connection.class);
                first.giveBack(true);
                if (apart
                        < TimeUnit.MILLISECONDS.toNanos(
                                5)) { // Else the machine was slow, and the wait longer than usual.
                    assertThat(later.get().connection().unwrap(Connection.class))
                            .isSameAs(home);
                }
                second.giveBack(true);
                earlier.get().giveBack(true);
                later.get().giveBack(true);
            } while (apart >= TimeUnit.MILLISECONDS.toNanos(5));
        } finally {
            threads.shutdownNow();
        }
    }

    /** A shard with another home; both have been served by both connections then. */
    private static int otherHome(ShardConnections connections, int shard) throws SQLException {
        int home = use(connections, shard);
        int other = shard + 1;
        while (use(connections, other) == home) {
            other++;
        }
        for (int one : List.of(shard, other)) {
            ShardConnections.Loan held = connections.lend(one);
            use(connections, one);
            held.giveBack(true);
        }
        return other;
    }

    /** Lets many threads wait for longer than usual. */
    private static void busy(ShardConnections connections, ExecutorService threads) throws Exception {
        ShardConnections.Loan first = connections.lend(0);
        ShardConnections.Loan second = connections.lend(0);
        List<Future<ShardConnections.Loan>> waiting = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            waiting.add(waiting(connections, threads, 0));
        }
        TimeUnit.NANOSECONDS.sleep(2 * ShardConnections.HOMES_NANOS);
        first.giveBack(true);
        second.giveBack(true);
        for (Future<ShardConnections.Loan> loan : waiting) {
            loan.get().giveBack(true);
        }
    }

    /** A thread that waits for a connection. */
    private static Future<ShardConnections.Loan> waiting(
            ShardConnections connections, ExecutorService threads, int shard) {
        int before = connections.waiting();
        Future<ShardConnections.Loan> loan = threads.submit(() -> connections.lend(shard));
        while (connections.waiting() == before) {
            Thread.onSpinWait();
        }
        return loan;
    }

    @Test
    void aThreadThatHoldsTheHomeOfAShardGetsAnotherConnection() throws Exception {
        try (ShardConnections connections = connections(2, 5000)) {
            for (int shard = 0; shard < SHARDS; shard++) {
                use(connections, shard);
            }
            ShardConnections.Loan outer = connections.lend(7);
            long start = System.nanoTime();
            int inner = use(connections, 7);

            assertThat(inner).isNotEqualTo(pid(outer.connection()));
            assertThat(System.nanoTime() - start).isLessThan(TimeUnit.SECONDS.toNanos(2));
            outer.giveBack(true);
        }
    }

    @Test
    void whenAllAreLentAWaiterGivesUpAfterTheTimeout() throws Exception {
        try (ShardConnections connections = connections(1, 300)) {
            ShardConnections.Loan only = connections.lend(1);
            long start = System.nanoTime();

            assertThatThrownBy(() -> connections.lend(2)).isInstanceOf(SQLException.class);

            assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start)).isBetween(290L, 3000L);
            assertThat(connections.waiting()).isZero();
            only.giveBack(true);
            only.giveBack(true);
            assertThat(connections.active()).isZero();
            use(connections, 2);
        }
    }

    /** HikariCP alone would never open another connection: it has not read the isolation level, and takes it for known. */
    @Test
    void aConnectionThatIsLostWhileItIsSetUpIsFollowedByAnother() throws Exception {
        AtomicInteger opened = new AtomicInteger();
        PGSimpleDataSource source = new PGSimpleDataSource() {
            @Override
            public Connection getConnection(String user, String password) throws SQLException {
                Connection connection = super.getConnection(user, password);
                if (opened.getAndIncrement() == 0) {
                    try (Connection admin = postgres.database(0).connect();
                            Statement statement = admin.createStatement()) {
                        statement.execute("SELECT pg_terminate_backend(%s, 10000)".formatted(pid(connection)));
                    }
                }
                return connection;
            }
        };
        source.setUrl(postgres.database(0).jdbcUrl());
        HikariConfig config = config(1, 1000);
        config.setJdbcUrl(null);
        config.setDataSource(source);
        config.setMinimumIdle(0);
        try (ShardConnections connections = new ShardConnections(config, true)) {
            assertThatThrownBy(() -> use(connections, 1)).isInstanceOf(SQLException.class);
            use(connections, 1);
        }
    }

    /** The server refuses some of the connections, as if others had taken them. */
    @Test
    void connectionsThatCannotBeOpenedKeepNobodyWaitingForThoseThatCan() throws Exception {
        try (Connection admin = postgres.database(0).connect();
                Statement statement = admin.createStatement()) {
            statement.execute("CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT 2");
        }
        HikariConfig config = config(SIZE, 5000);
        config.setUsername("few");
        config.setPassword("few");
        ExecutorService threads = Executors.newCachedThreadPool();
        try (ShardConnections connections = new ShardConnections(config, true)) {
            await().atMost(Duration.ofMinutes(1)).until(() -> connections.idle() == 2);
            List<Future<Integer>> used = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                int first = i;
                used.add(threads.submit(() -> {
                    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(300);
                    int slowest = 0;
                    for (int shard = first; System.nanoTime() < end; shard = (shard + 7) % SHARDS) {
                        long start = System.nanoTime();
                        use(connections, shard);
                        slowest = Math.max(slowest, (int) TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - start));
                    }
                    return slowest;
                }));
            }
            for (Future<Integer> slowest : used) {
                assertThat(slowest.get()).isLessThan(2500);
            }
        } finally {
            threads.shutdown();
            try (Connection admin = postgres.database(0).connect();
                    Statement statement = admin.createStatement()) {
                statement.execute("DROP ROLE few");
            }
        }
    }

    /** In a failover, the server comes back before the timeout. */
    @Test
    void aThreadWaitsAsLongAsItMayWhenTheLastOpenConnectionIsLost() throws Exception {
        ExecutorService threads = Executors.newCachedThreadPool();
        try (Connection admin = postgres.database(0).connect();
                Statement statement = admin.createStatement()) {
            statement.execute("CREATE ROLE failing LOGIN PASSWORD 'failing' CONNECTION LIMIT 1");
            HikariConfig config = config(2, 5000);
            config.setUsername("failing");
            config.setPassword("failing");
            try (ShardConnections connections = new ShardConnections(config, true)) {
                await().atMost(Duration.ofMinutes(1)).until(() -> connections.idle() == 1);
                ShardConnections.Loan open = connections.lend(0);
                Future<Integer> waiting = threads.submit(() -> use(connections, 1));
                await().atMost(Duration.ofMinutes(1))
                        .pollInterval(Duration.ofMillis(1))
                        .until(() -> connections.waiting() > 0);
                statement.execute("ALTER ROLE failing CONNECTION LIMIT 0");
                open.giveBack(false);
                Thread.sleep(300); // So long that an impatient one has given up.
                assertThat(waiting).isNotDone();
                statement.execute("ALTER ROLE failing CONNECTION LIMIT 2");

                assertThat(waiting.get()).isPositive();
            } finally {
                statement.execute("DROP ROLE failing");
            }
        } finally {
            threads.shutdown();
        }
    }

    @Test
    void aConnectionThatHasReadTooManyTablesIsReplaced() throws Exception {
        List<Integer> shards = IntStream.range(0, 600).boxed().toList();
        try (ShardConnections connections = connections(1, 5000)) {
            List<Integer> pids = new ArrayList<>();
            for (String query : List.of("of photos", "of photos", "of likes", "of photos")) {
                ShardConnections.Loan loan = connections.lend(ShardConnections.NO_SHARD);
                loan.reads(query, shards);
                loan.connection().setReadOnly(true);
                loan.connection().setAutoCommit(false);
                pids.add(pid(loan.connection()));
                loan.giveBack(true);
            }
            assertThat(pids.get(1)).isEqualTo(pids.get(0));
            assertThat(pids.get(2)).isEqualTo(pids.get(0));
            assertThat(pids.get(3)).isNotEqualTo(pids.get(0));
        }
    }

    /** A new connection to a pooler would get the same sessions, so it would only cost its opening. */
    @Test
    void behindAPoolerAConnectionServesAnyNumberOfShards() throws Exception {
        try (ShardConnections connections = new ShardConnections(config(SIZE, 5000), false)) {
            await().atMost(Duration.ofMinutes(1)).until(() -> connections.idle() == SIZE);
            Set<Integer> pids = new HashSet<>();
            for (int shard = 0; shard < SHARDS; shard++) {
                pids.add(use(connections, shard));
            }
            assertThat(pids).hasSize(1);
        }
    }

    @Test
    void aCloseWakesThoseWhoWait() throws Exception {
        ShardConnections connections = connections(1, 30_000);
        ShardConnections.Loan only = connections.lend(1);
        ExecutorService threads = Executors.newCachedThreadPool();
        Future<?> waiting = threads.submit(() -> connections.lend(2));
        await().atMost(Duration.ofMinutes(1)).until(() -> connections.waiting() == 1);

        threads.execute(connections::close);

        assertThatThrownBy(waiting::get).hasMessageContaining("the connections are closed");
        only.giveBack(true);
        threads.shutdown();
    }

    /** A thread that a connection was handed to, but that was not woken, waits until the timeout: each lends a few times only, so no other wakes it. */
    @Test
    void everyThreadIsWokenForItsConnectionThoughOthersInterruptIt() throws Exception {
        long seed = System.nanoTime();
        ExecutorService threads = Executors.newCachedThreadPool();
        try (ShardConnections connections = connections(SIZE, 15_000)) {
            for (int round = 0; round < 100; round++) {
                Deque<Thread> lending = new ConcurrentLinkedDeque<>();
                List<Future<?>> running = new ArrayList<>();
                for (int i = 0; i < 12; i++) {
                    Random random = new Random(seed + 100L * round + i);
                    running.add(threads.submit(() -> {
                        for (int times = 1 + random.nextInt(4); times > 0; times--) {
                            lendOnce(connections, random, lending);
                        }
                        return null;
                    }));
                }
                for (Future<?> one : running) {
                    one.get();
                }
                assertThat(connections.active()).as("seed %s", seed).isZero();
                assertThat(connections.waiting()).isZero();
            }
            lendAll(connections);
        } finally {
            threads.shutdown();
        }
    }

    private static void lendAll(ShardConnections connections) throws SQLException {
        List<ShardConnections.Loan> all = new ArrayList<>();
        for (int i = 0; i < SIZE; i++) {
            all.add(connections.lend(i));
        }
        for (ShardConnections.Loan loan : all) {
            loan.giveBack(true);
        }
    }

    private static void lendOnce(ShardConnections connections, Random random, Deque<Thread> lending)
            throws SQLException {
        lending.add(Thread.currentThread());
        try {
            ShardConnections.Loan loan = connections.lend(random.nextInt(8)); // So few that each takes any connection.
            Thread other = random.nextInt(5) == 0 ? lending.pollLast() : null;
            if (other != null) {
                other.interrupt();
            }
            pid(loan.connection()); // Long enough for others to wait.
            loan.giveBack(true);
        } catch (SQLException e) {
            assertThat(e.getCause()).isInstanceOf(InterruptedException.class);
        } finally {
            lending.remove(Thread.currentThread());
            Thread.interrupted();
        }
    }

    /** Threads that hold one or two, are interrupted, lose their connection, or work on no shard. */
    @Test
    void noConnectionIsLentTwiceOrLostUnderRandomLoad() throws Exception {
        long seed = System.nanoTime();
        Set<Integer> lent = ConcurrentHashMap.newKeySet();
        AtomicInteger done = new AtomicInteger();
        try (ShardConnections connections = connections(SIZE, 5000)) {
            ExecutorService threads = Executors.newCachedThreadPool();
            long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(1500);
            List<Future<?>> running = new ArrayList<>();
            for (int i = 0; i < 16; i++) {
                Random random = new Random(seed + i);
                boolean mayHoldTwo = i < SIZE - 1; // One is left for each of them in turn.
                running.add(threads.submit(() -> {
                    while (System.nanoTime() < end) {
                        work(connections, random, lent, mayHoldTwo);
                        done.incrementAndGet();
                    }
                    return null;
                }));
            }
            for (Future<?> one : running) {
                one.get();
            }
            threads.shutdown();

            assertThat(done).as("seed %s", seed).hasValueGreaterThan(100);
            assertThat(lent).isEmpty();
            assertThat(connections.waiting()).isZero();
            await().atMost(Duration.ofMinutes(1))
                    .pollInterval(Duration.ofMillis(5))
                    .untilAsserted(() -> assertThat(connections.idle()).isEqualTo(SIZE));
            assertThat(connections.active()).isZero();
            lendAll(connections);
        }
    }

    private static void work(ShardConnections connections, Random random, Set<Integer> lent, boolean mayHoldTwo)
            throws SQLException {
        int shard = random.nextInt(20) == 0 ? ShardConnections.NO_SHARD : random.nextInt(SHARDS);
        if (random.nextInt(30) == 0) {
            Thread.currentThread().interrupt();
        }
        ShardConnections.Loan loan;
        try {
            loan = connections.lend(shard);
        } catch (SQLException e) {
            assertThat(e.getCause()).isInstanceOf(InterruptedException.class);
            assertThat(Thread.interrupted()).isTrue();
            return;
        }
        boolean wasInterrupted = Thread.interrupted();
        try {
            int pid = pid(loan.connection());
            assertThat(lent.add(pid)).as("lent once").isTrue();
            try {
                if (mayHoldTwo && !wasInterrupted && random.nextInt(3) == 0) {
                    work(connections, random, lent, false);
                }
            } finally {
                lent.remove(pid);
            }
            if (random.nextInt(50) == 0) {
                loan.evict();
            }
        } finally {
            loan.giveBack(random.nextInt(50) > 0);
        }
    }
}
