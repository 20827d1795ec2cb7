/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.List;
import java.util.Optional;

/**
 * A changeset as the SQL that deploys it to a shard.
 *
 * <p>Table names in it are unqualified, or qualified by {@link #TEMPLATE_SCHEMA}, which stands for the shard's schema.
 *
 * @param path its changelog file
 * @param files where its text may be, as paths below the search path
 * @param checksum Liquibase's, the same for all shards
 * @param sql its statements
 * @param rollbackSql the statements that undo it; none if it cannot be undone
 * @param inTransaction whether it can share a transaction with others; false for CREATE INDEX CONCURRENTLY, for example
 * @param runOnChange whether it runs again when its checksum changes
 * @param runAlways whether it runs at every deployment
 * @param hasPreconditions whether Liquibase must be asked on each shard
 * @param lasts whether it may leave something in its session, such as a setting, that the next shard must not see
 */
record ShardChangeSet(
        String id,
        String author,
        String path,
        List<String> files,
        String checksum,
        String description,
        List<String> sql,
        Optional<List<String>> rollbackSql,
        boolean inTransaction,
        boolean runOnChange,
        boolean runAlways,
        boolean hasPreconditions,
        boolean lasts) {

    /** Liquibase's default schema, and the value of {@code ${shard.schema}}. */
    static final String TEMPLATE_SCHEMA = "shardflake_template_shard";

    /** Identifies a changeset in messages. */
    String key() {
        return path + "::" + id + "::" + author;
    }

    /** A statement as it runs for one shard. */
    static String forShard(String sql, String schema) {
        return sql.replace(TEMPLATE_SCHEMA, schema);
    }
}
