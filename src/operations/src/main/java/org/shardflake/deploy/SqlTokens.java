/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.shardflake.server.internal.DriverScanner;

/** SQL split into tokens as by PostgreSQL's scanner, with the same comments and strings. */
final class SqlTokens {

    enum Kind {
        /** A keyword, a number, or a name without quotes. */
        WORD,
        /** A name in double quotes. */
        NAME,
        STRING,
        /** A string in dollar quotes. */
        DOLLAR_STRING,
        COMMENT,
        /** Any other character. */
        SYMBOL
    }

    /**
     * A token of SQL.
     *
     * @param text a word in lower case, a name or string without its quotes, anything else unchanged
     * @param start its offset
     * @param contents the offset of what is inside its quotes
     * @param end the offset at which the next token may begin
     */
    record Token(Kind kind, String text, int start, int contents, int end) {

        boolean is(String word) {
            return kind != Kind.STRING && kind != Kind.DOLLAR_STRING && kind != Kind.NAME && text.equals(word);
        }

        boolean isIdentifier() {
            return kind == Kind.WORD || kind == Kind.NAME;
        }

        boolean isString() {
            return kind == Kind.STRING || kind == Kind.DOLLAR_STRING;
        }
    }

    private final char[] sql;
    private final List<Token> tokens = new ArrayList<>();
    private int at;

    private SqlTokens(String sql) {
        this.sql = sql.toCharArray();
    }

    /** All tokens, including comments. A quote that is not closed extends to the end. */
    static List<Token> all(String sql) {
        SqlTokens scan = new SqlTokens(sql);
        while (scan.at < scan.sql.length) {
            scan.next();
        }
        return scan.tokens;
    }

    /** Whether there is a token at this place, and it is this word or symbol. */
    static boolean is(List<Token> tokens, int i, String word) {
        return i < tokens.size() && tokens.get(i).is(word);
    }

    /** All tokens except comments. */
    static List<Token> of(String sql) {
        return all(sql).stream().filter(token -> token.kind() != Kind.COMMENT).toList();
    }

    /** SQL without its comments; comments inside a dollar-quoted body belong to the body and stay. */
    static String withoutComments(String sql) {
        StringBuilder text = new StringBuilder(sql);
        List<Token> tokens = all(sql);
        for (int i = tokens.size() - 1; i >= 0; i--) {
            Token token = tokens.get(i);
            if (token.kind() == Kind.COMMENT) {
                text.replace(token.start(), token.end(), sql.startsWith("/*", token.start()) ? " " : "");
            }
        }
        return text.toString().strip();
    }

    private void next() {
        char c = sql[at];
        if (Character.isWhitespace(c)) {
            at++;
        } else if (c == '\'') {
            add(Kind.STRING, endOfString(), 1);
        } else if (c == '"') {
            add(Kind.NAME, DriverScanner.endOfName(sql, at), 1);
        } else if (c == '-' && DriverScanner.endOfLineComment(sql, at) > at) {
            int last = DriverScanner.endOfLineComment(sql, at);
            add(Kind.COMMENT, sql[last] == '\n' || sql[last] == '\r' ? last - 1 : last, 0);
        } else if (c == '/' && DriverScanner.endOfBlockComment(sql, at) > at) {
            add(Kind.COMMENT, DriverScanner.endOfBlockComment(sql, at), 0);
        } else if (c == '$' && DriverScanner.endOfDollarString(sql, at) > at) {
            add(Kind.DOLLAR_STRING, DriverScanner.endOfDollarString(sql, at), tagLength());
        } else if (DriverScanner.isOfIdentifier(c)) {
            int last = at;
            while (last + 1 < sql.length && DriverScanner.isOfIdentifier(sql[last + 1])) {
                last++;
            }
            add(Kind.WORD, last, 0);
        } else {
            add(Kind.SYMBOL, at, 0);
        }
    }

    /** The last character of the string that begins here; a doubled quote does not end it. */
    private int endOfString() {
        boolean isStandard = !followsE();
        int last = DriverScanner.endOfString(sql, at, isStandard);
        while (last + 1 < sql.length && sql[last + 1] == '\'') {
            last = DriverScanner.endOfString(sql, last + 1, isStandard);
        }
        return last;
    }

    /** Whether the string that begins here is an escape string: {@code E'...'}. */
    private boolean followsE() {
        Token before = tokens.isEmpty() ? null : tokens.get(tokens.size() - 1);
        return before != null && before.is("e") && before.end() == at;
    }

    private int tagLength() {
        int end = at + 1;
        while (sql[end] != '$') {
            end++;
        }
        return end + 1 - at;
    }

    /** @param last its end as the driver's parser reports it: its last character, or the offset behind the end */
    private void add(Kind kind, int last, int quotes) {
        int end = Math.min(last + 1, sql.length);
        int contents = Math.min(at + quotes, end);
        String text = new String(sql, contents, Math.max(contents, end - quotes) - contents);
        tokens.add(new Token(
                kind,
                switch (kind) {
                    case WORD -> text.toLowerCase(Locale.ROOT);
                    case NAME, STRING, DOLLAR_STRING, COMMENT, SYMBOL -> text;
                },
                at,
                contents,
                end));
        at = end;
    }
}
