/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.math.BigDecimal;
import java.sql.Connection;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.function.ObjIntConsumer;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardflakeId;
import org.shardflake.Sharding;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.router.exception.AuthenticationFailedException;
import org.shardflake.router.exception.CommitOutcomeUnknownException;
import org.shardflake.router.exception.CrossShardException;
import org.shardflake.router.exception.InterruptedWorkException;
import org.shardflake.router.exception.PoolExhaustedException;
import org.shardflake.router.exception.ServerUnavailableException;
import org.shardflake.router.exception.ShardFencedException;
import org.shardflake.router.exception.ShardSqlException;
import org.shardflake.router.health.MapHealth;
import org.shardflake.router.health.PoolStatus;
import org.shardflake.router.health.RouterHealth;
import org.shardflake.router.health.RouterState;
import org.shardflake.router.internal.map.Lookups;
import org.shardflake.router.internal.map.MapSource;
import org.shardflake.router.internal.pool.Access;
import org.shardflake.router.internal.pool.PoolSettings;
import org.shardflake.router.internal.pool.RoutedPools;
import org.shardflake.router.internal.pool.ServerPool;

/**
 * Runs work on the server that has its shard.
 *
 * <pre>{@code
 * try (ShardRouter router = ShardRouter.builder().catalog("postgresql://app@db1/app").build()) {
 *     long id = router.write(uid, tx -> {
 *         try (PreparedStatement insert = tx.connection().prepareStatement(
 *                 tx.sql("INSERT INTO ${shard.schema}.photo (uid) VALUES (?) RETURNING id"))) { ... }
 *     });
 *     String title = router.read(ShardKey.id(id), tx -> ...);
 * }
 * }</pre>
 *
 * <p>Use one per application; thread-safe, also for virtual threads. It keeps a pool of connections per server, made on
 * first use or some seconds after the server joined the map, and follows the catalog's shard map; while the catalog is
 * down it keeps its map. The code that builds it closes it.
 *
 * <p>When a shard moves, its old server refuses writes. Work given to {@link #write} is then run again on the new one,
 * so the application does not notice. This includes work that only reads or locks, since its commit asks the server. A
 * {@link #read} goes to the server in the map: until this router learns of a move, which takes milliseconds or, if the
 * catalog's notification was lost, the poll interval, it may read rows as they were at the move.
 *
 * <p>Connections are reset between pieces of work: settings, roles, locks and temporary tables do not carry over.
 *
 * <p>A transaction belongs to one shard. Work begun inside other work joins its transaction if it is for the same
 * shard, and is refused with {@link CrossShardException} otherwise.
 */
public final class ShardRouter implements RouterState, AutoCloseable {

    private final MapSource maps;
    private final RetryPolicy retryPolicy;
    private final RouterListener listener;
    private final RoutedPools pools;
    private final ShardExecutor executor;
    private final ManyShards manyShards;
    private final ReferenceAccess reference;
    private final Lookups lookups;
    private final @Nullable DarkReads darkReads;

    ShardRouter(
            MapSource maps,
            PoolSettings poolSettings,
            RetryPolicy retryPolicy,
            RouterListener listener,
            Duration drainTimeout,
            Duration closeTimeout,
            @Nullable ExecutorService threads,
            @Nullable DarkReads darkReads) {
        this.maps = maps;
        this.retryPolicy = retryPolicy;
        this.listener = listener;
        this.pools = new RoutedPools(maps, poolSettings, drainTimeout, closeTimeout);
        this.executor = new ShardExecutor(pools, maps, retryPolicy, listener);
        this.manyShards = new ManyShards(executor, threads);
        this.reference = new ReferenceAccess(executor, retryPolicy, listener);
        this.lookups = new Lookups(maps);
        this.darkReads = darkReads;
        if (darkReads != null) {
            darkReads.begin(pools);
        }
    }

    /** Starts building a router. */
    public static ShardRouterBuilder builder() {
        return new ShardRouterBuilder();
    }

    /** The map that this router currently uses. */
    @Override
    public ShardMap map() {
        return pools.routes().map();
    }

    /**
     * Whether shards may be in an {@linkplain ShardRouterBuilder#oldDatabase old database}, so that only work on one shard is possible.
     */
    public boolean hasOldDatabase() {
        return pools.routes().hasOldDatabase();
    }

