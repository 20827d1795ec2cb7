/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Spring's {@link AbstractRoutingDataSource}, which has a key for every shard, with {@link JdbcTemplate} and
 * {@link TransactionTemplate}. It finds the server; the statements are written by hand.
 */
final class SpringRouting implements Peer {

    private final Layout layout;
    private final List<HikariDataSource> pools;
    private final HandWritten statements;
    private final ByShard source = new ByShard();
    private final JdbcTemplate jdbc;
    private final TransactionTemplate write;
    private final TransactionTemplate read;

    /** Asks for the shard that the thread has set. */
    private static final class ByShard extends AbstractRoutingDataSource {
        private final ThreadLocal<@Nullable Integer> shard = new ThreadLocal<>();

        @Override
        protected @Nullable Object determineCurrentLookupKey() {
            return shard.get();
        }

        <T> T on(int key, Supplier<T> work) {
            shard.set(key);
            try {
                return work.get();
            } finally {
                shard.remove();
            }
        }
    }

    SpringRouting(Layout layout, int newest) {
        this.layout = layout;
        this.pools = layout.pools();
        this.statements = new HandWritten(layout, newest);
        Map<Object, Object> targets = new HashMap<>();
        for (int shard = 0; shard < layout.shards(); shard++) {
            targets.put(shard, pools.get(layout.server(shard)));
        }
        source.setTargetDataSources(targets);
        source.setLenientFallback(false);
        source.afterPropertiesSet();
        jdbc = new JdbcTemplate(source);
        DataSourceTransactionManager transactions = new DataSourceTransactionManager(source);
        write = new TransactionTemplate(transactions);
        read = new TransactionTemplate(transactions);
        read.setReadOnly(true);
    }

    @Override
    public Photo select(long id) {
        int shard = Layout.shardOfId(id);
        return source.on(shard, () -> select(shard, id));
    }

    @Override
    public Photo selectInTransaction(long id) {
        int shard = Layout.shardOfId(id);
        return source.on(shard, () -> Objects.requireNonNull(read.execute(status -> select(shard, id))));
    }

    private Photo select(int shard, long id) {
        return Objects.requireNonNull(
                jdbc.queryForObject(HandWritten.select(Layout.table(shard)), (row, number) -> Photo.of(row), id));
    }

    @Override
    public long insert(long uid, String title) {
        int shard = layout.shardOfUid(uid);
        return source.on(shard, () -> insert(shard, uid, title));
    }

    @Override
    public long insertInTransaction(long uid, String title) {
        int shard = layout.shardOfUid(uid);
        return source.on(shard, () -> Objects.requireNonNull(write.execute(status -> insert(shard, uid, title))));
    }

    private Long insert(int shard, long uid, String title) {
        return Objects.requireNonNull(
                jdbc.queryForObject(HandWritten.insert(Layout.table(shard)), Long.class, uid, title));
    }

    @Override
    public List<Photo> photos(List<Long> ids) throws SQLException {
        return statements.photos(ids, this::onServer);
    }

    @Override
    public List<Photo> newest(int limit) throws SQLException {
        return statements.newest(limit, this::onServer);
    }

    private List<Photo> onServer(int server, HandWritten.Read work) {
        // Server n has shard n: a key of it.
        return source.on(
                server, () -> Objects.requireNonNull(jdbc.execute((ConnectionCallback<List<Photo>>) work::run)));
    }

    @Override
    public void close() {
        statements.close();
        pools.forEach(HikariDataSource::close);
    }
}
