/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.sql.SQLException;

/** What is compared. */
enum Candidate {
    BARE("bare JDBC") {
        @Override
        Peer open(Layout layout) {
            return new BareJdbc(layout, NEWEST);
        }
    },
    SPRING("Spring AbstractRoutingDataSource") {
        @Override
        Peer open(Layout layout) {
            return new SpringRouting(layout, NEWEST);
        }
    },
    SHARDINGSPHERE("ShardingSphere-JDBC") {
        @Override
        Peer open(Layout layout) throws SQLException {
            return new ShardingSphere(layout, false);
        }

        @Override
        String database() {
            return ShardingSphere.DATABASE;
        }

        @Override
        String table(int shard) {
            return ShardingSphere.table(shard);
        }
    },
    SHARDFLAKE_JOOQ("Shardflake with jOOQ") {
        @Override
        Peer open(Layout layout) {
            return new ShardflakeJooq(layout);
        }
    },
    SHARDFLAKE_JDBC("Shardflake with JDBC") {
        @Override
        Peer open(Layout layout) {
            return new ShardflakeJdbc(layout);
        }
    };

    /** How many of the newest rows are asked for. */
    static final int NEWEST = 20;

    private final String label;

    Candidate(String label) {
        this.label = label;
    }

    String label() {
        return label;
    }

    boolean isOurs() {
        return this == SHARDFLAKE_JDBC || this == SHARDFLAKE_JOOQ;
    }

    /** Makes it ready for work; whoever does so closes it. */
    abstract Peer open(Layout layout) throws SQLException;

    /** The database of its tables. */
    String database() {
        return Layout.DATABASE;
    }

    /** The table of a shard, in that database. */
    String table(int shard) {
        return Layout.table(shard);
    }
}
