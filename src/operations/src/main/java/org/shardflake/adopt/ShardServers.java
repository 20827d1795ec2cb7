/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;
import org.shardflake.sql.AdvisoryLock;

/** One adopted table on all servers that have shards; runs work on them in parallel. */
final class ShardServers implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final String name;
    private final List<ShardTables> servers = new ArrayList<>();
    private final ShardTables[] serverOfShard;
    private final ExecutorService threads = Executors.newCachedThreadPool(ShardServers::daemon);

    /** Work on one server. */
    @FunctionalInterface
    interface Work {
        void on(ShardTables server) throws SQLException;
    }

    @FunctionalInterface
    interface Query<T> {
        T run() throws SQLException;
    }

    /** @param table without a schema, not quoted */
    ShardServers(AdoptSession session, String table) throws SQLException {
        this.name = table;
        String quoted = Sql.text(session.old(), "SELECT quote_ident(?)", table);
        serverOfShard = new ShardTables[session.map().sharding().shardCount()];
        session.servers().forEach((server, connection) -> {
            ShardTables tables =
                    new ShardTables(server.name(), connection, session.map().shards(server), quoted);
            servers.add(tables);
            tables.shards().stream().forEach(shard -> serverOfShard[shard] = tables);
        });
    }

    /**
     * The table as the shards have it.
     *
     * @throws AdoptRefusedException if a shard has no such table, or would react to rows that are brought there
     */
    TableFacts table() throws SQLException {
        for (ShardTables server : servers) {
            List<String> missing = server.missing();
            if (!missing.isEmpty()) {
                throw new AdoptRefusedException(
                        "table %3$s is missing in %1$s on %2$s, such as %4$s"
                                .formatted(Plural.of(missing.size(), "shard"), server.server(), name, missing.get(0)),
                        Advice.of("create it on all shards with %s", CliCommand.SCHEMA_DEPLOY));
            }
            refuseFiring(server);
        }
        return TableFacts.find(servers.get(0).connection(), example(), List.of())
                .orElseThrow();
    }

    /**
     * Refuses triggers that would fire for copied rows, which arrive in any order, and which are deleted and written again when they have
     * changed.
     */
    private void refuseFiring(ShardTables server) throws SQLException {
        List<String> firing = server.isSilenced() ? List.of() : server.firing();
        if (!firing.isEmpty()) {
            throw new AdoptRefusedException(
                    "%s would fire for each row brought into %s, and this role may not set session_replication_role on %s"
                            .formatted(String.join(", ", firing), name, server.server()),
                    "GRANT SET ON PARAMETER session_replication_role there; where that is not possible, deploy foreign keys and triggers after the tables are adopted");
        }
    }

    /**
     * Keeps other processes from bringing rows of a table, and waits for transactions that a killed process may still commit.
     *
     * @param old the table in the old database
     */
    void lock(String old) throws SQLException {
        AdvisoryLock lock = new AdvisoryLock("shardflake adopt " + old);
        for (ShardTables server : servers) {
            Optional<String> holder = lock.take(server.connection(), PATIENCE);
            if (holder.isPresent()) {
                throw new AdoptException(
                        ShardflakeException.Kind.FAILURE,
                        "on %s, another session still brings rows of %s: %s holds its lock"
                                .formatted(server.server(), old, holder.get()),
                        "wait for it, or end it there with pg_terminate_backend");
            }
        }
    }

    /** Allows other processes to bring rows again. */
    void unlock(String old) throws SQLException {
        each(server -> new AdvisoryLock("shardflake adopt " + old).release(server.connection()));
    }

    /**
     * Discards rows that were staged but not merged. A COPY that a failure leaves open keeps whatever else uses its connection waiting for ever, in the
     * driver, and several tables share a connection.
     */
    void forget() throws SQLException {
        each(ShardTables::forget);
    }

    /** Runs work on all servers, one after the other, also after a failure. */
    private void each(Work work) throws SQLException {
        SQLException failure = null;
        for (ShardTables server : servers) {
            try {
                work.on(server);
            } catch (SQLException e) {
                if (failure == null) {
                    failure = e;
                } else {
                    failure.addSuppressed(e);
                }
            }
        }
        rethrow(failure);
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "shardflake adopt");
        thread.setDaemon(true);
        return thread;
    }

    List<ShardTables> all() {
        return servers;
    }

    ShardTables ofShard(int shard) {
        return serverOfShard[shard];
    }

    /** The name of the table in some shard, and a connection to it. */
    String example() {
        ShardTables first = servers.get(0);
        return first.table(first.shards().stream().findFirst().orElseThrow());
    }

    <T> Future<T> start(Query<T> query) {
        return threads.submit(query::run);
    }

    /** Runs work on all servers and returns when it has ended on each, even after a failure: no connection is in use then. */
    void onAll(Work work) throws SQLException {
        List<Future<?>> all = new ArrayList<>();
        for (ShardTables server : servers) {
            all.add(start(() -> {
                work.on(server);
                return true;
            }));
        }
        awaitAll(all);
    }

    /** Waits until all work has ended, and throws the first failure, if any. */
    static void awaitAll(List<Future<?>> all) throws SQLException {
        Exception failure = null;
        for (Future<?> one : all) {
            try {
                await(one);
            } catch (SQLException | RuntimeException e) {
                if (failure == null) {
                    failure = e;
                } else {
                    failure.addSuppressed(e);
                }
            }
        }
        rethrow(failure);
    }

    private static void rethrow(@Nullable Exception failure) throws SQLException {
        if (failure instanceof SQLException sql) {
            throw sql;
        }
        if (failure instanceof RuntimeException runtime) {
            throw runtime;
        }
    }

    static <T> T await(Future<T> work) throws SQLException {
        try {
            return work.get();
        } catch (ExecutionException e) {
            rethrow(e.getCause() instanceof Exception cause ? cause : null);
            throw new IllegalStateException("work on a server failed", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AdoptException("interrupted", e);
        }
    }

    @Override
    public void close() {
        threads.shutdown();
    }
}
