/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import org.shardflake.jdbc.Sql;

/** Asks about several tables in one query, for one round trip. */
final class TableQuestions {

    /** The number of tables that one query asks about: it locks each, with its indexes and partitions, and a server has room for some thousand locks. */
    private static final int TOGETHER = 25;

    private TableQuestions() {}

    /** A condition in SQL that a table meets or not. */
    @FunctionalInterface
    interface Condition<T> {
        String of(T table) throws SQLException;
    }

    /** Groups of tables that one query may ask about, in the same order. */
    static <T> List<List<T>> groups(List<T> tables, Predicate<T> isPartitioned) {
        List<List<T>> groups = new ArrayList<>();
        List<T> group = new ArrayList<>();
        for (T table : tables) {
            group.add(table);
            if (isPartitioned.test(table) || group.size() == TOGETHER) {
                groups.add(List.copyOf(group));
                group.clear();
            }
        }
        if (!group.isEmpty()) {
            groups.add(group);
        }
        return groups;
    }

    /** The tables that meet a condition. */
    static <T> List<T> matching(
            Connection connection, List<T> tables, Predicate<T> isPartitioned, Condition<T> condition)
            throws SQLException {
        List<T> matching = new ArrayList<>();
        for (List<T> group : groups(tables, isPartitioned)) {
            List<String> questions = new ArrayList<>();
            for (T table : group) {
                questions.add("SELECT %s WHERE %s".formatted(questions.size(), condition.of(table)));
            }
            matching.addAll(
                    Sql.list(connection, String.join(" UNION ALL ", questions), row -> group.get(row.getInt(1))));
        }
        return matching;
    }
}
