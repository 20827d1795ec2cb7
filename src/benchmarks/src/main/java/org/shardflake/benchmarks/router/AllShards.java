/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import com.zaxxer.hikari.HikariDataSource;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.shardflake.IdLayout;
import org.shardflake.ShardKey;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.benchmarks.router.Peer.Photo;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.lookup.LookupPlan;
import org.shardflake.lookup.LookupTables;
import org.shardflake.router.Lookup;
import org.shardflake.router.RowOrder;
import org.shardflake.router.Scatter;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardResult;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;
import org.shardflake.server.ServerUrl;

/**
 * Questions to all shards by one call of the router, and searches by a lookup, beside what one writes without them; and the heap that a stream
 * of all rows takes.
 */
public final class AllShards {

    private static final int LIMIT = 20;
    private static final int MILLIS = 250;
    private static final int SOUGHT = 1000;
    /** Of fewer, PostgreSQL reads them all and no index to find one. */
    private static final int ROWS_A_SHARD = 1000;

    private static final int SHARDS_A_STATEMENT = 100;
    private static final String BY_TITLE = "title COLLATE \"C\" DESC, id";
    private static final RowOrder<Photo> MOST =
            RowOrder.<Photo>byDescending("title COLLATE \"C\"", Photo::title).thenBy("id", Photo::id);
    private static final Comparator<Photo> TITLE =
            Comparator.comparing(Photo::title).reversed().thenComparing(Photo::id);
    private static final ShardQuery<Photo> PHOTOS =
            ShardQuery.of("SELECT id, uid, title FROM ${shard.schema}.photo", Photo::of);

    private final Layout layout;
    private final ShardRouter router;
    private final int warmUps;
    private final List<HikariDataSource> pools;
    /** What is looked for: rows of as many shards, and of each a value that is kept in the shard of the row. */
    private final Map<Long, String> titles = new LinkedHashMap<>();

    private final List<Long> ids;
    private final ExecutorService executor = Executors.newCachedThreadPool();

    private AllShards(PhotoServers servers, ShardRouter router, int warmUps) {
        this.warmUps = warmUps;
        this.layout = servers.layout();
        this.router = router;
        List<Photo> photos = servers.photos();
        for (int photo = 0; photo < photos.size(); photo += Math.max(1, photos.size() / SOUGHT)) {
            long id = photos.get(photo).id();
            titles.put(id, titleInShardOf(id));
        }
        this.ids = List.copyOf(titles.keySet());
        this.pools = layout.pools();
    }

    private String titleInShardOf(long id) {
        return IntStream.iterate(0, n -> n + 1)
                .mapToObj(n -> "title %d of %d".formatted(n, id))
                .filter(title -> layout.shardOfUid(ShardKey.hash(title)) == Layout.shardOfId(id))
                .findFirst()
                .orElseThrow();
    }

    /** Measures and prints. */
    public static void print() throws Exception {
        Sizing sizing = new Sizing("src/benchmarks", "AllShards", "all.");
        int shards = sizing.number("shards", 2000);
        // So many, since each connection prepares the statements of each shard after some uses.
        int warmUps = sizing.number("warmups", 100);
        int rounds = sizing.number("rounds", 21);
        int rows = sizing.number("rows", 10_000_000);
        try (PostgresCluster cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(2)
                .start()) {
            PhotoServers servers = PhotoServers.prepare(cluster, shards, 20, 16);
            try (ShardRouter router = ShardflakeJdbc.router(servers.layout())) {
                AllShards compared = new AllShards(servers, router, warmUps);
                System.out.printf("%d shards on 2 servers, calls a second%n", shards);
                // First, on connections as new as those used by hand: the transactions use every one of the router's,
                // and
                // a session that has touched a thousand tables needs more memory than the processors' caches have.
                print(compared.top(rounds), "UNION ALL by hand");
                print(compared.count(rounds), "a transaction per shard");
                compared.createLookup();
                for (int threads : List.of(1, sizing.number("threads", 16))) {
                    System.out.printf("  with %d threads%n", threads);
                    print(compared.find(rounds, threads), "by id, without a transaction");
                }
                compared.stream(rows);
                compared.close();
            }
        }
    }

