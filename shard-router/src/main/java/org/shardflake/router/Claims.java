/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardKey;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.router.exception.ShardSqlException;
import org.shardflake.router.internal.pool.Access;

/**
 * The statements on the claims of one lookup. Each commits by itself and can be repeated, except {@link #record} and {@link #forget},
 * which belong to the transaction that writes the row.
 *
 * <p>What they keep true is told in decision 0041.
 */
final class Claims {

    enum State {
        /** Unconfirmed: only the row's shard knows whether the claim is valid. */
        NEW,
        /** Confirmed: the claim is valid. */
        HELD,
        /** Being released: only the row's shard knows whether the claim is still valid. */
        LEAVING;

        static State of(String name) {
            return switch (name) {
                case "new" -> NEW;
                case "held" -> HELD;
                default -> LEAVING;
            };
        }
    }

    /** Thrown when a value's shard knows that the lookup was dropped and the router does not know yet. */
    static final class DroppedException extends RuntimeException {
        private static final long serialVersionUID = 1L;
    }

    /** The answer of a row's shard about a claim. */
    enum Verdict {
        HELD,
        VOID,
        /** An open transaction is still deciding whether the claim is valid. */
        BUSY
    }

    /**
     * A value, and the row if several rows can claim the value.
     *
     * @param member tells apart the claims of one value, if several rows can hold it
     */
    record Key(LookupDefinition.Value value, String member) {}

    /**
     * A claim as read from the shard of its value.
     *
     * @param claimedAt null if it was {@link #find found}, since its record is not written then
     */
    record Claim(
            UUID token,
            State state,
            LookupEntry holder,
            @Nullable Timestamp claimedAt) {}

    /** The time after a claim within which its record may be written. */
    private static final String GOOD_FOR = "1 hour";
    /**
     * The time for which a shard remembers that a claim is void. By then its record can no longer be written, as long as the clocks of servers
     * differ by less than the difference.
     */
    private static final String VOID_FOR = "2 days";

    private static final String LOCK_PATIENCE = "100ms";

    /**
     * The mark of a dropped lookup, which {@code lookup drop} leaves in every shard: a claim of the empty value, which no row can hold.
     * Statements that look for a claim return it, too, and those that would put a token into one do not if it is there.
     */
    private static final String DROPPED =
            "FROM ${shard.schema}.shardflake_lookup WHERE lookup OPERATOR(pg_catalog.=) ? AND value OPERATOR(pg_catalog.=) '' AND member OPERATOR(pg_catalog.=) ''";

    private static final String SELECT_DROPPED =
            "SELECT token, 'dropped', held_by_uid, held_by_id, claimed_at " + DROPPED;

    private static final ShardSqlTemplate CLAIM = new ShardSqlTemplate("""
            WITH mine AS (
                INSERT INTO ${shard.schema}.shardflake_lookup (lookup, value, member, held_by_uid, held_by_id, token, state)
                SELECT ?, ?, ?, ?, ?, ?, 'new' WHERE NOT EXISTS (SELECT %s)
                ON CONFLICT (lookup, value, member) DO NOTHING RETURNING token, state, held_by_uid, held_by_id, claimed_at)
            SELECT * FROM mine
             UNION ALL
            %s
             UNION ALL
            SELECT token, state, held_by_uid, held_by_id, claimed_at FROM ${shard.schema}.shardflake_lookup
             WHERE lookup OPERATOR(pg_catalog.=) ? AND value OPERATOR(pg_catalog.=) ? AND member OPERATOR(pg_catalog.=) ?
            """.formatted(DROPPED, SELECT_DROPPED));

    /**
     * Takes over a void claim; when repeated, recognizes its own earlier success. It may come so late that the claim is leaving by then; so it
     * changes nothing if the token is there.
     */
    private static final ShardSqlTemplate TAKE = new ShardSqlTemplate("""
            UPDATE ${shard.schema}.shardflake_lookup
               SET held_by_uid = ?, held_by_id = ?, token = ?, state = 'new', claimed_at = pg_catalog.clock_timestamp()
             WHERE lookup OPERATOR(pg_catalog.=) ? AND value OPERATOR(pg_catalog.=) ? AND member OPERATOR(pg_catalog.=) ?
               AND token OPERATOR(pg_catalog.=) ? AND NOT EXISTS (SELECT %s)
            """.formatted(DROPPED));

