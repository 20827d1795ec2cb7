/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.List;
import java.util.Set;
import org.shardflake.Sharding;

/**
 * A shard that could not be deployed and is unchanged.
 *
 * @param server the name of its server
 * @param changeSet the changeset that failed, or empty if none had begun
 * @param sql the statement that failed, or empty
 * @param error PostgreSQL's message
 * @param sqlState PostgreSQL's SQLSTATE, or empty if it gave none
 * @param position the character of the statement that PostgreSQL pointed at, counted from 1; 0 if none
 */
public record ShardFailure(
        int shard, String server, String changeSet, String sql, String error, String sqlState, int position) {

    /**
     * The SQLSTATE classes that depend on a shard's contents or on concurrent activity: exceptions of data, of constraints and of PL/pgSQL,
     * connections, resources, locks, the server's own state, and fences. All others will occur on every shard.
     */
    private static final Set<String> OF_ONE_SHARD =
            Set.of("", "08", "21", "22", "23", "27", "40", "44", "53", "54", "55", "57", "58", "P0", "SF", "XX");

    /** Whether the changelog may be the reason, so that another shard would fail too. */
    boolean maySpread() {
        return !OF_ONE_SHARD.contains(sqlState.substring(0, Math.min(2, sqlState.length())));
    }

    /** A description without the shard's own name and number: changeset, SQLSTATE, statement and error. */
    public List<String> kind() {
        return List.of(changeSet, sqlState, general(sql), general(error));
    }

    /** Whether another shard failed at the same statement for the same reason, even if the error names other details. */
    boolean isLike(ShardFailure other) {
        return kind().subList(0, 3).equals(other.kind().subList(0, 3));
    }

    private String general(String text) {
        return text.replace(Sharding.schema(shard), ShardChangeSet.TEMPLATE_SCHEMA)
                .replace("_tables(%s)".formatted(shard), "_tables(shard)")
                .replace("_shard(%s)".formatted(shard), "_shard(shard)");
    }
}
