/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.catalog.LookupDefinition.State;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.AdvisoryLock;

/** A lookup's records in the catalog, and the lock held while changing them. Thread-safe. */
final class LookupCatalog implements AutoCloseable {

    private static final Duration LOCK_PATIENCE = Duration.ofSeconds(2);

    /** The progress of a backfill in one shard. */
    record Progress(long lastId, long claimed, long refused, boolean isDone) {}

    private final ServerUrl url;
    private final String name;
    private final Connection connection;

    private LookupCatalog(ServerUrl url, String name, Connection connection) {
        this.url = url;
        this.name = name;
        this.connection = connection;
    }

    /**
     * Connects, and takes the lock.
     *
     * @throws ShardflakeException if another command has it, or the catalog is of an older version
     */
    static LookupCatalog lock(ServerUrl url, String name) throws SQLException {
        Connection connection = url.connect("shardflake lookup");
        try {
            if (!Sql.isTrue(connection, "SELECT to_regclass('shardflake_catalog.lookup') IS NOT NULL")) {
                ShardCatalog.at(url).version(); // There may be no catalog at all.
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "the catalog is of an older version, which keeps no lookups",
                        Advice.of("bring it up to date with %s", CliCommand.UPGRADE),
                        null);
            }
            Optional<String> holder = new AdvisoryLock("shardflake.lookup." + name).take(connection, LOCK_PATIENCE);
            if (holder.isPresent()) {
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "another command works on lookup %s; nothing was changed. In the catalog, %s holds its lock"
                                .formatted(name, holder.get()),
                        "wait for it to end",
                        null);
            }
            return new LookupCatalog(url, name, connection);
        } catch (SQLException | RuntimeException e) {
            Sql.close(connection);
            throw e;
        }
    }

    Optional<LookupDefinition> find() {
        return ShardCatalog.at(url).lookups().stream()
                .filter(lookup -> lookup.name().equals(name))
                .findFirst();
    }

    /** @throws ShardflakeException if there is no such lookup */
    LookupDefinition get() {
        return find().orElseThrow(() -> {
            List<String> names = ShardCatalog.at(url).lookups().stream()
                    .map(LookupDefinition::name)
                    .toList();
            return new ShardflakeException(
                    Kind.USAGE,
                    "there is no lookup %s".formatted(name),
                    names.isEmpty()
                            ? Advice.of("%s creates one", CliCommand.LOOKUP_CREATE)
                            : "one of " + String.join(", ", names),
                    null);
        });
    }

    /** @param used a number that shards know; a catalog that was restored to a moment before could give it again */
    synchronized void insert(LookupPlan plan, int used) throws SQLException {
        Sql.inTransaction(connection, () -> {
            if (insert(plan) <= used) {
                delete();
                Sql.list(
                        connection,
                        "SELECT setval(pg_get_serial_sequence('shardflake_catalog.lookup', 'number'), ?)",
                        row -> row.getLong(1),
                        (long) used);
                insert(plan);
            }
            return true;
        });
    }

    private int insert(LookupPlan plan) throws SQLException {
        LookupDefinition.Source source = plan.source().orElse(null);
        return Sql.list(
                        connection,
                        "INSERT INTO shardflake_catalog.lookup (name, is_unique, ignores_case, is_hashed, table_name, column_name, uid_column, id_column) VALUES (?, ?, ?, ?, ?::text, ?::text, ?::text, ?::text) RETURNING number",
                        row -> row.getInt(1),
                        plan.name(),
                        plan.unique(),
                        plan.ignoresCase(),
                        plan.hashed(),
                        source == null ? null : source.table(),
                        source == null ? null : source.column(),
                        source == null ? null : source.uidColumn(),
                        source == null ? null : source.idColumn())
                .get(0);
    }

    synchronized void set(State state) throws SQLException {
        Sql.call(connection, "UPDATE shardflake_catalog.lookup SET state = ? WHERE name = ?", state.toString(), name);
    }

    synchronized void delete() throws SQLException {
        Sql.call(connection, "DELETE FROM shardflake_catalog.lookup WHERE name = ?", name);
    }

    synchronized Optional<Progress> progress(int number, int shard) throws SQLException {
        return Sql.list(
                        connection,
                        "SELECT last_id, claimed, refused, is_done FROM shardflake_catalog.lookup_backfill WHERE lookup = ? AND shard = ?",
                        row -> new Progress(row.getLong(1), row.getLong(2), row.getLong(3), row.getBoolean(4)),
                        number,
                        shard)
                .stream()
                .findFirst();
    }

    synchronized void record(int number, int shard, Progress progress) throws SQLException {
        Sql.call(
                connection,
                """
                INSERT INTO shardflake_catalog.lookup_backfill (lookup, shard, last_id, claimed, refused, is_done) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (lookup, shard) DO UPDATE
                   SET last_id = excluded.last_id, claimed = excluded.claimed, refused = excluded.refused, is_done = excluded.is_done
                """,
                number,
                shard,
                progress.lastId(),
                progress.claimed(),
                progress.refused(),
                progress.isDone());
    }

    /** Makes the next backfill start from the beginning. */
    synchronized void forgetProgress(int number) throws SQLException {
        Sql.call(connection, "DELETE FROM shardflake_catalog.lookup_backfill WHERE lookup = ?", number);
    }

    synchronized LookupStatus status(LookupDefinition lookup, int shards) throws SQLException {
        return status(connection, lookup, shards);
    }

    static LookupStatus status(Connection connection, LookupDefinition lookup, int shards) throws SQLException {
        return Sql.list(
                        connection,
                        "SELECT count(*) FILTER (WHERE is_done), COALESCE(sum(claimed), 0), COALESCE(sum(refused), 0) FROM shardflake_catalog.lookup_backfill WHERE lookup = ?",
                        row -> new LookupStatus(lookup, shards, row.getInt(1), row.getLong(2), row.getLong(3)),
                        lookup.number())
                .get(0);
    }

    @Override
    public void close() {
        Sql.close(connection);
    }
}
