/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.ObjIntConsumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardflakeId;
import org.shardflake.Sharding;
import org.shardflake.catalog.LookupDefinition;

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
public final class ShardRouter implements AutoCloseable {

    private static final long LOOK_FOR_WORK_MILLIS = 10;

    private final MapSource maps;
    private final PoolSettings poolSettings;
    private final RetryPolicy retryPolicy;
    private final RouterListener listener;
    private final Duration drainTimeout;
    private final Duration closeTimeout;
    private final LongAdder running = new LongAdder();
    private final OpenTransactions open = new OpenTransactions();
    /** The attempt that each thread is in. */
    private final Map<Thread, ShardAttempt> attempts = new ConcurrentHashMap<>();

    private final ReentrantLock changingRoutes = new ReentrantLock();
    private final ManyShards manyShards;
    private final ReferenceAccess reference;
    private final Lookups lookups;
    private final Set<ServerPool> draining = ConcurrentHashMap.newKeySet();
    private volatile Routes routes;
    /** Set once the router takes no more work. */
    private volatile boolean closed;
    /** Set once its connections were closed under work that did not finish in time. */
    private volatile boolean cut;

    ShardRouter(
            MapSource maps,
            PoolSettings poolSettings,
            RetryPolicy retryPolicy,
            RouterListener listener,
            Duration drainTimeout,
            Duration closeTimeout,
            @Nullable ExecutorService executor) {
        this.maps = maps;
        this.poolSettings = poolSettings;
        this.retryPolicy = retryPolicy;
        this.listener = listener;
        this.drainTimeout = drainTimeout;
        this.closeTimeout = closeTimeout;
        this.routes = Routes.of(maps.map(), this::newPool);
        this.manyShards = new ManyShards(this, executor);
        this.reference = new ReferenceAccess(this, retryPolicy, listener);
        this.lookups = new Lookups(maps);
    }

    /** Starts building a router. */
    public static ShardRouterBuilder builder() {
        return new ShardRouterBuilder();
    }

    private ServerPool newPool(Server server) {
        return new ServerPool(server, poolSettings, maps::hint);
    }

    /** The map that this router currently uses. */
    public ShardMap map() {
        return routes.map();
    }

    /**
     * A shard for something new, such as a customer whose key the insert makes: each is as likely as any other.
     *
     * <pre>{@code
     * long id = router.write(
     *         router.anyShard(),
     *         tx -> insert(tx, "INSERT INTO ${shard.schema}.customer (name) VALUES (?) RETURNING id", name));
     * router.write(id, tx -> ...); // the same shard
     * }</pre>
     */
    public ShardKey anyShard() {
        return ShardKey.shard(
                ThreadLocalRandom.current().nextInt(map().sharding().shardCount()));
    }

    /**
     * The current placement of a key's shard.
     *
     * @throws org.shardflake.ShardOutOfRangeException if there is no such shard
     */
    public ShardPlacement locate(ShardKey key) {
        ShardMap map = map();
        return map.placement(map.shard(key));
    }

    /** The schema of a key's shard, for qualifying tables: {@code shard_0007}. */
    public String schema(ShardKey key) {
        return Sharding.schema(map().shard(key));
    }

    /**
     * Runs work in a transaction on the shard of a uid, and returns what it returns.
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
        return admitted(map().shardOfUid(uid), Access.WRITE, work);
    }

    /** Runs work in a transaction on the shard of a key; otherwise as {@link #write(long, ShardWork)}. */
    public <T extends @Nullable Object, X extends Exception> T write(ShardKey key, ShardWork<T, X> work) throws X {
        return admitted(map().shard(key), Access.WRITE, work);
    }