    /**
     * A random shard for something new, such as a customer whose key the insert generates; all shards are equally likely. Inside a transaction
     * it is that transaction's shard, the only one whose rows the transaction can write.
     *
     * <pre>{@code
     * long id = router.write(
     *         router.anyShard(),
     *         tx -> insert(tx, "INSERT INTO ${shard.schema}.customer (name) VALUES (?) RETURNING id", name));
     * router.write(id, tx -> ...); // the same shard
     * }</pre>
     */
    public ShardKey anyShard() {
        ShardTransaction current = executor.open().current();
        if (current == null) {
            executor.requireNoOldDatabase("any shard");
        }
        return ShardKey.shard(
                current != null
                        ? current.shard()
                        : ThreadLocalRandom.current().nextInt(map().sharding().shardCount()));
    }

    /**
     * The current placement of a key's shard.
     *
     * @throws org.shardflake.ShardOutOfRangeException if there is no such shard
     */
    public ShardPlacement locate(ShardKey key) {
        return executor.locate(key);
    }

    /** The schema of a key's shard, for qualifying tables: {@code shard_0007}. */
    public String schema(ShardKey key) {
        return Sharding.schema(map().shard(key));
    }

    /**
     * Runs work in a transaction on the shard of a uid, and returns the work's result.
     *
     * <p>If the work returns, the transaction commits; if it throws, the transaction is rolled back and the exception
     * passed on. If the shard is moving or has moved, even for work that only read or locked, or the connection is lost
     * before the commit, the work is run again.
     *
     * @throws X what the work throws; its transaction is rolled back
     * @throws ShardFencedException if the shard's server refused the work, or lacked the shard, until tries or time ran
     *     out
     * @throws CrossShardException inside a transaction of another shard
     * @throws ServerUnavailableException if the router cannot connect to the server
     * @throws AuthenticationFailedException if the server refuses the login
     * @throws InterruptedWorkException if the thread is interrupted while waiting for a connection or another try
     * @throws IllegalStateException if the router is closed
     * @throws PoolExhaustedException if no connection to the server became free in time
     * @throws ShardSqlException if the server refused to commit, for example because of a deferred constraint
     * @throws CommitOutcomeUnknownException if the connection broke during the commit; the only case in which the work
     *     may have been done although this throws
     */
    public <T extends @Nullable Object, X extends Exception> T write(long uid, ShardWork<T, X> work) throws X {
        return executor.execute(map().shardOfUid(uid), Access.WRITE, work);
    }

    /** Runs work in a transaction on the shard of a key; otherwise as {@link #write(long, ShardWork)}. */
    public <T extends @Nullable Object, X extends Exception> T write(ShardKey key, ShardWork<T, X> work) throws X {
        return executor.execute(map().shard(key), Access.WRITE, work);
    }

    /** Runs work in a transaction on the shard in which an id was created; otherwise as {@link #write(long, ShardWork)}. */
    public <T extends @Nullable Object, X extends Exception> T write(ShardflakeId id, ShardWork<T, X> work) throws X {
        return write(ShardKey.id(id), work);
    }

    /**
     * Runs work that returns nothing in a transaction on the shard of a uid; otherwise as
     * {@link #write(long, ShardWork)}.
     */
    public <X extends Exception> void run(long uid, ShardAction<X> action) throws X {
        run(ShardKey.uid(uid), action);
    }

    /**
     * Runs work that returns nothing in a transaction on the shard of a key; otherwise as
     * {@link #write(long, ShardWork)}.
     */
    public <X extends Exception> void run(ShardKey key, ShardAction<X> action) throws X {
        this.<Boolean, X>write(key, tx -> {
            action.run(tx);
            return true;
        });
    }

    /**
     * Runs work that returns nothing in a transaction on the shard in which an id was created; otherwise as {@link #write(long, ShardWork)}.
     */
    public <X extends Exception> void run(ShardflakeId id, ShardAction<X> action) throws X {
        run(ShardKey.id(id), action);
    }

    /**
     * Runs work in a read-only transaction on the shard of a uid, and returns the work's result; throws what {@link #write(long, ShardWork)}
     * throws. If the connection is lost, the work is run again. It may read rows from before a move that this router has not learned of.
     */
    public <T extends @Nullable Object, X extends Exception> T read(long uid, ShardWork<T, X> work) throws X {
        return executor.execute(map().shardOfUid(uid), Access.READ, work);
    }

    /** Runs work in a read-only transaction on the shard of a key; otherwise as {@link #read(long, ShardWork)}. */
    public <T extends @Nullable Object, X extends Exception> T read(ShardKey key, ShardWork<T, X> work) throws X {
        return executor.execute(map().shard(key), Access.READ, work);
    }

