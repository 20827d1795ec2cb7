/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.sqltext;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.server.internal.sqltext.SqlTokens;
import org.shardflake.server.internal.sqltext.SqlTokens.Kind;
import org.shardflake.server.internal.sqltext.SqlTokens.Token;

/**
 * Distinguishes SQL that leaves its session unchanged from SQL that may not.
 *
 * <p>Not a parser: it knows everyday statements and functions, and assumes that any other leaves traces. A wrong yes
 * costs a round trip. It does not see calls by triggers, views and policies.
 */
public final class SqlEffects {

    /** The placeholder for a shard's schema in cached texts, which lets all shards share an entry. */
    private static final String ANY_SHARD = "shard_nnnn";

    private static final TextCache<Facts> KNOWN = new TextCache<>();

    /**
     * The effects that a statement's text reveals.
     *
     * @param written the table that it writes to, if it is one everyday INSERT, UPDATE or DELETE
     * @param end the statement in it that ends the transaction, such as {@code COMMIT}
     */
    public record Facts(
            Effect effect,
            @Nullable WrittenTable written,
            @Nullable String end) {}

    /** The effect that a text may have. */
    public enum Effect {
        NONE,
        /** The text may change the locks that the transaction holds, or whether its writes meet fences. */
        LOCKS,
        /** The text may change the search_path until the transaction ends, and perhaps {@link #LOCKS}. */
        PATH,
        SESSION
    }

    private static final Set<String> STATEMENTS = words(
            "select insert update delete merge with values table show explain savepoint release rollback commit end abort lock copy",
            "notify truncate analyze vacuum fetch move close");

    /** The words that begin statements which release a transaction's locks, or make that possible. */
    private static final Set<String> RELEASES = words("savepoint rollback commit end abort");

    /** Words after SET that limit the setting to its transaction. */
    private static final Set<String> SET_IN_TRANSACTION = words("local transaction constraints");

    /** Words after SET LOCAL that name the search_path. */
    private static final Set<String> PATH_SETTINGS = words("search_path schema");

    /** Words that occur only in statements that leave something behind in the session. */
    private static final Set<String> TRACES = words("temp temporary pg_temp pg_settings chain");

    /** Words after which a parenthesis opens a list of columns: INTO photo (id), AS photo (id), WITH photo (id). */
    private static final Set<String> BEFORE_NAME = words("into as with recursive");

    private static final Set<String> SCHEMAS = words("pg_catalog shardflake");

    /** Words and functions that a parenthesis may follow. */
    private static final Set<String> HARMLESS = WordList.read("everyday-words.txt");

    private String word = "";
    private String qualifier = "";
    private boolean isName;
    private boolean isStart = true;
    private boolean isSet;
    private boolean isSetLocal;
    private boolean setsPath;
    private boolean changesLocks;

    private SqlEffects() {}

    private static Set<String> words(String... lines) {
        return Set.copyOf(Arrays.asList(String.join(" ", lines).split(" ")));
    }

    /**
     * The changes that the statements of a text may make, and the table they write to.
     *
     * @param schema that of the shard it is for; null if it is for many
     */
    public static Facts facts(String sql, @Nullable String schema) {
        if (schema == null || sql.contains(ANY_SHARD)) {
            return KNOWN.get(sql, SqlEffects::read);
        }
        Facts facts = KNOWN.get(sql.replace(schema, ANY_SHARD), SqlEffects::read);
        WrittenTable written = facts.written();
        return written == null ? facts : new Facts(facts.effect(), written.in(ANY_SHARD, schema), facts.end());
    }

    private static Facts read(String sql) {
        List<Token> tokens = SqlTokens.all(sql);
        return new Facts(new SqlEffects().effect(tokens), WrittenTable.of(tokens), TransactionEnd.in(tokens));
    }

    /** Whether a parenthesis may follow a lower-case word without anything being left behind in the session. */
    static boolean isEveryday(String word) {
        return HARMLESS.contains(word);
    }

    /** Whether a string's value does not depend on standard_conforming_strings. */
    static boolean isSure(Token string) {
        return string.kind() != Kind.STRING || string.text().indexOf('\\') < 0;
    }

    private Effect effect(List<Token> tokens) {
        for (Token token : tokens) {
            if (token.kind() != Kind.COMMENT && !next(token)) {
                return Effect.SESSION;
            }
        }
        if (isSet) {
            return Effect.SESSION;
        }
        if (setsPath) {
            return Effect.PATH;
        }
        return changesLocks ? Effect.LOCKS : Effect.NONE;
    }

    /** Reads a token; false if the statement may leave something behind in the session. */
    private boolean next(Token token) {
        if (isSet && token.kind() != Kind.WORD) {
            return false;
        }
        return switch (token.kind()) {
            case WORD -> word(token.text());
            case NAME -> quotedName(token.text());
            case UNICODE_NAME -> false;
            case STRING -> forget() && isSure(token);
            case SYMBOL -> symbol(token.text());
            case NUMBER, PARAMETER, ESCAPE_STRING, UNICODE_STRING, BIT_STRING, DOLLAR_STRING, COMMENT -> forget();
        };
    }

    private boolean symbol(String symbol) {
        switch (symbol) {
            case "(" -> {
                return parenthesis();
            }
            // JDBC's escapes call functions too.
            case "{", "}" -> {
                return false;
            }
            case "." -> {
                qualifier = word;
                word = ".";
            }
            case ";" -> {
                forget();
                isStart = true;
            }
            default -> forget();
        }
        return true;
    }

    private boolean forget() {
        word = "";
        qualifier = "";
        isName = false;
        return true;
    }

    private boolean word(String found) {
        if (isSet) {
            isSet = false;
            isSetLocal = found.equals("local");
            return SET_IN_TRANSACTION.contains(found);
        }
        if (isSetLocal) {
            setsLocal(found);
        }
        if (isStart) {
            isStart = false;
            isSet = found.equals("set");
            changesLocks |= RELEASES.contains(found);
            return isSet || (STATEMENTS.contains(found) && named(found));
        }
        return !TRACES.contains(found) && named(found);
    }

    private void setsLocal(String setting) {
        isSetLocal = false;
        setsPath |= PATH_SETTINGS.contains(setting);
        changesLocks |= setting.equals("session_replication_role");
    }

    private boolean named(String found) {
        if (word.equals(".")) {
            word = found;
            return true;
        }
        isName = BEFORE_NAME.contains(word);
        qualifier = "";
        word = found;
        return true;
    }

    private boolean quotedName(String name) {
        isStart = false;
        if (isSetLocal) {
            setsLocal(name.toLowerCase(Locale.ROOT));
        }
        return !name.equals("pg_temp") && !name.equals("pg_settings") && named('"' + name);
    }

    private boolean parenthesis() {
        boolean isList = isName || word.isEmpty();
        boolean harmless = isList
                || (HARMLESS.contains(word)
                        && (qualifier.isEmpty() || SCHEMAS.contains(qualifier) || isShard(qualifier)));
        forget();
        return harmless;
    }

    private static boolean isShard(String name) {
        return name.startsWith("shard_") || name.startsWith("\"shard_");
    }
}