    /** Runs work in a transaction on the shard that an id was made in; otherwise as {@link #write(long, ShardWork)}. */
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
     * Runs work that returns nothing in a transaction on the shard that an id was made in; otherwise as
     * {@link #write(long, ShardWork)}.
     */
    public <X extends Exception> void run(ShardflakeId id, ShardAction<X> action) throws X {
        run(ShardKey.id(id), action);
    }

    /**
     * Runs work in a read-only transaction on the shard of a uid, and returns what it returns; throws what
     * {@link #write(long, ShardWork)} throws. If the connection is lost, the work is run again. It may read rows from
     * before a move that this router has not learned of.
     */
    public <T extends @Nullable Object, X extends Exception> T read(long uid, ShardWork<T, X> work) throws X {
        return admitted(map().shardOfUid(uid), Access.READ, work);
    }

    /** Runs work in a read-only transaction on the shard of a key; otherwise as {@link #read(long, ShardWork)}. */
    public <T extends @Nullable Object, X extends Exception> T read(ShardKey key, ShardWork<T, X> work) throws X {
        return admitted(map().shard(key), Access.READ, work);
    }

    /** Runs work in a read-only transaction on the shard that an id was made in; otherwise as {@link #read(long, ShardWork)}. */
    public <T extends @Nullable Object, X extends Exception> T read(ShardflakeId id, ShardWork<T, X> work) throws X {
        return read(ShardKey.id(id), work);
    }

    /**
     * Runs work in a read-only transaction that may lag a little: on a replica if the server's URL names several hosts
     * and one of them is a replica, otherwise on the primary.
     */
    public <T extends @Nullable Object, X extends Exception> T readReplica(ShardKey key, ShardWork<T, X> work)
            throws X {
        return admitted(map().shard(key), Access.REPLICA_READ, work);
    }

    private <T extends @Nullable Object, X extends Exception> T admitted(int shard, Access access, ShardWork<T, X> work)
            throws X {
        ShardTransaction outer = open.current();
        if (outer != null) {
            return join(outer, shard, access, work);
        }
        enter();
        try {
            return observed(shard, tries(shard, access, work));
        } finally {
            leave();
        }
    }

    /** Admits work, which {@link #close} waits for until {@link #leave}. */
    void enter() {
        running.increment();
        if (closed) {
            running.decrement();
            throw closedException();
        }
    }

    void leave() {
        running.decrement();
    }

    private static IllegalStateException closedException() {
        return new IllegalStateException("the router is closed");
    }

    <T extends @Nullable Object, X extends Exception> T inTransaction(int shard, Access access, ShardWork<T, X> work)
            throws X {
        return untilDone(shard, tries(shard, access, work));
    }

    private <T extends @Nullable Object, X extends Exception> Tries<T, X> tries(
            int shard, Access access, ShardWork<T, X> work) {
        ShardAttempt around = attempts.get(Thread.currentThread());
        return new Tries<>() {
            @Override
            T next(Routes route) throws X {
                T result = inTransaction(route, shard, access, work);
                if (around != null && !access.readOnly()) {
                    around.tookEffect();
                }
                return result;
            }

            @Override
            boolean mayRepeat() {
                return true;
            }

            @Override
            boolean isReadOnly() {
                return access.readOnly();
            }
        };
    }

    /** The tries of one piece of work. */
    private abstract static class Tries<T extends @Nullable Object, X extends Exception> {

        private int count;
        private @Nullable Routes last;

        abstract T next(Routes route) throws X;

        /** Whether the failed try has left nothing behind. */
        abstract boolean mayRepeat();

        /** Whether nothing in the latest try could write. */
        abstract boolean isReadOnly();
    }

    /** Work that listeners are told of. */
    private <T extends @Nullable Object, X extends Exception> T observed(int shard, Tries<T, X> tries) throws X {
        RunningWork observer = listener.workBegan(routes.pool(shard).server(), shard);
        if (observer == null) {
            return untilDone(shard, tries);
        }
        Throwable failure = null;
        try {
            return untilDone(shard, tries);
        } catch (Throwable e) {
            failure = e;
            throw e;
        } finally {
            Server server = Objects.requireNonNull(tries.last).pool(shard).server();
            observer.ended(server, tries.isReadOnly(), tries.count, failure);
        }
    }

    private <T extends @Nullable Object, X extends Exception> T untilDone(int shard, Tries<T, X> tries) throws X {
        Retry retry = null;
        while (true) {
            Routes tried = routes;
            tries.count++;
            tries.last = tried;
            try {
                return tries.next(tried);
            } catch (Exception e) {
                if (e instanceof PoolClosedException) {
                    checkCut();
                }
                if (retry == null) {
                    retry = new Retry(retryPolicy, maps, listener);
                }
                if (!tries.mayRepeat()
                        || !retry.again(
                                e,
                                tried.map().placement(shard),
                                tried.map().version(),
                                () -> tried.pool(shard)
                                        .lacks(List.of(shard), mayHoldConnection())
                                        .isPresent())) {
                    throw e;
                }
            }
        }
    }

    /**
     * Runs work on the shard of a key whose transactions a framework such as Spring begins and ends, on connections of
     * the {@link ShardAttempt}; returns what it returns.
     *
     * <p>For integrations of frameworks; applications use {@link #write}. If the work fails since the shard is moving or
     * has moved, or since a connection was lost before the commit, it is run again like that of {@code write}, unless
     * something it did has taken effect: a commit, or a statement in auto-commit mode.
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
        int shard = map().shard(key);
        ShardTransaction outer = open.current();
        if (outer != null) {
            outer.require(key);
            return outer.isOfAttempt()
                    ? work.run(attempts.getOrDefault(Thread.currentThread(), ShardAttempt.inside(outer, this)))
                    : join(outer, shard, Access.READ, tx -> work.run(ShardAttempt.inside(tx, this)));
        }
        enter();
        try {
            return observed(shard, new Tries<T, X>() {
                private ShardAttempt last = ShardAttempt.of(key, shard, ShardRouter.this);

                @Override
                T next(Routes route) throws X {
                    last = ShardAttempt.of(key, shard, ShardRouter.this);
                    return run(last, work);
                }

                @Override
                boolean mayRepeat() {
                    return isRepeatable && !last.hasTakenEffect();
                }

                @Override
                boolean isReadOnly() {
                    return !last.mayWrite();
                }
            });
        } finally {
            leave();
        }
    }

    private <T extends @Nullable Object, X extends Exception> T run(ShardAttempt attempt, AttemptWork<T, X> work)
            throws X {
        ShardAttempt around = attempts.put(Thread.currentThread(), attempt);
        try {
            return work.run(attempt);
        } catch (Exception e) {
            attempt.throwIfUnknown(e);
            throw e;
        } finally {
            if (around == null) {
                attempts.remove(Thread.currentThread());
            } else {
                attempts.put(Thread.currentThread(), around);
                if (attempt.hasTakenEffect()) {
                    around.tookEffect();
                }
            }
        }
    }

    /**
     * What the calling thread runs, if it is inside work given to {@link #attempt}, or inside a transaction that
     * {@link #write} or {@code read} has begun.
     */
    public @Nullable ShardAttempt currentAttempt() {
        ShardTransaction tx = open.current();
        return tx != null && !tx.isOfAttempt() ? ShardAttempt.inside(tx, this) : attempts.get(Thread.currentThread());
    }

    private static <T extends @Nullable Object, X extends Exception> T join(
            ShardTransaction outer, int shard, Access access, ShardWork<T, X> work) throws X {
        outer.requireShard(shard, "the work");
        if (outer.isReadOnly() && !access.readOnly()) {
            throw new IllegalStateException(
                    "a write inside a read of shard %s; make the outer one a write".formatted(shard));
        }
        try {
            return work.run(outer);
        } catch (Throwable failure) {
            outer.failed();
            throw failure;
        }
    }

    private <T extends @Nullable Object, X extends Exception> T inTransaction(
            Routes route, int shard, Access access, ShardWork<T, X> work) throws X {
        ServerPool pool = route.pool(shard);
        long start = System.nanoTime();
        boolean committed = false;
        LentConnection connection = pool.connection(access, shard);
        ShardTransaction tx = new ShardTransaction(route.map(), shard, access, connection);
        try {
            begin(connection, access, pool);
            T result = run(tx, work, connection);
            commit(tx, connection, pool);
            committed = true;
            return result;
        } finally {
            giveBack(connection);
            tx.lookups().ended(committed);
            listener.transactionEnded(
                    pool.server(), access.readOnly(), committed, Duration.ofNanos(System.nanoTime() - start));
        }
    }

    static void begin(Connection connection, Access access, ServerPool pool) {
        try {
            if (access.readOnly()) {
                connection.setReadOnly(true);
            }
            connection.setAutoCommit(false);
        } catch (SQLException e) {
            throw new ShardSqlException("begin a transaction", pool.server().name(), e);
        }
    }

    private <T extends @Nullable Object, X extends Exception> T run(
            ShardTransaction tx, ShardWork<T, X> work, Connection connection) throws X {
        open.enter(tx);
        try {
            return work.run(tx);
        } catch (Throwable failure) {
            rollback(connection, failure);
            throw failure;
        } finally {
            open.enter(null);
        }
    }

    static void rollback(Connection connection, Throwable failure) {
        try {
            connection.rollback();
        } catch (SQLException e) {
            failure.addSuppressed(e);
        }
    }

    static void commit(ShardTransaction tx, LentConnection connection, ServerPool pool) {
        try {
            commit(tx::checkCommittable, connection, tx.isReadOnly(), pool);
        } catch (CommitOutcomeUnknownException e) {
            tx.lookups().leave();
            throw e;
        }
    }

    /** Throws what forbids a commit. */
    @FunctionalInterface
    interface CommitCheck {
        void run() throws SQLException;
    }

    static void commit(CommitCheck check, LentConnection connection, boolean readOnly, ServerPool pool) {
        try {
            check.run();
            connection.commit();
        } catch (SQLException e) {
            boolean answered = isAnswer(connection, e);
            rollback(connection, e);
            if (readOnly || answered) {
                throw new ShardSqlException("commit", pool.server().name(), e);
            }
            throw new CommitOutcomeUnknownException(
                    connection.shard(), pool.server().name(), e);
        }
    }

    /** Whether the server itself refused to commit and the connection survived. */
    private static boolean isAnswer(Connection connection, SQLException e) {
        try {
            return e instanceof NotCommittableException || (SqlFailure.isAnswer(e) && !connection.isClosed());
        } catch (SQLException broken) {
            return false;
        }
    }

    static void giveBack(Connection connection) {
        try {
            connection.close();
        } catch (SQLException e) {
            // The pool has dropped the connection; the outcome of the work is decided by now.
        }
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
        int shard = map().shard(key);
        ShardTransaction outer = open.current();
        if (outer != null) {
            outer.require(key);
            return outer.connection();
        }
        AttemptConnection.Loan loan = lend(shard);
        return plain(loan, loan.connection());
    }

    /** A connection whose transactions listeners are told of. */
    PlainConnection plain(AttemptConnection.Loan loan, ForwardingConnection connection) {
        Server server = loan.routes().pool(loan.connection().shard()).server();
        return new PlainConnection(
                connection,
                (readOnly, committed, duration) -> listener.transactionEnded(server, readOnly, committed, duration));
    }

    /** One statement that commits by itself, and may be run again if nobody knows whether it was done. */
    @FunctionalInterface
    interface Alone<T> {
        T run(Connection connection, String server);
    }

    /** Runs a statement on a shard outside of the transaction that the thread may be in; waits for a move like {@link #write}. */
    <T> T alone(int shard, Access access, Alone<T> statement) {
        boolean isInside = mayHoldConnection();
        return untilDone(shard, new Tries<T, RuntimeException>() {
            @Override
            T next(Routes route) {
                ServerPool pool = route.pool(shard);
                LentConnection connection = isInside ? pool.aside(shard) : pool.connection(access, shard);
                try {
                    return statement.run(connection, pool.server().name());
                } finally {
                    giveBack(connection);
                }
            }

            @Override
            boolean mayRepeat() {
                return true;
            }

            @Override
            boolean isReadOnly() {
                return access.readOnly();
            }
        });
    }

    /** Whether the calling thread may have a connection of a pool, so must not wait for another of it. */
    private boolean mayHoldConnection() {
        return attempts.containsKey(Thread.currentThread()) || open.current() != null;
    }

    /** Lends a connection to the server of a shard. */
    AttemptConnection.Loan lend(int shard) {
        enter();
        try {
            while (true) {
                Routes route = routes;
                try {
                    return new AttemptConnection.Loan(route, route.pool(shard).connection(Access.WRITE, shard));
                } catch (PoolClosedException e) {
                    checkCut();
                }
            }
        } finally {
            leave();
        }
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
        return overMany(() -> manyShards.fetch(ids, query));
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
        return overMany(() -> manyShards.newest(id, limit, query));
    }

    /** The number of rows of a query in all shards; the query needs no column {@code id}. */
    public long count(ShardQuery<?> query) {
        return overMany(() -> manyShards.count(query));
    }

    /**
     * The sum of a number over the rows of a query in all shards; the query needs no column {@code id}.
     *
     * @param value a column of the query or an expression of its columns; part of the SQL, so never from a user
     * @return nothing if there are no rows, or none with a value
     */
    public Optional<BigDecimal> sum(String value, ShardQuery<?> query) {
        return overMany(() -> manyShards.sum(value, query));
    }

    /**
     * The first rows of all shards by an order; the query needs no column {@code id}.
     *
     * @param limit how many: 1 or more
     */
    public <T> List<T> top(int limit, RowOrder<T> order, ShardQuery<T> query) {
        return overMany(() -> manyShards.top(limit, order, null, query));
    }

    /**
     * The next rows of all shards by an order, after the last row of the page before. An order that ends in a column without equal values, such
     * as the id, leaves no row out; rows that are equal to {@code after} do not come again.
     *
     * @param limit how many: 1 or more
     * @param after needs only what the order compares
     */
    public <T> List<T> page(int limit, RowOrder<T> order, T after, ShardQuery<T> query) {
        return overMany(() -> manyShards.top(limit, order, after, query));
    }

    /**
     * Hands over each row of all shards, in bounded memory: by shard in the order of ids, servers at the same time, but never two
     * rows at once. A row is handed over once, also when its shard moves meanwhile. The deadline of the query is for all of it.
     *
     * @param action may throw, which ends the read; called by threads of the router
     */
    public <T> void forEach(ShardQuery<T> query, Consumer<? super T> action) {
        overMany(() -> {
            manyShards.forEach(query, action);
            return query;
        });
    }

    /**
     * Hands over each row of any query, with its shard, in bounded memory: as servers send them, but never two rows at once. The query needs no
     * column {@code id}; an ORDER BY or LIMIT of its own holds for each shard. Its deadline is for all of it.
     *
     * <p>A row is handed over once. If a server fails in the midst of some shards' rows, these are not read again, since nothing tells where to go
     * on. Without {@linkplain ShardQuery#bind values}, question marks in the query are operators.
     *
     * @param action takes a row and its shard; may throw, which ends the read; called by threads of the router
     * @return the shards that were not read to their end, if the query {@linkplain ShardQuery#collectFailures collects failures}; otherwise
     *     the first failure is thrown
     */
    public <T> List<UnreadShards> forEachRow(ShardQuery<T> query, ObjIntConsumer<? super T> action) {
        return overMany(() -> manyShards.forEachRow(query, action));
    }

    /**
     * Runs a read on many shards at once, each in a transaction of its own.
     *
     * @return the results in order of arrival; closing the stream before its end stops the reads still running
     */
    public <T, X extends Exception> Stream<ShardResult<T>> scatter(Scatter scatter, ShardWork<T, X> work) {
        return overMany(() -> manyShards.scatter(scatter, work));
    }

    /** The tables that every server has alike. */
    public ReferenceAccess reference() {
        return reference;
    }

    /**
     * The lookup of this name, which finds rows of all shards by a value.
     *
     * @throws org.shardflake.ShardflakeException if the catalog has none of this name, or cannot be reached
     */
    public Lookup lookup(String name) {
        lookups.get(name, LookupDefinition.State.FILLING);
        return new Lookup(name, this, lookups, retryPolicy);
    }

    private <T> T overMany(Supplier<T> read) {
        requireNoTransaction();
        enter();
        try {
            return read.get();
        } finally {
            leave();
        }
    }

    private void requireNoTransaction() {
        ShardTransaction outer = open.current();
        if (outer != null) {
            throw new IllegalStateException(
                    "a read over many shards inside the transaction of shard %s; end the transaction first"
                            .formatted(outer.shard()));
        }
    }

    /** Asks the catalog for a newer map now, and returns the map, which is the one in use if the catalog is down. */
    public ShardMap refresh() {
        maps.refresh();
        return map();
    }

    /** Connects to every server, and reports their health and the map's. Takes as long as the slowest server. */
    public RouterHealth health() {
        enter();
        try {
            return new RouterHealth(maps.health(), manyShards.probe(routes.pools()));
        } finally {
            leave();
        }
    }

    /** The state of the map, without connecting to anything. */
    public MapHealth mapHealth() {
        return maps.health();
    }

    /** The state of the pools, without connecting to anything. */
    public List<PoolStatus> pools() {
        return routes.pools().stream().map(ServerPool::status).toList();
    }

    Routes routes() {
        return routes;
    }

    OpenTransactions open() {
        return open;
    }

    MapSource maps() {
        return maps;
    }

    Retry newRetry() {
        return new Retry(retryPolicy, maps, listener);
    }

    /** Routes by a new map, and drops servers that it lacks once their work is done. */
    void mapChanged(ShardMap map) {
        changingRoutes.lock();
        try {
            if (closed) {
                return;
            }
            Routes old = routes;
            Routes next = old.next(map, this::newPool);
            routes = next;
            old.without(next).forEach(this::drain);
        } finally {
            changingRoutes.unlock();
        }
        listener.mapChanged(map);
    }

    /**
     * Opens pools early, so that a server's first writers, for example after a cutover, do not wait for connections.
     */
    void openPools() {
        routes.pools().forEach(ServerPool::open);
    }

    private void drain(ServerPool pool) {
        draining.add(pool);
        Thread thread = new Thread(
                () -> {
                    pool.drain(drainTimeout);
                    draining.remove(pool);
                },
                "shardflake-drain-" + pool.server().name());
        thread.setDaemon(true);
        thread.start();
    }

    private void checkCut() {
        if (cut) {
            throw closedException();
        }
    }

    /**
     * Stops taking work, waits {@linkplain ShardRouterBuilder#closeTimeout for some time} for running work, and closes
     * all connections, so that work still running then fails. New work gets an {@code IllegalStateException}.
     */
    @Override
    public void close() {
        changingRoutes.lock();
        try {
            closed = true;
        } finally {
            changingRoutes.unlock();
        }
        awaitWork();
        cut = true;
        maps.close();
        manyShards.close();
        routes.pools().forEach(ServerPool::close);
        draining.forEach(ServerPool::close);
    }

    private void awaitWork() {
        long start = System.nanoTime();
        try {
            while (isBusy() && System.nanoTime() - start < closeTimeout.toNanos()) {
                Thread.sleep(LOOK_FOR_WORK_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // An interrupt means that the caller does not want to wait.
        }
    }

    private boolean isBusy() {
        return running.sum() > 0
                || Stream.concat(routes.pools().stream(), draining.stream()).anyMatch(ServerPool::isBusy);
    }
}