    private void close() {
        executor.shutdownNow();
        pools.forEach(HikariDataSource::close);
    }

    private static void print(Rounds rates, String reference) {
        rates.candidates()
                .forEach(candidate -> System.out.printf(
                        "    %-28s %-28s %s%n", candidate, rates.of(candidate), rates.ratio(candidate, reference)));
    }

    /** Of one thread, for long enough that one late wake-up does not decide a round. */
    private static double rate(Rates.Work work) throws Exception {
        return Rates.of(1, MILLIS, work);
    }

    private Rounds count(int rounds) throws Exception {
        Map<String, Rounds.Measurement<Exception>> candidates = new LinkedHashMap<>();
        candidates.put("a transaction per shard", () -> rate(this::countByTransactions));
        candidates.put("count", () -> rate(() -> router.count(PHOTOS)));
        return Rounds.run(warmUps, rounds, candidates);
    }

    private long countByTransactions() {
        return router.<Long, SQLException>scatter(Scatter.allShards(), tx -> {
                    try (Statement statement = tx.connection().createStatement();
                            ResultSet row =
                                    statement.executeQuery(tx.sql("SELECT count(*) FROM ${shard.schema}.photo"))) {
                        row.next();
                        return row.getLong(1);
                    }
                })
                .mapToLong(ShardResult::get)
                .sum();
    }

    private Rounds top(int rounds) throws Exception {
        Map<String, Rounds.Measurement<Exception>> candidates = new LinkedHashMap<>();
        candidates.put("UNION ALL by hand", () -> rate(this::topByHand));
        candidates.put("top", () -> rate(() -> router.top(LIMIT, MOST, PHOTOS)));
        if (!topByHand().equals(router.top(LIMIT, MOST, PHOTOS))) {
            throw new IllegalStateException("both find other rows");
        }
        return Rounds.run(warmUps, rounds, candidates);
    }

    private List<Photo> topByHand() throws SQLException, InterruptedException, ExecutionException {
        List<Future<List<Photo>>> running = new ArrayList<>();
        for (int server = 0; server < pools.size(); server++) {
            List<Integer> shards = layout.shardsOf(server);
            HikariDataSource pool = pools.get(server);
            running.add(executor.submit(() -> {
                try (Connection connection = pool.getConnection()) {
                    return topOf(connection, shards);
                }
            }));
        }
        List<Photo> photos = new ArrayList<>();
        for (Future<List<Photo>> some : running) {
            photos.addAll(some.get());
        }
        return photos.stream().sorted(TITLE).limit(LIMIT).toList();
    }

    private static List<Photo> topOf(Connection connection, List<Integer> shards) throws SQLException {
        List<Photo> photos = new ArrayList<>();
        for (int from = 0; from < shards.size(); from += SHARDS_A_STATEMENT) {
            String sql = shards.subList(from, Math.min(from + SHARDS_A_STATEMENT, shards.size())).stream()
                    .map(shard -> "SELECT id, uid, title FROM " + Layout.table(shard))
                    .collect(Collectors.joining(
                            " UNION ALL ", "SELECT * FROM (", ") p ORDER BY %s LIMIT %d".formatted(BY_TITLE, LIMIT)));
            try (PreparedStatement statement = connection.prepareStatement(sql)) {
                photos.addAll(HandWritten.photos(statement));
            }
        }
        return photos.stream().sorted(TITLE).limit(LIMIT).toList();
    }

