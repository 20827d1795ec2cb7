/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.assess;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The way in which a database would be sharded.
 *
 * @param database its name
 * @param serverVersion such as 15.4
 * @param key the proposed sharding key, or the one that was asked for
 * @param others other keys that were considered, the best first
 * @param tables all tables, in the order of their names
 * @param obstacles what concerns no single table
 * @param source where the statements come from; null if there are none
 * @param statements the statements that were sorted, those that take most time first
 */
public record Assessment(
        String database,
        String serverVersion,
        Key key,
        List<Key> others,
        List<Table> tables,
        List<Obstacle> obstacles,
        @Nullable String source,
        List<Statement> statements) {

    public Assessment {
        others = List.copyOf(others);
        tables = List.copyOf(tables);
        obstacles = List.copyOf(obstacles);
        statements = List.copyOf(statements);
    }

    /**
     * A sharding key.
     *
     * @param name the primary key of a table, such as {@code users.id}, or the name of a column of several tables, such as {@code tenant_id}
     * @param type its SQL type
     * @param values how many values it has, by the planner's statistics; 0 if not known
     * @param largestShare the share of the most common value in the largest table that has the key, from 0 to 1; 0 if not known
     * @param shardedBytes the size of the tables that would be sharded by it
     * @param keyedCalls the share of the calls on sharded tables that have the key or an id, from 0 to 1; NaN without statements
     */
    public record Key(
            String name, String type, long values, double largestShare, long shardedBytes, double keyedCalls) {}

    /** The destination of a table. */
    public enum Placement {
        /** The shards: the key's own table, by its primary key. */
        PRIMARY_KEY,
        /** The shards, by one of the table's columns. */
        COLUMN,
        /** The shards, by foreign keys that lead to a table with the key. */
        PATH,
        /** A reference table: the same rows on all servers. */
        REFERENCE,
        /** A database that is not sharded. */
        STAYS;

        /** Whether the table's rows go into the shards. */
        public boolean isSharded() {
            return this == PRIMARY_KEY || this == COLUMN || this == PATH;
        }
    }

    /**
     * A table.
     *
     * @param name with its schema unless that is public, as written in SQL
     * @param path the columns that lead to the key, such as {@code order_id -> orders.user_id}; empty if it is not sharded
     * @param key its own column with the key, not quoted; null if it has none
     * @param steps the foreign keys that lead to the key, for a table by a path; empty for others
     * @param keyQuery a query of the key of a row, for a table by a path; empty for others
     * @param references the tables that its foreign keys refer to
     * @param rows by the planner's statistics; -1 if it has none
     * @param bytes with its indexes
     */
    public record Table(
            String name,
            Placement placement,
            String path,
            @Nullable String key,
            List<Step> steps,
            String keyQuery,
            List<String> references,
            long rows,
            long bytes,
            List<Obstacle> obstacles) {

        public Table {
            steps = List.copyOf(steps);
            references = List.copyOf(references);
            obstacles = List.copyOf(obstacles);
        }
    }

    /**
     * A foreign key on the way to the key.
     *
     * @param columns of the table that refers, not quoted
     * @param to the table that is referred to, as {@link Table#name()} writes it
     * @param toColumns its columns, not quoted
     */
    public record Step(List<String> columns, String to, List<String> toColumns) {

        public Step {
            columns = List.copyOf(columns);
            toColumns = List.copyOf(toColumns);
        }
    }

    /**
     * Something that has to change once the tables are sharded.
     *
     * @param problem what it is
     * @param remedy what to do
     */
    public record Obstacle(String problem, String remedy) {}

    /** The shards that a statement would go to, as far as its text tells. */
    public enum Routing {
        /** One shard: the statement has one value of the key. */
        KEY,
        /**
         * One shard if ids are Shardflake's, for older ids by a lookup: the statement has the id of a row, or of the row that a row belongs to.
         */
        ID,
        /** Several shards, each with its own statement: the statement has several values of the key, or a list. */
        SEVERAL_KEYS,
        /** All shards, unless a lookup helps: the statement has neither key nor id. */
        NO_KEY,
        /** None: the statement needs tables of the shards together with tables that stay. */
        MIXED,
        /** None: the statement needs no table of the shards. */
        ELSEWHERE,
        /** Unknown: PostgreSQL does not plan the statement as it is given. */
        NOT_PLANNED
    }

    /**
     * A statement.
     *
     * @param calls how often it ran
     * @param millis how long it ran in all, in milliseconds
     * @param obstacle why it was not planned, and what to do; null if it was
     */
    public record Statement(
            String sql,
            long calls,
            double millis,
            Routing routing,
            @Nullable Obstacle obstacle) {}
}
