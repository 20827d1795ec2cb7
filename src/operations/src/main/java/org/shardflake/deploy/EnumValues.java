/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.ArrayList;
import java.util.List;
import org.shardflake.server.internal.sqltext.SqlTokens;
import org.shardflake.server.internal.sqltext.SqlTokens.Token;

/**
 * Rewrites statements so that enums are created with all their values. Before PostgreSQL 17, a value that was added cannot be used in the same
 * transaction, not even if the type is new, too.
 */
final class EnumValues {

    private final List<String> statements;

    private EnumValues(List<String> statements) {
        this.statements = new ArrayList<>(statements);
    }

    /** The statements of one transaction, with values that are added to a new enum moved into its creation. What cannot be told by its text stays as it is. */
    static List<String> fromTheStart(List<String> statements) {
        EnumValues values = new EnumValues(statements);
        for (int i = 0; i < values.statements.size(); i++) {
            if (SqlEffects.addsValue(values.statements.get(i)) && values.move(i)) {
                values.statements.set(i, "SELECT 1");
            }
        }
        return values.statements;
    }

    private boolean move(int at) {
        String sql = statements.get(at);
        List<Token> tokens = tokens(sql);
        int i = 2;
        String type = name(tokens, i);
        while (i < tokens.size() && !tokens.get(i).is("add")) {
            i++;
        }
        i += 2;
        boolean ifNotExists = SqlTokens.is(tokens, i, "if");
        i += ifNotExists ? 3 : 0;
        if (i >= tokens.size() || !tokens.get(i).isString()) {
            return false;
        }
        String value = value(sql, tokens.get(i));
        boolean isBefore = SqlTokens.is(tokens, i + 1, "before");
        boolean hasNeighbour = isBefore || SqlTokens.is(tokens, i + 1, "after");
        if (tokens.size() > i + (hasNeighbour ? 3 : 1)) {
            return false; // several statements in one text
        }
        String neighbour = hasNeighbour ? value(sql, tokens.get(i + 2)) : "";
        for (int earlier = at - 1; earlier >= 0; earlier--) {
            String creation = statements.get(earlier);
            List<Token> its = tokens(creation);
            if (SqlTokens.is(its, 0, "create")
                    && SqlTokens.is(its, 1, "type")
                    && name(its, 2).equals(type)) {
                return insert(earlier, creation, its, value, neighbour, isBefore, ifNotExists);
            }
        }
        return false;
    }

    private boolean insert(
            int at,
            String creation,
            List<Token> tokens,
            String value,
            String neighbour,
            boolean isBefore,
            boolean ifNotExists) {
        List<Token> values = tokens.stream().filter(Token::isString).toList();
        if (!tokens.get(tokens.size() - 1).is(")") || values.isEmpty()) {
            return false;
        }
        Token last = values.get(values.size() - 1);
        for (Token one : values) {
            if (value(creation, one).equals(value)) {
                return ifNotExists;
            }
        }
        if (!neighbour.isEmpty()) {
            List<Token> found = values.stream()
                    .filter(one -> value(creation, one).equals(neighbour))
                    .toList();
            if (found.isEmpty()) {
                return false;
            }
            last = found.get(0);
        }
        int where = isBefore ? last.start() : last.end();
        String text = isBefore ? value + ", " : ", " + value;
        statements.set(at, creation.substring(0, where) + text + creation.substring(where));
        return true;
    }

    private static List<Token> tokens(String sql) {
        List<Token> tokens = new ArrayList<>(SqlTokens.of(sql));
        while (!tokens.isEmpty() && tokens.get(tokens.size() - 1).is(";")) {
            tokens.remove(tokens.size() - 1);
        }
        return tokens;
    }

    private static String value(String sql, Token token) {
        return sql.substring(token.start(), token.end());
    }

    /** The last part of a name. */
    private static String name(List<Token> tokens, int i) {
        int last = SqlTokens.is(tokens, i + 1, ".") ? i + 2 : i;
        return last < tokens.size() ? tokens.get(last).text() : "";
    }
}