    /** Of a value for each of the rows, each of which was looked for once. */
    private void createLookup() throws Exception {
        for (int shard = 0; shard < layout.shards(); shard++) {
            router.run(ShardKey.shard(shard), tx -> fill(tx, ROWS_A_SHARD));
        }
        new LookupTables(ServerUrl.parse(layout.servers().get(0).url()), server -> ServerUrl.parse(server.url()))
                .create(new LookupPlan("photo.title", true, false, false, Optional.empty()));
        Lookup lookup = router.lookup("photo.title");
        titles.forEach((id, title) -> {
            long uid = IdLayout.shard(id);
            router.run(uid, tx -> lookup.claim(title, uid, id));
        });
        titles.forEach((id, title) -> {
            if (lookup.find(title).isEmpty()) {
                throw new IllegalStateException("the title of %d is not found".formatted(id));
            }
        });
    }

    private Rounds find(int rounds, int threads) throws Exception {
        Lookup lookup = router.lookup("photo.title");
        Map<String, Rounds.Measurement<Exception>> candidates = new LinkedHashMap<>();
        candidates.put(
                "by id",
                () -> Rates.of(threads, MILLIS, () -> {
                    long id = anyId();
                    router.<Photo, SQLException>read(
                            ShardKey.id(id), tx -> HandWritten.select(tx.connection(), tx.schema() + ".photo", id));
                }));
        candidates.put(
                "by id, without a transaction",
                () -> Rates.of(threads, MILLIS, () -> {
                    long id = anyId();
                    try (Connection connection = router.connection(ShardKey.id(id))) {
                        HandWritten.select(connection, router.schema(ShardKey.id(id)) + ".photo", id);
                    }
                }));
        candidates.put(
                "find",
                () -> Rates.of(threads, MILLIS, () -> lookup.find(Objects.requireNonNull(titles.get(anyId())))));
        return Rounds.run(warmUps, rounds, candidates);
    }

    private long anyId() {
        return ids.get(ThreadLocalRandom.current().nextInt(ids.size()));
    }

    /** The highest heap after a collection while a tenth of the rows, and then all, are streamed. */
    private void stream(int rows) throws SQLException {
        long filled = router.count(PHOTOS);
        for (long wanted : List.of(rows / 10L, (long) rows)) {
            long each = Math.max(0, (wanted - filled) / 20);
            for (int shard = 0; shard < 20; shard++) {
                router.run(ShardKey.shard(shard), tx -> fill(tx, each));
            }
            filled += each * 20;
            AtomicLong seen = new AtomicLong();
            long start = System.nanoTime();
            long heap = peakWhile(
                    () -> router.forEach(PHOTOS.deadline(Duration.ofMinutes(30)), photo -> seen.incrementAndGet()));
            System.out.printf(
                    "    forEach: %,d of %,d rows in %.1f s, highest heap after a collection %.1f MB%n",
                    seen.get(), filled, (System.nanoTime() - start) / 1e9, heap / 1e6);
        }
    }

    private static void fill(ShardTransaction tx, long rows) throws SQLException {
        try (Statement statement = tx.connection().createStatement()) {
            statement.execute(tx.sql(
                    "INSERT INTO ${shard.schema}.photo (uid, title) SELECT %d, 'photo ' || i FROM generate_series(1, %d) i"
                            .formatted(tx.shard(), rows)));
            statement.execute(tx.sql("ANALYZE ${shard.schema}.photo"));
        }
    }

    private static long peakWhile(Runnable work) {
        AtomicLong peak = new AtomicLong();
        Thread sampler = new Thread(
                () -> {
                    while (!Thread.currentThread().isInterrupted()) {
                        System.gc();
                        peak.accumulateAndGet(heap(), Math::max);
                        try {
                            Thread.sleep(500);
                        } catch (InterruptedException e) {
                            return;
                        }
                    }
                },
                "heap");
        sampler.setDaemon(true);
        sampler.start();
        work.run();
        sampler.interrupt();
        return peak.get();
    }

    private static long heap() {
        return ManagementFactory.getMemoryPoolMXBeans().stream()
                .filter(pool -> pool.getType() == MemoryType.HEAP && pool.getCollectionUsage() != null)
                .map(MemoryPoolMXBean::getCollectionUsage)
                .mapToLong(usage -> usage.getUsed())
                .sum();
    }
}
