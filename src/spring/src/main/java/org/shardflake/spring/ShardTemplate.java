/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Comparator;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.router.Scatter;
import org.shardflake.router.ShardResult;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.exception.ShardSqlException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Runs work on shards, as {@link OnShard} and {@code @Transactional} do for methods.
 *
 * <pre>{@code
 * long id = shards.write(ShardKey.uid(uid), () -> jdbc.sql("INSERT INTO photo ...").query(Long.class).single());
 * }</pre>
 *
 * <p>Thread-safe. Work may be run again, as that of {@code OnShard}. With {@code shardflake.enabled=false} the work runs in
 * plain transactions on the application's one database, whatever the key.
 */
public final class ShardTemplate {

    /** The router; null on a single database. */
    private final @Nullable ShardRouter router;

    private final TransactionTemplate writing;
    private final TransactionTemplate reading;

    public ShardTemplate(ShardRouter router, PlatformTransactionManager transactions) {
        this(transactions, router);
    }

    private ShardTemplate(PlatformTransactionManager transactions, @Nullable ShardRouter router) {
        this.router = router;
        this.writing = new TransactionTemplate(transactions);
        this.reading = new TransactionTemplate(transactions);
        reading.setReadOnly(true);
    }

    /** A template for an application that is not on shards yet. */
    static ShardTemplate onOneDatabase(PlatformTransactionManager transactions) {
        return new ShardTemplate(transactions, null);
    }

    boolean isOnOneDatabase() {
        return router == null;
    }

    /**
     * A shard for something new, as {@link ShardRouter#anyShard}; in an annotation, {@code
     * @OnShard("@shardTemplate.anyShard()")}. Also for reading reference tables, which each shard can.
     */
    public ShardKey anyShard() {
        return router == null ? ShardKey.shard(0) : router.anyShard();
    }

    /**
     * A shard on the home of reference tables, the server where they can be written; in an annotation, {@code
     * @OnShard("@shardTemplate.homeShard()")}. Not for use inside a transaction. If the home changes before the commit, the work fails with
     * SQLSTATE {@code SF012}.
     *
     * @throws ShardflakeException if the installation has no reference tables, or no shard is on their home
     */
    public ShardKey homeShard() {
        if (router == null) {
            return anyShard();
        }
        String home = router.reference().read(ShardTemplate::home);
        ShardMap map = router.map();
        return map.servers().stream()
                .filter(server -> server.name().equals(home))
                .flatMapToInt(server -> map.shards(server).stream())
                .mapToObj(ShardKey::shard)
                .findFirst()
                .orElseThrow(() -> new ShardflakeException(
                        Kind.PRECONDITION,
                        home.isEmpty()
                                ? "this installation has no reference tables"
                                : "%s, the home of reference tables, has no shards".formatted(home),
                        "write them with ShardRouter.reference().write, which needs no shard",
                        null));
    }

    private static String home(Connection connection) {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT server FROM shardflake.reference_home")) {
            return row.next() ? row.getString(1) : "";
        } catch (SQLException e) {
            throw new ShardSqlException("ask for the home of reference tables", "a server", e);
        }
    }

    /** Runs work in a transaction on the shard of a key, and returns the work's result. */
    public <T extends @Nullable Object> T write(ShardKey key, Supplier<T> work) {
        return inTransaction(key, writing, work);
    }

    /** Runs work that returns nothing in a transaction on the shard of a key. */
    public void run(ShardKey key, Runnable work) {
        write(key, () -> {
            work.run();
            return true;
        });
    }

    /** Runs work in a read-only transaction on the shard of a key, and returns the work's result. */
    public <T extends @Nullable Object> T read(ShardKey key, Supplier<T> work) {
        return inTransaction(key, reading, work);
    }

    /**
     * Runs work in a read-only transaction on every shard, several at a time on the router's threads, and returns the results in the order of
     * shards. On one database it runs once.
     *
     * <p>Each shard is seen at a moment of its own. Entities are detached afterwards, so load in the work what is needed of them.
     *
     * @throws org.shardflake.router.exception.ScatterException if a shard fails
     */
    public <T> List<T> readAll(Supplier<T> work) {
        if (router == null) {
            return List.of(inTransaction(anyShard(), reading, work));
        }
        try (Stream<ShardResult<T>> results = router.scatter(Scatter.allShards(), tx -> work.get())) {
            return results.sorted(Comparator.comparingInt(ShardResult::shard))
                    .map(ShardResult::get)
                    .toList();
        }
    }

    @SuppressWarnings("NullAway") // Null only if the work returns null.
    private <T extends @Nullable Object> T inTransaction(
            ShardKey key, TransactionTemplate transaction, Supplier<T> work) {
        return router == null
                ? transaction.execute(status -> work.get())
                : router.<T, RuntimeException>attempt(key, true, attempt -> transaction.execute(status -> work.get()));
    }

    /** Runs work on the shard of a key without a transaction, as {@link OnShard} does on its own. */
    public <T extends @Nullable Object> T on(ShardKey key, Supplier<T> work) {
        return router == null ? work.get() : router.<T, RuntimeException>attempt(key, true, attempt -> work.get());
    }
}
