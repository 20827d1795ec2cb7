/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.shardflake.ShardKey;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;

/**
 * Removes a lookup's values so that no transaction can commit a claim afterwards, whether it claimed earlier or its router does not know of the
 * removal. So the lookup of that name that is made next, and its backfill, see all rows that were written under this one.
 *
 * <p>Each method does its part of one shard, and has to have done it in all before the next. For many threads; all can be repeated.
 */
final class Removal {

    private static final int ROWS_AT_ONCE = 5000;
    private static final int CLAIMS_AT_ONCE = 1000;

    /** Marks a lookup as gone for routers, by a claim of the empty value, which no row can hold. It stays. */
    private static final String MARK = """
            INSERT INTO ${shard.schema}.shardflake_lookup (lookup, value, member, held_by_uid, held_by_id, token, state)
            VALUES (?, '', '', 0, 0, gen_random_uuid(), 'leaving') ON CONFLICT (lookup, value, member) DO NOTHING
            """;

    /**
     * Reads claims whose record may still be written: that is refused more than an hour after the claim, by clocks that differ by less than two
     * days.
     */
    private static final String CLAIMS = """
            SELECT value, member, held_by_uid, token FROM ${shard.schema}.shardflake_lookup
             WHERE lookup = ? AND (value, member) > (?, ?) AND state <> 'held' AND claimed_at > clock_timestamp() - interval '2 days'
             ORDER BY value, member LIMIT ?
            """;

    private static final String DECIDE = """
            INSERT INTO ${shard.schema}.shardflake_lookup_owner (token, lookup, is_void) SELECT token, ?, true FROM unnest(?::uuid[]) t (token)
            ON CONFLICT (token) DO NOTHING
            """;

    private static final String DELETE_RECORDS = """
            DELETE FROM ${shard.schema}.shardflake_lookup_owner WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM ${shard.schema}.shardflake_lookup_owner WHERE lookup = ? AND NOT is_void LIMIT ?))
            """;

    private static final String DELETE_CLAIMS = """
            DELETE FROM ${shard.schema}.shardflake_lookup WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM ${shard.schema}.shardflake_lookup WHERE lookup = ? AND value <> '' LIMIT ?))
            """;

    private record Claim(String value, String member, long uid, UUID token) {}

    private final int lookup;
    private final ShardRouter router;
    private final Duration patience;
    private final OpenWriters writers;

    /** @param patience how long to wait for a transaction that has claimed or released a value */
    Removal(int lookup, ShardRouter router, Duration patience) {
        this.lookup = lookup;
        this.router = router;
        this.patience = patience;
        this.writers = new OpenWriters(router, patience);
    }

    /** Makes the shard refuse claims of the lookup from now on. */
    void mark(int shard) throws SQLException {
        update(shard, MARK, lookup);
    }

    /** Lets the rows' shards decide about the claims in this shard, after which no more records can be written. */
    void decide(int shard) throws SQLException {
        writers.await(shard, "shardflake_lookup"); // Statements that came before the mark.
        String value = "";
        String member = "";
        List<Claim> claims;
        do {
            claims = claims(shard, value, member);
            Map<Integer, List<UUID>> byOwner = new HashMap<>();
            for (Claim claim : claims) {
                byOwner.computeIfAbsent(router.map().shardOfUid(claim.uid()), its -> new ArrayList<>())
                        .add(claim.token());
                value = claim.value();
                member = claim.member();
            }
            for (Map.Entry<Integer, List<UUID>> some : byOwner.entrySet()) {
                decide(some.getKey(), some.getValue());
            }
        } while (claims.size() == CLAIMS_AT_ONCE);
    }

    private List<Claim> claims(int shard, String value, String member) throws SQLException {
        return inShard(
                shard,
                List.of(),
                tx -> Sql.list(
                        tx.connection(),
                        tx.sql(CLAIMS),
                        row -> new Claim(
                                row.getString(1), row.getString(2), row.getLong(3), row.getObject(4, UUID.class)),
                        lookup,
                        value,
                        member,
                        CLAIMS_AT_ONCE));
    }

    /** Waits for the transactions that have recorded one of these claims. */
    private void decide(int shard, List<UUID> tokens) throws SQLException {
        boolean decided = Poll.everyMillis(20, patience).until(() -> {
            try {
                return inShard(shard, false, tx -> {
                    Connection connection = tx.connection();
                    // Shorter than it takes to find a deadlock, of which the application's transaction could be the
                    // victim.
                    Sql.execute(connection, "SET LOCAL lock_timeout = '100ms'");
                    Sql.update(connection, tx.sql(DECIDE), lookup, connection.createArrayOf("uuid", tokens.toArray()));
                    return true;
                });
            } catch (SQLException e) {
                if ("55P03".equals(e.getSQLState())) {
                    return false;
                }
                throw e;
            }
        });
        if (!decided) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "a transaction in shard %s on %s that claims a value has not ended in %s s"
                            .formatted(shard, router.map().server(shard).name(), patience.toSeconds()),
                    "end it, and run the same command again",
                    null);
        }
    }

    /** Waits for transactions that have recorded a claim, hold one, or take one back. */
    void await(int shard) throws SQLException {
        writers.await(shard, "shardflake_lookup_owner");
    }

    /** Deletes records and claims, after transactions that hold or withdraw a claim have ended. */
    void delete(int shard) throws SQLException {
        await(shard);
        while (update(shard, DELETE_RECORDS, lookup, ROWS_AT_ONCE) == ROWS_AT_ONCE) {
            // The rest.
        }
        while (update(shard, DELETE_CLAIMS, lookup, ROWS_AT_ONCE) == ROWS_AT_ONCE) {
            // The rest.
        }
    }

    private int update(int shard, String sql, Object... parameters) throws SQLException {
        return inShard(shard, 0, tx -> Sql.update(tx.connection(), tx.sql(sql), parameters));
    }

    @FunctionalInterface
    private interface Work<T> {
        T run(ShardTransaction tx) throws SQLException;
    }

    /** Runs work in a shard, unless the lookup has no tables there because its creation was interrupted. */
    private <T> T inShard(int shard, T ifNone, Work<T> work) throws SQLException {
        return router.<T, SQLException>write(
                ShardKey.shard(shard),
                tx -> Sql.isTrue(
                                tx.connection(),
                                tx.sql("SELECT to_regclass('${shard.schema}.shardflake_lookup_owner') IS NULL"))
                        ? ifNone
                        : work.run(tx));
    }
}
