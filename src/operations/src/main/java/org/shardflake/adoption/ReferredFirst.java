/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adoption;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.shardflake.adoption.AdoptionPlan.Table;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/** Sorts tables so that they can be filled in order: each comes after the tables that its foreign keys refer to. */
public final class ReferredFirst {

    private static final String FOREIGN_KEYS = """
            SELECT n.nspname, c.relname, rn.nspname, r.relname
              FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
              JOIN pg_class r ON r.oid = k.confrelid JOIN pg_namespace rn ON rn.oid = r.relnamespace
             WHERE k.contype = 'f'
            """;

    /**
     * A table in the sorted order.
     *
     * @param refersToLater whether it refers to a table after it, since these refer to each other
     */
    public record Placed(Table table, boolean refersToLater) {}

    private final Map<TableName, Table> tables = new LinkedHashMap<>();
    private final Map<TableName, Set<TableName>> referred = new HashMap<>();
    private final Set<TableName> entered = new HashSet<>();
    private final Set<TableName> placed = new HashSet<>();
    private final List<Placed> sorted = new ArrayList<>();

    private ReferredFirst(List<Table> all) {
        all.forEach(table -> tables.put(table.name(), table));
    }

    /**
     * Sorts tables by the foreign keys that they have in a database.
     *
     * @throws org.shardflake.ShardflakeException if the database cannot be reached, or fails
     */
    public static List<Placed> sorted(List<Table> tables, ServerUrl database) {
        ReferredFirst order = new ReferredFirst(tables);
        Sql.translating(() -> Sql.with(
                database.connect("shardflake adopt run"),
                connection -> Sql.list(
                        connection,
                        FOREIGN_KEYS,
                        row -> order.referred
                                .computeIfAbsent(
                                        new TableName(row.getString(1), row.getString(2)), table -> new TreeSet<>())
                                .add(new TableName(row.getString(3), row.getString(4))))));
        order.tables.keySet().forEach(order::add);
        return order.sorted;
    }

    private void add(TableName name) {
        Table table = tables.get(name);
        if (table != null && entered.add(name)) {
            Set<TableName> before = referred.getOrDefault(name, Set.of());
            before.forEach(this::add);
            boolean refersToLater = before.stream()
                    .anyMatch(other -> tables.containsKey(other) && !other.equals(name) && !placed.contains(other));
            placed.add(name);
            sorted.add(new Placed(table, refersToLater));
        }
    }
}
