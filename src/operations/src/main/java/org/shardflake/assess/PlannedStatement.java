/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.assess;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.server.internal.sqltext.SqlTokens;
import org.shardflake.server.internal.sqltext.SqlTokens.Kind;
import org.shardflake.server.internal.sqltext.SqlTokens.Token;

/**
 * The tables, columns and values of a statement, according to PostgreSQL's plan for it. The planner has found the tables by the search_path,
 * opened views, and drawn conclusions: with {@code a.uid = b.uid AND a.uid = $1} it also knows {@code b.uid = $1}.
 */
final class PlannedStatement {

    /** A column of a table in the statement, with the table's alias. */
    record ColumnOf(String alias, String column) {}

    /** Two columns that are equal. */
    record Equal(ColumnOf one, ColumnOf other) {}

    /** The keys of a plan's nodes that hold conditions which are true for all rows of the node. */
    private static final List<String> CONDITIONS = List.of(
            "Index Cond", "Recheck Cond", "Filter", "Hash Cond", "Merge Cond", "Join Filter", "One-Time Filter");

    private final SourceSchema schema;
    private final Map<String, Long> tables = new HashMap<>();
    private final Map<ColumnOf, String> values = new HashMap<>();
    private final Set<ColumnOf> lists = new HashSet<>();
    private final List<Equal> equal = new ArrayList<>();
    private @Nullable Long target;
    private List<String> inserted = List.of();

    /** @param plan of EXPLAIN with VERBOSE, as JSON that was read */
    PlannedStatement(SourceSchema schema, Map<?, ?> plan) {
        this.schema = schema;
        node(plan);
    }

    /** The users' tables, by alias. */
    Map<String, Long> tables() {
        return tables;
    }

    /** The single value that each column must equal, as the plan writes it. */
    Map<ColumnOf, String> values() {
        return values;
    }

    boolean isInList(ColumnOf column) {
        return lists.contains(column);
    }

    List<Equal> equal() {
        return equal;
    }

    /** The table that rows are inserted into; null if the statement inserts none. */
    @Nullable
    Long target() {
        return target;
    }

    /** The value that a new row gets in the column with a number, as the plan writes it; empty if unknown. */
    String inserted(int number) {
        return number <= inserted.size() ? inserted.get(number - 1) : "";
    }

    private void node(Map<?, ?> node) {
        table(node);
        for (String condition : CONDITIONS) {
            if (node.get(condition) instanceof String text) {
                all(SqlTokens.of(text));
            }
        }
        if (node.get("Plans") instanceof List<?> below) {
            for (Object one : below) {
                if (one instanceof Map<?, ?> map) {
                    node(map);
                }
            }
        }
    }

    private void table(Map<?, ?> node) {
        if (!(node.get("Relation Name") instanceof String name) || !(node.get("Schema") instanceof String in)) {
            return;
        }
        Long table = schema.find(in, name);
        if (table == null) {
            return;
        }
        if ("Insert".equals(node.get("Operation"))) {
            target = table;
            if (node.get("Plans") instanceof List<?> below
                    && below.get(0) instanceof Map<?, ?> source
                    && source.get("Output") instanceof List<?> output) {
                inserted = output.stream().map(String::valueOf).toList();
            }
        } else if (node.get("Alias") instanceof String alias) {
            tables.put(alias, table);
        }
    }

    /** Splits a condition at AND, so that each part holds by itself. */
    private void all(List<Token> condition) {
        List<Token> tokens = withoutParentheses(condition);
        List<Integer> ands = topLevel(tokens, "and");
        if (ands.isEmpty()) {
            one(tokens);
            return;
        }
        int from = 0;
        for (int at : ands) {
            all(tokens.subList(from, at));
            from = at + 1;
        }
        all(tokens.subList(from, tokens.size()));
    }

    private void one(List<Token> tokens) {
        List<Integer> signs = topLevel(tokens, "=");
        if (signs.size() != 1
                || !topLevel(tokens, "or").isEmpty()
                || !topLevel(tokens, "not").isEmpty()) {
            return;
        }
        List<Token> left = tokens.subList(0, signs.get(0));
        List<Token> right = tokens.subList(signs.get(0) + 1, tokens.size());
        ColumnOf one = column(left);
        ColumnOf other = column(right);
        if (one != null && other != null) {
            equal.add(new Equal(one, other));
        } else if (one != null) {
            constant(one, right);
        } else if (other != null) {
            constant(other, left);
        }
    }

    private void constant(ColumnOf column, List<Token> value) {
        if (!value.isEmpty() && value.get(0).is("any")) {
            lists.add(column);
            return;
        }
        List<Token> inner = withoutCast(value);
        if (inner.size() == 1) {
            Token token = inner.get(0);
            if (token.kind() == Kind.PARAMETER || token.kind() == Kind.NUMBER || token.isString()) {
                String text = token.text();
                String before = values.put(column, text);
                if (before != null && !before.equals(text)) {
                    lists.add(column);
                }
            }
        }
    }

    private static @Nullable ColumnOf column(List<Token> side) {
        List<Token> tokens = withoutCast(side);
        boolean isColumn = tokens.size() == 3
                && tokens.get(0).isIdentifier()
                && tokens.get(1).is(".")
                && tokens.get(2).isIdentifier();
        return isColumn ? new ColumnOf(name(tokens.get(0)), name(tokens.get(2))) : null;
    }

    private static String name(Token token) {
        return token.kind() == Kind.NAME ? token.text().replace("\"\"", "\"") : token.text();
    }

    /** Reduces {@code (x)::type}, {@code 'x'::type} and {@code ((x))} to x. */
    private static List<Token> withoutCast(List<Token> tokens) {
        List<Token> inner = withoutParentheses(tokens);
        List<Integer> casts = topLevel(inner, "::");
        return casts.isEmpty() ? inner : withoutCast(inner.subList(0, casts.get(0)));
    }

    private static List<Token> withoutParentheses(List<Token> tokens) {
        List<Token> inner = tokens;
        while (inner.size() > 2 && inner.get(0).is("(") && close(inner) == inner.size() - 1) {
            inner = inner.subList(1, inner.size() - 1);
        }
        return inner;
    }

    /** The position of the parenthesis that closes the first one. */
    private static int close(List<Token> tokens) {
        int depth = 0;
        for (int i = 0; i < tokens.size(); i++) {
            depth += tokens.get(i).is("(") ? 1 : tokens.get(i).is(")") ? -1 : 0;
            if (depth == 0) {
                return i;
            }
        }
        return -1;
    }

    private static List<Integer> topLevel(List<Token> tokens, String word) {
        List<Integer> places = new ArrayList<>();
        int depth = 0;
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            depth += token.is("(") || token.is("[") ? 1 : token.is(")") || token.is("]") ? -1 : 0;
            if (depth == 0 && token.is(word)) {
                places.add(i);
            }
        }
        return places;
    }
}