    /** Runs work in a read-only transaction on the shard in which an id was created; otherwise as {@link #read(long, ShardWork)}. */
    public <T extends @Nullable Object, X extends Exception> T read(ShardflakeId id, ShardWork<T, X> work) throws X {
        return read(ShardKey.id(id), work);
    }

    /**
     * Runs work in a read-only transaction that may lag a little: on a replica if the server's URL names several hosts
     * and one of them is a replica, otherwise on the primary.
     */
    public <T extends @Nullable Object, X extends Exception> T readReplica(ShardKey key, ShardWork<T, X> work)
            throws X {
        return executor.execute(map().shard(key), Access.REPLICA_READ, work);
    }

    /**
     * Runs work on the shard of a key, with transactions that a framework such as Spring begins and ends on connections of the {@link
     * ShardAttempt}; returns the work's result.
     *
     * <p>For integrations of frameworks; applications use {@link #write}. If the work fails since the shard is moving or
     * has moved, or since a connection was lost before the commit, it is run again like that of {@code write}, unless
     * something it did has taken effect, or may have: a commit, also on another shard or of reference tables, or a statement in
     * auto-commit mode. SQL that ends a transaction, such as COMMIT, is refused.
     *
     * <p>Inside a transaction of the same shard the work is run once, as part of it.
     *
     * @param isRepeatable false to run the work once, whatever happens
     * @throws X what the work throws
     * @throws ShardFencedException if the shard's server refused the work until tries or time ran out
     * @throws CrossShardException inside a transaction of another shard
     * @throws InterruptedWorkException if the thread is interrupted while waiting for another try
     * @throws IllegalStateException if the router is closed
     * @throws CommitOutcomeUnknownException if a connection broke during a commit
     */
    public <T extends @Nullable Object, X extends Exception> T attempt(
            ShardKey key, boolean isRepeatable, AttemptWork<T, X> work) throws X {
        return executor.attempt(key, isRepeatable, work);
    }

    /** The calling thread's attempt: work given to {@link #attempt}, or a transaction of {@link #write} or {@code read}. */
    public @Nullable ShardAttempt currentAttempt() {
        return executor.currentAttempt();
    }

    /**
     * A pooled connection to the server of a key's shard, in auto-commit mode. The caller closes it.
     *
     * <p>For code that cannot be a lambda. When the shard moves, its statements fail with an {@link java.sql.SQLTransientException}
     * of SQLSTATE {@code SF001}, and a batch with a {@link java.sql.BatchUpdateException} of that state; the caller must repeat them on a
     * new connection. So does the commit of a transaction that only read, unless the
     * connection is read-only; in auto-commit mode, reads may see rows from before a move. Tables need the shard's
     * {@link #schema schema}. Inside a transaction of the same shard, this is the connection of that transaction.
     *
     * @throws CrossShardException inside a transaction of another shard
     */
    public Connection connection(ShardKey key) {
        return executor.connection(key);
    }

    /**
     * A data source that takes a {@link ShardKey} as JDBC's sharding key, for frameworks such as Spring's
     * {@code ShardingKeyDataSourceAdapter}. It refuses requests without a key.
     */
    public DataSource dataSource() {
        return new ShardDataSource(this);
    }

    /**
     * Reads the rows of many ids, with one statement per server.
     *
     * @return the rows by id, in the order of {@code ids}; an id without a row is left out
     */
    public <T> Map<Long, T> fetch(Collection<Long> ids, ShardQuery<T> query) {
        return executor.overMany(() -> manyShards.fetch(ids, query));
    }

    /**
     * Reads the newest rows of all shards: those with the highest ids, newest first.
     *
     * @param limit how many: 1 or more
     */
    public <T> List<T> newest(int limit, ShardQuery<T> query) {
        return newestBefore(Long.MAX_VALUE, limit, query);
    }

    /** Reads the newest rows of all shards below an id, as the next page after that id. */
    public <T> List<T> newestBefore(long id, int limit, ShardQuery<T> query) {
        return executor.overMany(() -> manyShards.newest(id, limit, query));
    }

    /** The number of rows of a query in all shards; the query needs no column {@code id}. */
    public long count(ShardQuery<?> query) {
        return executor.overMany(() -> manyShards.count(query));
    }

    /**
     * The sum of a number over the rows of a query in all shards; the query needs no column {@code id}.
     *
     * @param value a column of the query or an expression of its columns; part of the SQL, so never from a user
     * @return nothing if there are no rows, or none with a value
     */
    public Optional<BigDecimal> sum(String value, ShardQuery<?> query) {
        return executor.overMany(() -> manyShards.sum(value, query));
    }

