/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.assess;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.assess.Assessment.Obstacle;

/**
 * A table, as the database's catalog describes it.
 *
 * @param name with its schema unless that is public, as written in SQL
 * @param plainName without its schema and quotes
 * @param rows by the planner's statistics; -1 if it has none
 * @param writes rows inserted, updated and deleted since statistics were reset
 * @param oddities obstacles whatever the key: what makes it more than a plain table
 */
record SourceTable(
        long oid,
        String name,
        String plainName,
        long rows,
        long bytes,
        long writes,
        List<Obstacle> oddities,
        List<Column> columns,
        List<Unique> uniques,
        List<ForeignKey> foreignKeys) {

    /**
     * A column.
     *
     * @param number its number among all that the table ever had
     * @param isKeyable whether a sharding key may have its type
     * @param isGenerated whether it is computed from other columns, after triggers have seen the row
     * @param values how many distinct values it has; 0 if not known
     * @param largestShare the share of the most common value, from 0 to 1
     */
    record Column(
            String name,
            String quoted,
            int number,
            String type,
            boolean isNotNull,
            boolean isKeyable,
            boolean isFilled,
            boolean isGenerated,
            long values,
            double largestShare) {}

    /** A unique index or exclusion constraint; {@code columns} is empty if it has expressions. */
    record Unique(String name, boolean isPrimary, boolean isExclusion, List<String> columns, String definition) {}

    /** A foreign key. */
    record ForeignKey(String name, List<String> columns, long target, List<String> targetColumns) {}

    Optional<Column> column(String wanted) {
        return columns.stream().filter(column -> column.name().equals(wanted)).findFirst();
    }

    String quoted(String column) {
        return column(column).map(Column::quoted).orElse(column);
    }

    List<String> primaryKey() {
        return uniques.stream()
                .filter(Unique::isPrimary)
                .map(Unique::columns)
                .findFirst()
                .orElse(List.of());
    }

    /** The primary key, if it is a single column. */
    @Nullable
    Column singleKey() {
        List<String> key = primaryKey();
        return key.size() == 1 ? column(key.get(0)).orElse(null) : null;
    }

    boolean isNotNull(List<String> names) {
        return names.stream()
                .allMatch(name -> column(name).map(Column::isNotNull).orElse(false));
    }

    /** Returns which of these columns are generated. */
    List<String> generated(List<String> names) {
        return names.stream()
                .filter(name -> column(name).map(Column::isGenerated).orElse(false))
                .toList();
    }

    /** The other tables that its foreign keys refer to. */
    Set<Long> targets() {
        Set<Long> targets = new HashSet<>();
        foreignKeys.forEach(key -> targets.add(key.target()));
        targets.remove(oid);
        return targets;
    }
}