    private static final ShardSqlTemplate RECORD = new ShardSqlTemplate("""
            INSERT INTO ${shard.schema}.shardflake_lookup_owner (token, lookup, value, held_by_uid, held_by_id, is_void)
            SELECT ?, ?, ?, ?, ?, false WHERE pg_catalog.clock_timestamp() OPERATOR(pg_catalog.<) (?::pg_catalog.timestamptz OPERATOR(pg_catalog.+) interval '%s')
               AND (?::pg_catalog.text IS NULL OR pg_catalog.pg_current_xact_id()::pg_catalog.text OPERATOR(pg_catalog.=) ?)
            ON CONFLICT (token) DO NOTHING
            RETURNING pg_catalog.pg_current_xact_id()::pg_catalog.text
            """.formatted(GOOD_FOR));

    /**
     * Waits for the transaction that writes the record of the token, if there is one. Its record may be too young to be seen; then there
     * is no row.
     */
    private static final ShardSqlTemplate DECIDE = new ShardSqlTemplate("""
            WITH patience AS MATERIALIZED (SELECT pg_catalog.set_config('lock_timeout', '%s', true)),
            old AS (
                DELETE FROM ${shard.schema}.shardflake_lookup_owner WHERE token OPERATOR(pg_catalog.=) ANY (
                    SELECT token FROM ${shard.schema}.shardflake_lookup_owner
                     WHERE is_void AND written_at OPERATOR(pg_catalog.<) (pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) interval '%s') LIMIT 5 FOR UPDATE SKIP LOCKED)),
            voided AS (
                INSERT INTO ${shard.schema}.shardflake_lookup_owner (token, lookup, is_void) SELECT ?, ?, true FROM patience
                ON CONFLICT (token) DO NOTHING RETURNING is_void)
            SELECT is_void FROM voided
             UNION ALL
            SELECT is_void FROM ${shard.schema}.shardflake_lookup_owner WHERE token OPERATOR(pg_catalog.=) ?
            """.formatted(LOCK_PATIENCE, VOID_FOR));

    private static final ShardSqlTemplate ASK = new ShardSqlTemplate(
            "SELECT token FROM ${shard.schema}.shardflake_lookup_owner WHERE token OPERATOR(pg_catalog.=) ANY (?) AND NOT is_void");

    private static final ShardSqlTemplate FIND = new ShardSqlTemplate("""
            SELECT token, CASE WHEN value OPERATOR(pg_catalog.=) '' THEN 'dropped' ELSE state END, held_by_uid, held_by_id
              FROM ${shard.schema}.shardflake_lookup
             WHERE lookup OPERATOR(pg_catalog.=) ? AND value OPERATOR(pg_catalog.=) ANY (ARRAY[?, ''])
            """);

    private static final ShardSqlTemplate CONFIRM = new ShardSqlTemplate(
            "UPDATE ${shard.schema}.shardflake_lookup SET state = 'held' WHERE lookup OPERATOR(pg_catalog.=) ? AND value OPERATOR(pg_catalog.=) ? AND member OPERATOR(pg_catalog.=) ? AND token OPERATOR(pg_catalog.=) ? AND state OPERATOR(pg_catalog.=) 'new'");

    private static final ShardSqlTemplate LEAVE = new ShardSqlTemplate("""
            WITH left_now AS (
                UPDATE ${shard.schema}.shardflake_lookup SET state = 'leaving'
                 WHERE lookup OPERATOR(pg_catalog.=) ? AND value OPERATOR(pg_catalog.=) ? AND member OPERATOR(pg_catalog.=) ?
                   AND held_by_uid OPERATOR(pg_catalog.=) ? AND held_by_id OPERATOR(pg_catalog.=) ?
                RETURNING token, state, held_by_uid, held_by_id, claimed_at)
            SELECT * FROM left_now
             UNION ALL
            %s
            """.formatted(SELECT_DROPPED));

    /** Locks a claim's record, after waiting for any transaction that is deleting it. */
    private static final ShardSqlTemplate HOLD = new ShardSqlTemplate(
            "SELECT true FROM ${shard.schema}.shardflake_lookup_owner WHERE token OPERATOR(pg_catalog.=) ? AND NOT is_void FOR UPDATE");

    private static final ShardSqlTemplate FORGET = new ShardSqlTemplate(
            "DELETE FROM ${shard.schema}.shardflake_lookup_owner WHERE token OPERATOR(pg_catalog.=) ? AND NOT is_void");

    private static final ShardSqlTemplate DELETE = new ShardSqlTemplate(
            "DELETE FROM ${shard.schema}.shardflake_lookup WHERE lookup OPERATOR(pg_catalog.=) ? AND value OPERATOR(pg_catalog.=) ? AND member OPERATOR(pg_catalog.=) ? AND token OPERATOR(pg_catalog.=) ?");

