/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A plan of how the tables of an existing database go into shards. Names are as PostgreSQL's catalog has them, not quoted.
 *
 * @param tables all tables of the source, in the order of the file
 * @param leftOut what does not come along, with the way out
 */
public record AdoptionPlan(
        Source source,
        Key key,
        List<Table> tables,
        List<Lookup> lookups,
        Changelogs changelogs,
        List<LeftOut> leftOut) {

    /**
     * Checks that the parts of the plan fit together.
     *
     * @throws IllegalArgumentException if they do not, saying which
     */
    public AdoptionPlan {
        tables = List.copyOf(tables);
        lookups = List.copyOf(lookups);
        leftOut = List.copyOf(leftOut);
        new PlanCheck(key, tables, lookups).run();
    }

    /**
     * The database whose tables are adopted.
     *
     * @param database its name, without server or login
     * @param schemas those with tables in the plan
     */
    public record Source(String database, List<String> schemas) {

        public Source {
            schemas = List.copyOf(schemas);
        }
    }

    /**
     * The sharding key.
     *
     * @param table the table that has it as its primary key; null if it only is a column of several tables
     * @param column of that table, or of all tables that have it
     */
    public record Key(@Nullable TableName table, String column) {}

    /** The destination of a table. */
    public enum Goes {
        /** The shards, by the key. */
        SHARDS,
        /** A reference table, which is the same on all servers. */
        REFERENCE,
        /** None: the table stays in the old database. */
        STAYS
    }

    /** The origin of the ids of new rows. Old rows keep their ids. */
    public enum Ids {
        /** The primary key is filled by {@code next_id}, or by a new key if it is the table's shard key. */
        NEXT_ID,
        /** The application fills the primary key, or the same default as in the old table does. */
        KEPT
    }

    /**
     * A table.
     *
     * @param into its name in the shards or among the reference tables; null for the same one
     * @param key its own column with the key; null unless it goes into the shards by a column
     * @param path the foreign keys that lead to a table with the key, the table's own first; empty unless it goes into the shards by them
     * @param add the column with the key that the table has only in the shards; null unless there is a path
     */
    public record Table(
            TableName name,
            Goes goes,
            @Nullable String into,
            @Nullable String key,
            List<Step> path,
            @Nullable String add,
            Ids ids) {

        public Table {
            path = List.copyOf(path);
        }

        /** The table's name at its destination. */
        public String target() {
            return into == null ? name.table() : into;
        }

        /** The column with the key in the shards; null for a table that does not go into shards. */
        public @Nullable String shardKey() {
            return key == null ? add : key;
        }
    }

    /**
     * A foreign key on the way to the sharding key. It need not be a constraint of the database.
     *
     * @param columns of the table that refers
     * @param to the table that is referred to
     * @param toColumns its columns, as many and in the same order
     */
    public record Step(List<String> columns, TableName to, List<String> toColumns) {

        public Step {
            columns = List.copyOf(columns);
            toColumns = List.copyOf(toColumns);
        }
    }

    /**
     * A lookup that finds rows by columns other than the key.
     *
     * @param name such as {@code users.email}
     * @param table one that goes into the shards
     * @param isUnique whether at most one row of all shards has a value
     */
    public record Lookup(String name, TableName table, List<String> columns, boolean isUnique) {

        public Lookup {
            columns = List.copyOf(columns);
        }
    }

    /**
     * The changelogs with the tables, relative to the plan's file.
     *
     * @param reference null if no table becomes a reference table
     */
    public record Changelogs(String shards, @Nullable String reference) {}

    /**
     * A property of the old database that the shards do not have.
     *
     * @param table the one that it belongs to; null if it belongs to none
     */
    public record LeftOut(@Nullable TableName table, String problem, String remedy) {}

    /** The table of this name, if the plan has it. */
    public Optional<Table> table(TableName name) {
        return tables.stream().filter(table -> table.name().equals(name)).findFirst();
    }

    /** Checks a plan's statements about one table against those about others. */
    private record PlanCheck(Key key, List<Table> tables, List<Lookup> lookups) {

        void run() {
            Map<TableName, Table> named = new HashMap<>();
            Map<String, TableName> targets = new HashMap<>();
            for (Table table : tables) {
                if (named.put(table.name(), table) != null) {
                    throw invalid(table, "is there twice");
                }
                // A reference table may have the name of a table in the shards.
                TableName other = table.goes() == Goes.STAYS
                        ? null
                        : targets.put(table.goes() + " " + table.target(), table.name());
                if (other != null) {
                    throw invalid(
                            table,
                            "gives the name %s, which %s has, too; give one of them another, by into: NAME"
                                    .formatted(table.target(), other),
                            "into");
                }
            }
            tables.forEach(table -> check(table, named));
            checkKey(named);
            lookups.forEach(lookup -> check(lookup, named));
        }

        private void checkKey(Map<TableName, Table> named) {
            if (key.table() == null) {
                return;
            }
            Table table = named.get(key.table());
            if (table == null || !key.column().equals(table.key())) {
                throw new InvalidPlanException(
                        List.of("key", "table"),
                        "is %s, which is not among the tables by key %s; name the table with the key there, or leave table out"
                                .formatted(key.table(), TableName.written(key.column())));
            }
        }

        private static void check(Table table, Map<TableName, Table> named) {
            if (table.goes() != Goes.SHARDS) {
                if (table.shardKey() != null || !table.path().isEmpty() || table.ids() != Ids.KEPT) {
                    throw invalid(
                            table, "does not go into the shards, and has a key, a path or ids there; remove those");
                }
                return;
            }
            if ((table.key() == null) == table.path().isEmpty()) {
                throw invalid(table, "goes into the shards by a key or by a path; give one of them");
            }
            if ((table.add() == null) != table.path().isEmpty()) {
                throw invalid(
                        table,
                        table.add() == null
                                ? "has a path, and no column for the key; name one by add: COLUMN"
                                : "has its own key, and needs no further column; remove add");
            }
            for (int i = 0; i < table.path().size(); i++) {
                check(table, i, named);
            }
        }

        private static void check(Table table, int i, Map<TableName, Table> named) {
            Step step = table.path().get(i);
            Table to = named.get(step.to());
            boolean isLast = i == table.path().size() - 1;
            String number = String.valueOf(i + 1);
            if (to == null || to.goes() != Goes.SHARDS) {
                throw invalid(
                        table,
                        "is %s, which does not go into the shards; choose another path, or let that table go into the shards"
                                .formatted(step.to()),
                        "path",
                        number,
                        "to");
            }
            if (isLast && to.key() == null) {
                throw invalid(
                        table,
                        "is %s, which has no column with the key; add the steps that lead from there to the key"
                                .formatted(step.to()),
                        "path",
                        number,
                        "to");
            }
            if (step.columns().size() != step.toColumns().size()
                    || step.columns().isEmpty()) {
                throw invalid(
                        table,
                        "has %s for %s columns of %s; give as many, in the same order"
                                .formatted(
                                        step.columns().size(), step.toColumns().size(), step.to()),
                        "path",
                        number,
                        "columns");
            }
        }

        private static void check(Lookup lookup, Map<TableName, Table> named) {
            Table table = named.get(lookup.table());
            if (table == null || table.goes() != Goes.SHARDS) {
                throw new InvalidPlanException(
                        List.of("lookups", lookup.name(), "table"),
                        "is %s, which does not go into the shards; name one that does, or remove the lookup"
                                .formatted(lookup.table()));
            }
        }

        private static InvalidPlanException invalid(Table table, String message, String... below) {
            List<String> path = new ArrayList<>(List.of("tables", table.name().toString()));
            path.addAll(List.of(below));
            return new InvalidPlanException(path, message);
        }
    }
}
