/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.flyway;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;
import org.shardflake.server.internal.sqltext.SqlTokens;
import org.shardflake.server.internal.sqltext.SqlTokens.Kind;
import org.shardflake.server.internal.sqltext.SqlTokens.Token;

/**
 * The statements of a script, and whether Flyway runs them in a transaction.
 *
 * @param refusal why shards cannot have them, as a predicate
 */
record FlywayScript(List<String> statements, boolean inTransaction, Optional<String> refusal) {

    /** Statements that Flyway runs without a transaction, by their first words outside parentheses. */
    private static final Pattern ALONE = Pattern.compile(
            "((CREATE|DROP) (DATABASE|TABLESPACE|SUBSCRIPTION)|ALTER SYSTEM|(CREATE|DROP)( UNIQUE)? INDEX CONCURRENTLY|REINDEX( VERBOSE)? (SCHEMA|DATABASE|SYSTEM)|VACUUM|DISCARD ALL)( .*)?");

    private static final Pattern OF_SERVER = Pattern.compile(
            "((CREATE|DROP) (DATABASE|TABLESPACE|SUBSCRIPTION)|ALTER SYSTEM|REINDEX( VERBOSE)? (SCHEMA|DATABASE|SYSTEM)|DISCARD ALL)( .*)?");

    /** The number of words that the patterns look at. */
    private static final int WORDS = 4;

    private static final Pattern WORD = Pattern.compile("[a-z_]+");

    /**
     * Splits a script.
     *
     * @param inTransaction what a script's own settings say
     */
    static FlywayScript of(String script, Optional<Boolean> inTransaction) {
        List<String> statements = new ArrayList<>();
        boolean isAnyAlone = false;
        boolean isAnyTogether = false;
        for (String statement : SqlTokens.statements(script)) {
            List<Token> tokens = SqlTokens.of(statement);
            if (tokens.isEmpty()) {
                continue;
            }
            if (takesInput(tokens)) {
                return refused(
                        "has COPY FROM STDIN, whose rows are not SQL that a shard's next server could run: write INSERT");
            }
            String words = words(tokens);
            if (OF_SERVER.matcher(words).matches()) {
                return refused("has %s, which concerns more than a shard: leave it out".formatted(words));
            }
            boolean isAlone = ALONE.matcher(words).matches();
            isAnyAlone |= isAlone;
            isAnyTogether |= !isAlone;
            if (isAnyAlone && isAnyTogether && inTransaction.isEmpty()) {
                return refused(
                        "has both transactional and non-transactional statements (%s), which Flyway refuses, too: write two migrations"
                                .formatted(words));
            }
            statements.add(statement.strip());
        }
        return new FlywayScript(List.copyOf(statements), inTransaction.orElse(!isAnyAlone), Optional.empty());
    }

    private static FlywayScript refused(String why) {
        return new FlywayScript(List.of(), true, Optional.of(why));
    }

    private static boolean takesInput(List<Token> tokens) {
        if (!tokens.get(0).is("copy")) {
            return false;
        }
        for (int i = 1; i < tokens.size(); i++) {
            if (tokens.get(i).is("stdin") && SqlTokens.is(tokens, i - 1, "from")) {
                return true;
            }
        }
        return false;
    }

    /** The first words outside parentheses that Flyway treats as keywords. */
    private static String words(List<Token> tokens) {
        List<String> words = new ArrayList<>();
        int depth = 0;
        for (int i = 0; i < tokens.size() && words.size() < WORDS; i++) {
            Token token = tokens.get(i);
            depth += token.is("(") ? 1 : token.is(")") ? -1 : 0;
            if (depth == 0
                    && token.kind() == Kind.WORD
                    && WORD.matcher(token.text()).matches()
                    && !SqlTokens.is(tokens, i + 1, ".")
                    && !SqlTokens.is(tokens, i - 1, ".")) {
                words.add(token.text().toUpperCase(Locale.ROOT));
            }
        }
        return String.join(" ", words);
    }
}