    private final ShardExecutor executor;
    private final LookupDefinition lookup;

    Claims(ShardExecutor executor, LookupDefinition lookup) {
        this.executor = executor;
        this.lookup = lookup;
    }

    /** Claims a value with a token unless it is claimed already; returns the claim that the value then has. */
    Claim claim(Key key, LookupEntry holder, UUID token) {
        while (true) {
            List<Claim> claims = inShardOf(key, CLAIM, Access.WRITE, statement -> {
                set(statement, 1, key);
                statement.setLong(4, holder.uid());
                statement.setLong(5, holder.id());
                statement.setObject(6, token);
                statement.setInt(7, lookup.number());
                statement.setInt(8, lookup.number());
                set(statement, 9, key);
                return read(statement);
            });
            if (!claims.isEmpty()) {
                return claims.get(0);
            }
            // Another's claim came after the statement's snapshot. It may have gone since, too.
        }
    }

    /** Replaces a void claim with this token's, unless another transaction did so first. The next {@link #claim} tells. */
    void take(Key key, LookupEntry holder, Claim gone, UUID token) {
        inShardOf(key, TAKE, Access.WRITE, statement -> {
            statement.setLong(1, holder.uid());
            statement.setLong(2, holder.id());
            statement.setObject(3, token);
            set(statement, 4, key);
            statement.setObject(7, gone.token());
            statement.setInt(8, lookup.number());
            return statement.executeUpdate();
        });
    }

    /**
     * Records in the row's transaction that the claim is valid once this transaction commits.
     *
     * @param writer the only transaction that may; null for any
     * @return PostgreSQL's number of the transaction; null if it may not, or if the claim is void or too old
     */
    @Nullable
    String record(ShardTransaction tx, Key key, LookupEntry holder, Claim claim, @Nullable String writer) {
        return inTransaction(tx, RECORD, statement -> {
                    statement.setObject(1, claim.token());
                    statement.setInt(2, lookup.number());
                    statement.setString(3, key.value().kept());
                    statement.setLong(4, holder.uid());
                    statement.setLong(5, holder.id());
                    statement.setTimestamp(6, claim.claimedAt());
                    statement.setString(7, writer);
                    statement.setString(8, writer);
                    try (ResultSet row = statement.executeQuery()) {
                        return row.next() ? Optional.of(row.getString(1)) : Optional.<String>empty();
                    }
                })
                .orElse(null);
    }

    /** Makes the shard of a claim's row decide whether the claim is valid: a claim without a record can never get one afterwards. */
    Verdict decide(Claim claim) {
        int shard = shardOf(claim);
        while (true) {
            List<Boolean> isVoid = new ArrayList<>();
            try {
                isVoid.addAll(inShard(shard, DECIDE, Access.WRITE, statement -> {
                    statement.setObject(1, claim.token());
                    statement.setInt(2, lookup.number());
                    statement.setObject(3, claim.token());
                    return flags(statement);
                }));
            } catch (ShardSqlException e) {
                if (e.sqlState().equals("55P03")) {
                    return Verdict.BUSY;
                }
                throw e;
            }
            if (!isVoid.isEmpty()) {
                return isVoid.get(0) ? Verdict.VOID : Verdict.HELD;
            }
        }
    }

    private static List<Boolean> flags(PreparedStatement statement) throws SQLException {
        List<Boolean> flags = new ArrayList<>();
        try (ResultSet row = statement.executeQuery()) {
            while (row.next()) {
                flags.add(row.getBoolean(1));
            }
        }
        return flags;
    }

