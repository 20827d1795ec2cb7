/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The SQL of a changeset that depends on the structure of its tables, such as {@code loadData}. It is made on the first shard whose turn
 * it is, and is the same for all others. Safe for any thread.
 */
final class LaterSql {

    private final Making making;
    private volatile @Nullable List<String> made;

    LaterSql(Making making) {
        this.making = making;
    }

    /** Generates SQL with Liquibase, on a schema that has the tables. */
    @FunctionalInterface
    interface Making {
        List<String> make(Connection connection, String schema) throws Exception;
    }

    Optional<List<String>> made() {
        return Optional.ofNullable(made);
    }

    /**
     * Generates the SQL, unless that was done already.
     *
     * @param connection its transaction has made the tables
     */
    synchronized void makeOnce(Connection connection, String schema) {
        if (made != null) {
            return;
        }
        try {
            made = making.make(connection, schema);
        } catch (Exception e) {
            throw new DeployException("Liquibase cannot make its SQL: " + ShardChangelog.rootMessage(e), e);
        }
    }
}
