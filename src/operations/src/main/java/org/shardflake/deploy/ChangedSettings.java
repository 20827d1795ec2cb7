/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.internal.sqltext.SqlTokens;
import org.shardflake.server.internal.sqltext.SqlTokens.Token;

/**
 * The settings that a changeset's text changes, and SQL that restores their values.
 *
 * <p>Liquibase ends a transaction after each changeset, and with it what {@code SET LOCAL} has set; a plain {@code SET} holds until the
 * end of the update. A shard that gets several changesets in one transaction has to see the same.
 *
 * @param local the names of those that hold until the end of the changeset
 * @param session the names of those that hold until the end of a deployment
 */
record ChangedSettings(Set<String> local, Set<String> session) {

    private static final Set<String> NOT_SETTINGS = Set.of("transaction", "constraints", "characteristics", "schema");

    static ChangedSettings of(List<String> sql) {
        ChangedSettings changed = new ChangedSettings(new TreeSet<>(), new TreeSet<>());
        sql.forEach(changed::add);
        changed.local.removeAll(changed.session);
        return changed;
    }

    /** SQL that remembers the values of settings. */
    static List<String> keep(Set<String> names) {
        return names.stream()
                .map(name -> set(kept(name), "pg_catalog.current_setting(%s, true)".formatted(Sql.quote(name)), true))
                .toList();
    }

    /**
     * SQL that restores the values {@link #keep remembered} earlier.
     *
     * @param isLocal whether the session has another value, to which the end of the transaction leads back
     */
    static List<String> restore(Set<String> names, boolean isLocal) {
        return names.stream()
                .map(name ->
                        set(name, "pg_catalog.current_setting(%s, true)".formatted(Sql.quote(kept(name))), isLocal))
                .toList();
    }

    private static String set(String name, String value, boolean isLocal) {
        return "SELECT pg_catalog.set_config(%s, %s, %s)".formatted(Sql.quote(name), value, isLocal);
    }

    private static String kept(String name) {
        return "shardflake.kept_" + name.replaceAll("\\W", "_");
    }

    private void add(String sql) {
        List<Token> tokens = SqlTokens.of(sql);
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            if (token.is("set_config") && SqlTokens.is(tokens, i + 1, "(") && i + 2 < tokens.size()) {
                addCall(tokens, i + 2);
            } else if ((token.is("set") || token.is("reset")) && StraySql.beginsStatement(tokens, i)) {
                addStatement(tokens, i + 1);
            } else if (token.isString() && StraySql.isCode(tokens, i)) {
                add(token.text());
            }
        }
    }

    private void addStatement(List<Token> tokens, int at) {
        boolean isLocal = SqlTokens.is(tokens, at, "local");
        int i = isLocal || SqlTokens.is(tokens, at, "session") ? at + 1 : at;
        if (i >= tokens.size() || !tokens.get(i).isIdentifier()) {
            return;
        }
        String name = name(tokens, i);
        if (name.equals("time") && SqlTokens.is(tokens, i + 1, "zone")) {
            name = "timezone";
        } else if (name.equals("names")) {
            name = "client_encoding";
        }
        if (!NOT_SETTINGS.contains(name) && !name.equals("authorization") && !name.equals("search_path")) {
            (isLocal ? local : session).add(name);
        }
    }

    private void addCall(List<Token> tokens, int at) {
        Token name = tokens.get(at);
        int depth = 1;
        int last = at;
        for (int i = at; i < tokens.size() && depth > 0; i++) {
            depth += SqlTokens.is(tokens, i, "(") ? 1 : SqlTokens.is(tokens, i, ")") ? -1 : 0;
            last = depth > 0 ? i : last;
        }
        if (name.isString() && !name.text().equals("search_path")) {
            boolean isLocal = tokens.get(last).is("true");
            (isLocal ? local : session).add(name.text());
        }
    }

    /** A name of one or two parts. */
    private static String name(List<Token> tokens, int i) {
        return SqlTokens.is(tokens, i + 1, ".") && i + 2 < tokens.size()
                ? tokens.get(i).text() + "." + tokens.get(i + 2).text()
                : tokens.get(i).text();
    }
}