    /** All claims of a value. */
    List<Claim> find(LookupDefinition.Value value) {
        return inShard(shard(value.key()), FIND, Access.READ, statement -> {
            statement.setInt(1, lookup.number());
            statement.setString(2, value.kept());
            List<Claim> claims = new ArrayList<>();
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    claims.add(claim(row, null));
                }
            }
            return claims;
        });
    }

    /** The tokens of the claims whose record is committed. */
    List<UUID> committed(Collection<Claim> claims) {
        Map<Integer, List<UUID>> byShard = new HashMap<>();
        claims.forEach(claim -> byShard.computeIfAbsent(shardOf(claim), shard -> new ArrayList<>())
                .add(claim.token()));
        List<UUID> committed = new ArrayList<>();
        byShard.forEach((shard, tokens) -> committed.addAll(inShard(shard, ASK, Access.READ, statement -> {
            Array asked = statement.getConnection().createArrayOf("uuid", tokens.toArray());
            statement.setArray(1, asked);
            List<UUID> found = new ArrayList<>();
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    found.add(row.getObject(1, UUID.class));
                }
            }
            return found;
        })));
        return committed;
    }

    /**
     * Makes transactions that would release or take the claim's value wait for this one; false if this transaction sees the claim as invalid.
     */
    boolean hold(ShardTransaction tx, Claim claim) {
        return inTransaction(tx, HOLD, statement -> {
            statement.setObject(1, claim.token());
            return !flags(statement).isEmpty();
        });
    }

    /** Notes that a claim's record was seen, so that the next reader need not look for it. */
    void confirm(Key key, Claim claim) {
        inShardOf(key, CONFIRM, Access.WRITE, statement -> {
            set(statement, 1, key);
            statement.setObject(4, claim.token());
            return statement.executeUpdate();
        });
    }

    /** Marks a row's claim as being released, so that readers ask the row's shard; returns the claim if the row has it. */
    List<Claim> leave(Key key, LookupEntry holder) {
        return inShardOf(key, LEAVE, Access.WRITE, statement -> {
            set(statement, 1, key);
            statement.setLong(4, holder.uid());
            statement.setLong(5, holder.id());
            statement.setInt(6, lookup.number());
            return read(statement);
        });
    }

    /** Deletes a claim's record in the row's transaction; false if it had no record. */
    boolean forget(ShardTransaction tx, Claim claim) {
        return inTransaction(tx, FORGET, statement -> {
                    statement.setObject(1, claim.token());
                    return statement.executeUpdate();
                })
                == 1;
    }

    /** Deletes a claim whose record can never be committed. */
    void delete(Key key, UUID token) {
        inShardOf(key, DELETE, Access.WRITE, statement -> {
            set(statement, 1, key);
            statement.setObject(4, token);
            return statement.executeUpdate();
        });
    }

    private int shardOf(Claim claim) {
        return executor.map().shardOfUid(claim.holder().uid());
    }

    private void set(PreparedStatement statement, int first, Key key) throws SQLException {
        statement.setInt(first, lookup.number());
        statement.setString(first + 1, key.value().kept());
        statement.setString(first + 2, key.member());
    }

    private static List<Claim> read(PreparedStatement statement) throws SQLException {
        List<Claim> claims = new ArrayList<>();
        try (ResultSet row = statement.executeQuery()) {
            while (row.next()) {
                claims.add(claim(row, row.getTimestamp(5)));
            }
        }
        return claims;
    }

    private static Claim claim(ResultSet row, @Nullable Timestamp claimedAt) throws SQLException {
        String state = row.getString(2);
        if (state.equals("dropped")) {
            throw new DroppedException();
        }
        return new Claim(
                Objects.requireNonNull(row.getObject(1, UUID.class)),
                State.of(state),
                new LookupEntry(row.getLong(3), row.getLong(4)),
                claimedAt);
    }

    /** The work of one statement. */
    @FunctionalInterface
    private interface Execution<T> {
        T run(PreparedStatement statement) throws SQLException;
    }

    private <T> T inShardOf(Key key, ShardSqlTemplate text, Access access, Execution<T> execution) {
        return inShard(shard(key.value().key()), text, access, execution);
    }

    private int shard(ShardKey key) {
        return executor.locate(key).shard();
    }

    private <T> T inShard(int shard, ShardSqlTemplate text, Access access, Execution<T> execution) {
        String sql = text.of(shard);
        try {
            return executor.alone(shard, access, (connection, server) -> run(connection, server, sql, execution));
        } catch (ShardSqlException e) {
            throw explain(shard, e);
        }
    }

    private <T> T inTransaction(ShardTransaction tx, ShardSqlTemplate text, Execution<T> execution) {
        try {
            return run(tx.connection(), tx.placement().server().name(), text.of(tx.shard()), execution);
        } catch (ShardSqlException e) {
            throw explain(tx.shard(), e);
        }
    }

    private <T> T run(Connection connection, String server, String sql, Execution<T> execution) {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            return execution.run(statement);
        } catch (SQLException e) {
            throw new ShardSqlException("use lookup " + lookup.name(), server, e);
        }
    }

    /** Explains a failure that is due to missing tables, which a retry would meet again; a shard that has moved was tried elsewhere before. */
    private RuntimeException explain(int shard, ShardSqlException e) {
        return e.sqlState().equals("42P01")
                ? new ShardflakeException(
                        Kind.PRECONDITION,
                        "shard %s lacks the tables of lookups: %s".formatted(shard, e.getMessage()),
                        Advice.of("%s creates them in shards that lack them", CliCommand.SCHEMA_DEPLOY),
                        e)
                : e;
    }
}
