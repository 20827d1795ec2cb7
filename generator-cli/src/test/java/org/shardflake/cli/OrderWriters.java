/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.Sharding;
import org.shardflake.jdbc.Poll;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.exception.CommitOutcomeUnknownException;

/**
 * Applications that insert orders of the shop and count up their notes, and keep a journal of what was acknowledged. Shards 0 to 3 are on
 * database 0, 4 to 7 on database 1.
 */
final class OrderWriters implements AutoCloseable {

    /** Orders with lesser ids are others. */
    static final int FIRST = 1_000_000;

    private static final int OLD = 2;

    /** The changes of an order that were acknowledged, and those that may have been done besides. */
    private record Known(int user, int least, int most) {}

    /** Reads the first value of the first row from a database. */
    interface Query {
        String on(int database, String sql) throws SQLException;
    }

    private volatile ShardRouter router;
    private final List<Map<Integer, Known>> journals = new ArrayList<>();
    private final List<Random> randoms = new ArrayList<>();
    private final AtomicInteger acknowledged = new AtomicInteger();
    private final AtomicInteger unknown = new AtomicInteger();
    private final AtomicInteger failed = new AtomicInteger();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<Future<?>> running = new ArrayList<>();
    private volatile String lastFailure = "";
    private AtomicBoolean stop = new AtomicBoolean();

    OrderWriters(ShardRouter router, Random random) {
        this.router = router;
        for (int i = 0; i < 4; i++) {
            journals.add(new TreeMap<>());
            randoms.add(new Random(random.nextLong()));
        }
        start();
    }

    /** Has later writes go through another router; the caller closes both. */
    void use(ShardRouter another) {
        router = another;
    }

    void start() {
        stop = new AtomicBoolean();
        AtomicBoolean its = stop;
        for (int i = 0; i < 4; i++) {
            int number = i;
            running.add(threads.submit(() -> {
                while (!its.get()) {
                    AdoptSlicesTest.rest();
                    write(number, journals.get(number), randoms.get(number));
                }
            }));
        }
    }

    void stop() throws Exception {
        stop.set(true);
        for (Future<?> one : running) {
            one.get(2, TimeUnit.MINUTES);
        }
        running.clear();
    }

    private void write(int number, Map<Integer, Known> journal, Random random) {
        int id = FIRST * (number + 1) + random.nextInt(random.nextBoolean() ? 40 : 2000);
        Known before = journal.getOrDefault(id, new Known(random.nextInt(1, 41), 0, 0));
        if (before.least() == 0 && before.most() > 0) {
            return; // its only write has an unknown outcome
        }
        String sql = before.most() == 0
                ? "INSERT INTO ${shard.schema}.orders VALUES (%1$s, %2$s, 'code %1$s', '1')"
                : "UPDATE ${shard.schema}.orders SET note = note::integer + 1 WHERE id = %1$s AND user_id = %2$s";
        try {
            router.write(before.user(), tx -> {
                try (PreparedStatement statement =
                        tx.connection().prepareStatement(tx.sql(sql.formatted(id, before.user())))) {
                    assertThat(statement.executeUpdate()).isEqualTo(1);
                }
                return tx.schema();
            });
            journal.put(id, new Known(before.user(), before.least() + 1, before.most() + 1));
            acknowledged.incrementAndGet();
        } catch (ShardflakeException | SQLException e) {
            if (e instanceof CommitOutcomeUnknownException || e.getCause() instanceof CommitOutcomeUnknownException) {
                journal.put(id, new Known(before.user(), before.least(), before.most() + 1));
                unknown.incrementAndGet();
            } else {
                failed.incrementAndGet();
                lastFailure = e.toString();
            }
        }
    }

    void awaitMore(int more) throws Exception {
        int wanted = acknowledged.get() + more;
        boolean isDone = Poll.everyMillis(10, Duration.ofMinutes(1))
                .until(() -> acknowledged.get() >= wanted || running.stream().anyMatch(Future::isDone));
        for (Future<?> one : running) {
            if (one.isDone()) {
                one.get();
            }
        }
        assertThat(isDone).as("%s, last: %s", this, lastFailure).isTrue();
    }

    /** Compares the journals with the tables of each shard: its own if it has left the old database, otherwise the old ones. */
    void check(ShardSet over, Query query) throws SQLException {
        Map<Integer, Known> expected = new TreeMap<>();
        journals.forEach(expected::putAll);
        List<String> wrong = new ArrayList<>();
        Map<Integer, String> found = new TreeMap<>();
        for (int shard = 0; shard < 8; shard++) {
            for (String line : rows(shard, over.contains(shard), query)) {
                String[] parts = line.split(" ", -1);
                int id = Integer.parseInt(parts[0]);
                Known known = expected.get(id);
                int count = Integer.parseInt(parts[2]);
                if (found.put(id, line) != null
                        || known == null
                        || known.user() != Integer.parseInt(parts[1])
                        || known.user() % 8 != shard
                        || count < known.least()
                        || count > known.most()) {
                    wrong.add("shard %s: %s, expected %s".formatted(shard, line, known));
                }
            }
        }
        expected.forEach((id, known) -> {
            if (known.least() > 0 && !found.containsKey(id)) {
                wrong.add("order %s is lost, expected %s".formatted(id, known));
            }
        });
        assertThat(wrong).isEmpty();
    }

    private static List<String> rows(int shard, boolean isOver, Query query) throws SQLException {
        String rows = query.on(
                isOver ? shard / 4 : OLD,
                "SELECT string_agg(id || ' ' || user_id || ' ' || note, ',' ORDER BY id) FROM %s.orders WHERE id >= %s AND (%s OR user_id %% 8 = %s)"
                        .formatted(isOver ? Sharding.schema(shard) : "shop", FIRST, isOver, shard));
        return rows.equals("null") ? List.of() : List.of(rows.split(",", -1));
    }

    @Override
    public void close() {
        stop.set(true);
        threads.shutdown();
    }

    @Override
    public String toString() {
        return "%s writes acknowledged, %s unknown, %s failed".formatted(acknowledged, unknown, failed);
    }
}
