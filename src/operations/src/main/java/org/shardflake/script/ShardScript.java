/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.script;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.server.internal.sqltext.SqlTokens;

/**
 * SQL statements for a shard, whose tables have no schema or <code>${shard.schema}</code>. Immutable.
 *
 * @param statements one or more
 */
public record ShardScript(List<String> statements) {

    private static final Set<String> READS = Set.of("SELECT", "WITH", "TABLE", "VALUES");
    private static final Set<String> WRITES = Set.of(
            "INSERT",
            "UPDATE",
            "DELETE",
            "MERGE",
            "TRUNCATE",
            "WITH",
            "SELECT",
            "SET",
            "LOCK",
            "REFRESH",
            "DO",
            "VALUES",
            "TABLE");
    private static final Set<String> OF_SCHEMA =
            Set.of("CREATE", "ALTER", "DROP", "GRANT", "REVOKE", "COMMENT", "REINDEX", "CLUSTER");

    public ShardScript {
        statements = List.copyOf(statements);
    }

    /**
     * A script with one query.
     *
     * @throws ShardflakeException if it is none, or more than one
     */
    public static ShardScript query(String text) {
        ShardScript script = parse(text);
        if (script.statements.size() > 1) {
            throw usage(
                    "there are %s statements, and a query is one".formatted(script.statements.size()),
                    "run them one by one");
        }
        script.require(
                READS,
                "is not a query: it begins with %s",
                Advice.of("%s runs statements that write", CliCommand.SQL_WRITE));
        return script;
    }

    /**
     * A script with statements that write.
     *
     * @throws ShardflakeException if there are none, or one of them cannot be part of a transaction on a shard
     */
    public static ShardScript writes(String text) {
        ShardScript script = parse(text);
        script.refuse(
                OF_SCHEMA,
                "changes the schema: it begins with %s",
                Advice.of("%s changes the schema of all shards alike", CliCommand.SCHEMA_DEPLOY));
        script.require(
                WRITES,
                "cannot be run in the transaction of a shard: it begins with %s",
                "each shard has a transaction of its own, which begins and ends around all statements");
        return script;
    }

    private static ShardScript parse(String text) {
        List<String> statements = SqlTokens.statements(text).stream()
                .filter(statement -> !firstWord(statement).isEmpty())
                .toList();
        if (statements.isEmpty()) {
            throw usage("there is no statement", "give one, such as 'SELECT id FROM photo'");
        }
        return new ShardScript(statements);
    }

    private static String firstWord(String statement) {
        return SqlTokens.of(statement).stream()
                .filter(token -> !token.is("("))
                .findFirst()
                .filter(token -> token.kind() == SqlTokens.Kind.WORD || token.kind() == SqlTokens.Kind.NUMBER)
                .map(token -> token.text().toUpperCase(Locale.ROOT))
                .orElse("");
    }

    /**
     * The word in a query that makes its result over several shards misleading, since each shard has its own result: a limit, in upper case, or
     * an aggregate without GROUP BY, at the top or in a subquery that names no row of the surrounding query.
     */
    public Optional<String> wordOfOneShard() {
        return PerShardResult.word(statements.get(0));
    }

    private void require(Set<String> words, String problem, CharSequence hint) {
        check(words, true, problem, hint);
    }

    private void refuse(Set<String> words, String problem, CharSequence hint) {
        check(words, false, problem, hint);
    }

    private void check(Set<String> words, boolean isAllowed, String problem, CharSequence hint) {
        for (int i = 0; i < statements.size(); i++) {
            String word = firstWord(statements.get(i));
            if (words.contains(word) != isAllowed) {
                String which = statements.size() == 1 ? "the statement " : "statement %s ".formatted(i + 1);
                throw usage(which + problem.formatted(word), hint);
            }
        }
    }

    private static ShardflakeException usage(String message, @Nullable CharSequence hint) {
        return new ShardflakeException(Kind.USAGE, message, hint, null);
    }

    String text() {
        return String.join(";\n", statements);
    }

    /** A digest of the statements, which ignores blanks around them. */
    String digest() {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(text().getBytes(UTF_8));
            return HexFormat.of().formatHex(digest, 0, 8);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
