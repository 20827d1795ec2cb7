/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.internal.sqltext.SqlTokens;
import org.shardflake.server.internal.sqltext.SqlTokens.Kind;
import org.shardflake.server.internal.sqltext.SqlTokens.Token;

/** Finds the dependencies and effects of a changelog's SQL from its text. When in doubt, it depends. */
final class SqlEffects {

    private static final Set<String> ALTERS =
            Set.of("alter", "drop", "rename", "owner", "attach", "detach", "inherit", "set", "reset", "validate");
    private static final Set<String> READS = Set.of("as", "like", "select", "nextval", "next_id", "sequence");
    private static final Set<String> REPLACEABLE = Set.of("or", "replace", "unique", "constraint");
    private static final Set<String> MAINTENANCE =
            Set.of("vacuum", "analyze", "reindex", "refresh", "cluster", "comment");
    private static final Set<String> DEFINITIONS =
            Set.of("index", "function", "procedure", "trigger", "type", "domain", "view");

    private static final Pattern ATOMIC = Pattern.compile("\\bATOMIC\\b", Pattern.CASE_INSENSITIVE);

    private SqlEffects() {}

    /** Whether a statement must be the last of a message, since the driver does not find the end of a {@code BEGIN ATOMIC} body. */
    static boolean endsMessage(String sql) {
        return ATOMIC.matcher(sql).find();
    }

    /**
     * Whether SQL has the same effect before and after earlier tables get their ids: the definition of a table, an index or the like. What
     * writes rows, or changes what is there, is not plain.
     */
    static boolean isPlain(String sql) {
        return statements(sql).stream().allMatch(SqlEffects::isPlain);
    }

    private static boolean isPlain(List<Token> tokens) {
        String first = tokens.get(0).text();
        if (first.equals("set") || first.equals("reset")) {
            return true;
        }
        if (first.equals("comment")) {
            return !has(tokens, Set.of("sequence"));
        }
        if (first.equals("alter")) {
            return word(tokens, 1).equals("table")
                    && has(tokens, Set.of("add"))
                    && !has(tokens.subList(1, tokens.size()), ALTERS)
                    && !has(tokens, READS);
        }
        if (!first.equals("create")) {
            return false;
        }
        int i = 1;
        while (REPLACEABLE.contains(word(tokens, i))) {
            i++;
        }
        return DEFINITIONS.contains(word(tokens, i)) || (word(tokens, i).equals("table") && !has(tokens, READS));
    }

    /** Whether SQL creates no table and changes none, except for its indexes. */
    static boolean leavesTables(String sql) {
        return statements(sql).stream()
                .allMatch(tokens -> MAINTENANCE.contains(word(tokens, 0))
                        || (Set.of("create", "drop").contains(word(tokens, 0))
                                && (word(tokens, 1).equals("index")
                                        || word(tokens, 2).equals("index")))
                        || (word(tokens, 0).equals("alter") && word(tokens, 1).equals("type")));
    }

    /** Whether SQL drops, renames or validates a check that new tables get. */
    static boolean changesChecks(String sql) {
        return statements(sql).stream()
                .anyMatch(tokens -> has(tokens, Set.of("drop", "rename", "validate"))
                        && tokens.stream().anyMatch(token -> token.text().endsWith("_of_shard")));
    }

    /** Whether SQL adds a check to an existing table under a name that the checks of new tables use. */
    static boolean addsChecks(String sql) {
        return statements(sql).stream()
                .anyMatch(tokens -> word(tokens, 0).equals("alter")
                        && has(tokens, Set.of("add"))
                        && tokens.stream().anyMatch(token -> token.text().endsWith("_of_shard")));
    }

    /** Whether SQL adds an enum value that cannot be used before the end of its transaction. */
    static boolean addsValue(String sql) {
        return statements(sql).stream()
                .anyMatch(tokens -> word(tokens, 0).equals("alter")
                        && word(tokens, 1).equals("type")
                        && has(tokens, Set.of("value"))
                        && has(tokens, Set.of("add")));
    }

