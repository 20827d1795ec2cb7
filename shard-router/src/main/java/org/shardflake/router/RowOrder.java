/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.shardflake.ShardflakeId;

/**
 * An order of the rows of a query: in SQL, by which servers sort, and in Java, by which their rows are merged.
 *
 * <pre>{@code
 * RowOrder<Photo> mostLiked = RowOrder.byDescending("likes", Photo::likes).thenBy("id", Photo::id);
 * }</pre>
 *
 * <p>Each column comes with what it is mapped to, which is never null. A column is one of the query, or an expression of its columns; it
 * becomes part of the SQL, so never take it from a user. For texts it is {@code title COLLATE "C"}, the order of code points, in which Java
 * compares them. Immutable.
 *
 * @param <T> the type that a row is mapped to
 */
public final class RowOrder<T> {

    private record Column<T>(String sql, Function<? super T, ? extends Comparable<?>> value, boolean isDescending) {

        Object of(T row) {
            return Objects.requireNonNull(
                    value.apply(row), () -> "a row without a value of " + sql + " has no place in an order");
        }

        Comparator<T> comparator() {
            Comparator<T> ascending = (a, b) -> compare(of(a), of(b));
            return isDescending ? ascending.reversed() : ascending;
        }

        String operator() {
            return isDescending ? "<" : ">";
        }
    }

    private final List<Column<T>> columns;

    private RowOrder(List<Column<T>> columns) {
        this.columns = columns;
    }

    /** The order of a column, the smallest value first. */
    public static <T> RowOrder<T> by(String column, Function<? super T, ? extends Comparable<?>> value) {
        return new RowOrder<>(List.of(new Column<>(column, value, false)));
    }

    /** The order of a column, the largest value first. */
    public static <T> RowOrder<T> byDescending(String column, Function<? super T, ? extends Comparable<?>> value) {
        return new RowOrder<>(List.of(new Column<>(column, value, true)));
    }

    /** This order, with ties broken by the smallest value of a column. */
    public RowOrder<T> thenBy(String column, Function<? super T, ? extends Comparable<?>> value) {
        return then(new Column<>(column, value, false));
    }

    /** This order, with ties broken by the largest value of a column. */
    public RowOrder<T> thenByDescending(String column, Function<? super T, ? extends Comparable<?>> value) {
        return then(new Column<>(column, value, true));
    }

    private RowOrder<T> then(Column<T> next) {
        List<Column<T>> more = new ArrayList<>(columns);
        more.add(next);
        return new RowOrder<>(List.copyOf(more));
    }

    /** The text that follows ORDER BY. */
    String sql() {
        return columns.stream()
                .map(column -> column.sql() + (column.isDescending() ? " DESC" : ""))
                .collect(Collectors.joining(", "));
    }

    /** This order as a Java comparator, which sorts as the servers do. */
    public Comparator<T> comparator() {
        return columns.stream()
                .map(Column::comparator)
                .reduce(Comparator::thenComparing)
                .orElseThrow();
    }

    /** The SQL condition that a row comes after another, with question marks for {@link #valuesOf its values}. */
    String isAfter() {
        if (columns.stream().map(Column::isDescending).distinct().count() > 1) {
            return isAfter(0);
        }
        // PostgreSQL takes this as one range of an index.
        return "(%s) %s (%s)"
                .formatted(
                        columns.stream().map(Column::sql).collect(Collectors.joining(", ")),
                        columns.get(0).operator(),
                        columns.stream().map(column -> "?").collect(Collectors.joining(", ")));
    }

    private String isAfter(int first) {
        Column<T> column = columns.get(first);
        String after = "(%s) %s ?".formatted(column.sql(), column.operator());
        return first == columns.size() - 1
                ? after
                : "(%s) %s= ? AND (%s OR %s)".formatted(column.sql(), column.operator(), after, isAfter(first + 1));
    }

    /** The values for {@link #isAfter}. */
    List<Object> valuesOf(T row) {
        boolean areMixed = columns.stream().map(Column::isDescending).distinct().count() > 1;
        List<Object> values = new ArrayList<>();
        for (int i = 0; i < columns.size(); i++) {
            Object value = parameter(columns.get(i).of(row));
            values.add(value);
            if (areMixed && i < columns.size() - 1) {
                values.add(value);
            }
        }
        return values;
    }

    /** A parameter in a type that the driver accepts. */
    private static Object parameter(Object value) {
        if (value instanceof Instant instant) {
            return instant.atOffset(ZoneOffset.UTC);
        }
        return value instanceof ShardflakeId id ? id.value() : value;
    }

    /** Compares as PostgreSQL does: texts by code point rather than by UTF-16, UUIDs without signs. */
    @SuppressWarnings("unchecked") // values of one column have one type
    private static int compare(Object a, Object b) {
        if (a instanceof String text) {
            return Arrays.compare(
                    text.codePoints().toArray(), ((String) b).codePoints().toArray());
        }
        if (a instanceof UUID uuid) {
            UUID other = (UUID) b;
            int most = Long.compareUnsigned(uuid.getMostSignificantBits(), other.getMostSignificantBits());
            return most != 0
                    ? most
                    : Long.compareUnsigned(uuid.getLeastSignificantBits(), other.getLeastSignificantBits());
        }
        return ((Comparable<Object>) a).compareTo(b);
    }
}