    /**
     * The first rows of all shards by an order; the query needs no column {@code id}.
     *
     * @param limit how many: 1 or more
     */
    public <T> List<T> top(int limit, RowOrder<T> order, ShardQuery<T> query) {
        return executor.overMany(() -> manyShards.top(limit, order, null, query));
    }

    /**
     * The next rows of all shards by an order, after the last row of the page before. An order that ends in a column without equal values, such
     * as the id, leaves no row out; rows that are equal to {@code after} do not come again.
     *
     * @param limit how many: 1 or more
     * @param after needs only what the order compares
     */
    public <T> List<T> page(int limit, RowOrder<T> order, T after, ShardQuery<T> query) {
        return executor.overMany(() -> manyShards.top(limit, order, after, query));
    }

    /**
     * Hands over each row of all shards, in bounded memory: ordered by id within a shard, from all servers at the same time, but never two rows
     * at once. Each row is handed over once, even if its shard moves during the read. The deadline of the query covers the whole read.
     *
     * @param action may throw, which ends the read; called by threads of the router
     */
    public <T> void forEach(ShardQuery<T> query, Consumer<? super T> action) {
        executor.overMany(() -> {
            manyShards.forEach(query, action);
            return query;
        });
    }

    /**
     * Hands over each row of any query, with its shard, in bounded memory: in the order in which servers send them, and never two rows at once.
     * The query needs no column {@code id}; an ORDER BY or LIMIT of its own holds for each shard. Its deadline is for all of it.
     *
     * <p>A row is handed over once. If a server fails in the midst of some shards' rows, these are not read again, since nothing tells where to go
     * on. Without {@linkplain ShardQuery#bind values}, question marks in the query are operators.
     *
     * @param action takes a row and its shard; may throw, which ends the read; called by threads of the router
     * @return the shards that were not read to their end, if the query {@linkplain ShardQuery#collectFailures collects failures}; otherwise
     *     the first failure is thrown
     */
    public <T> List<UnreadShards> forEachRow(ShardQuery<T> query, ObjIntConsumer<? super T> action) {
        return executor.overMany(() -> manyShards.forEachRow(query, action));
    }

    /**
     * Runs a read on many shards concurrently, each in its own transaction.
     *
     * @return the results in order of arrival; closing the stream before its end stops the reads still running
     */
    public <T, X extends Exception> Stream<ShardResult<T>> scatter(Scatter scatter, ShardWork<T, X> work) {
        return executor.overMany(() -> manyShards.scatter(scatter, work));
    }

    /** Access to the reference tables, which are the same on every server. */
    public ReferenceAccess reference() {
        return reference;
    }

    /**
     * The lookup of this name, which finds rows of all shards by a value.
     *
     * @throws org.shardflake.ShardflakeException if the catalog has none of this name, or cannot be reached
     */
    public Lookup lookup(String name) {
        executor.requireNoOldDatabase("a lookup");
        lookups.get(name, LookupDefinition.State.FILLING);
        return new Lookup(name, executor, lookups, retryPolicy);
    }

    /** Asks the catalog for a newer map now, and returns the current map, which is unchanged if the catalog is down. */
    public ShardMap refresh() {
        maps.refresh();
        return map();
    }

    /** Connects to every server, and reports their health and the map's. Takes as long as the slowest server. */
    public RouterHealth health() {
        pools.enter();
        try {
            return new RouterHealth(mapHealth(), manyShards.probe(pools.routes().all()));
        } finally {
            pools.leave();
        }
    }

    /** The state of the map, without connecting to anything. */
    @Override
    public MapHealth mapHealth() {
        return new MapHealth(maps.map().version(), maps.age(), maps.problem());
    }

    /** The state of the pools, without connecting to anything. */
    @Override
    public List<PoolStatus> pools() {
        return pools.routes().all().stream().map(ServerPool::status).toList();
    }

    /** Routes by a new map, and notifies the listeners. */
    void mapChanged(ShardMap map) {
        if (pools.mapChanged(map)) {
            listener.mapChanged(map);
        }
    }

    /**
     * Opens pools early, so that a server's first writers, for example after a cutover, do not wait for connections.
     */
    void openPools() {
        pools.open();
    }

    /**
     * Stops accepting work, waits {@linkplain ShardRouterBuilder#closeTimeout for some time} for running work, and closes all connections, so
     * that work still running then fails. New work gets an {@code IllegalStateException}.
     */
    @Override
    public void close() {
        if (darkReads != null) {
            darkReads.close();
        }
        pools.stop();
        maps.close();
        manyShards.close();
        pools.close();
    }
}