    /** Rewrites SQL so that it can run inside a transaction, in a shard without rows and other users; empty if nothing is left to do. */
    static Optional<String> inTransaction(String sql) {
        List<List<Token>> statements = statements(sql);
        if (statements.size() != 1) {
            return Optional.of(sql); // None of these can be among several.
        }
        List<Token> tokens = statements.get(0);
        String first = word(tokens, 0);
        switch (first) {
            case "vacuum" -> {
                return Optional.empty();
            }
            case "cluster" -> {
                return tokens.size() == 1 ? Optional.empty() : Optional.of(sql);
            }
            case "reindex" -> {
                if (has(tokens, Set.of("schema", "database", "system"))) {
                    return Optional.empty();
                }
            }
            case "create", "drop" -> {
                if (!has(tokens.subList(0, Math.min(4, tokens.size())), Set.of("index"))) {
                    return Optional.of(sql);
                }
            }
            case "alter" -> {
                if (!has(tokens, Set.of("detach"))) {
                    return Optional.of(sql);
                }
                if (tokens.get(tokens.size() - 1).is("finalize")) {
                    return Optional.empty();
                }
                return Optional.of(
                        has(tokens, Set.of("concurrently")) ? detached(withoutConcurrently(sql, tokens)) : sql);
            }
            case "refresh" -> {}
            default -> {
                return Optional.of(sql);
            }
        }
        return Optional.of(withoutConcurrently(sql, tokens));
    }

    /** The statement for a concurrent DETACH, which unlike a plain one leaves a check in place of the partition's bounds. */
    private static String detached(String sql) {
        List<Token> tokens = SqlTokens.of(sql);
        int last = tokens.size() - 1;
        int first = last;
        while (first > 0 && !tokens.get(first - 1).is("partition")) {
            first--;
        }
        String partition = Sql.quote(
                sql.substring(tokens.get(first).start(), tokens.get(last).end()));
        return "DO "
                + Sql.quote(
                        "DECLARE bounds text := pg_catalog.pg_get_partition_constraintdef(%1$s::pg_catalog.regclass); BEGIN EXECUTE %2$s; EXECUTE pg_catalog.format('ALTER TABLE %%s ADD CHECK (%%s)', %1$s::pg_catalog.regclass, bounds); END"
                                .formatted(
                                        partition,
                                        Sql.quote(sql.substring(
                                                0, tokens.get(last).end()))));
    }

    private static String withoutConcurrently(String sql, List<Token> tokens) {
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            if (!token.is("concurrently")) {
                continue;
            }
            int from = token.start();
            int to = token.end();
            if (i > 0 && tokens.get(i - 1).is("(")) { // REINDEX (CONCURRENTLY), and perhaps other options
                to = tokens.get(i + 1).is(",") ? tokens.get(i + 1).end() : to;
                if (tokens.get(i + 1).is(")")) {
                    from = tokens.get(i - 1).start();
                    to = tokens.get(i + 1).end();
                }
            } else if (i > 0 && tokens.get(i - 1).is(",")) {
                from = tokens.get(i - 1).start();
            }
            return sql.substring(0, from) + sql.substring(to);
        }
        return sql;
    }

    private static List<List<Token>> statements(String sql) {
        List<List<Token>> statements = new ArrayList<>();
        List<Token> current = new ArrayList<>();
        for (Token token : SqlTokens.of(sql)) {
            if (token.is(";")) {
                if (!current.isEmpty()) {
                    statements.add(current);
                }
                current = new ArrayList<>();
            } else {
                current.add(token);
            }
        }
        if (!current.isEmpty()) {
            statements.add(current);
        }
        return statements;
    }

    private static boolean has(List<Token> tokens, Set<String> words) {
        return tokens.stream().anyMatch(token -> token.kind() == Kind.WORD && words.contains(token.text()));
    }

    private static String word(List<Token> tokens, int i) {
        return i < tokens.size() && tokens.get(i).kind() == Kind.WORD
                ? tokens.get(i).text()
                : "";
    }
}
