/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server.internal.sqltext;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * SQL split into tokens by the rules of PostgreSQL's scanner, with {@code standard_conforming_strings}.
 *
 * <p>A question mark is a parameter, as JDBC has it, and a doubled one is part of an operator. A quote or comment that is not closed extends to
 * the end, and letters after a number belong to it, which PostgreSQL refuses.
 */
public final class SqlTokens {

    /** The kind of a token. */
    public enum Kind {
        /** A keyword or a name without quotes. */
        WORD,
        /** A name in double quotes. */
        NAME,
        /** A name that begins with {@code U&}, and may have escapes. */
        UNICODE_NAME,
        NUMBER,
        /** A question mark, or a dollar sign and a number. */
        PARAMETER,
        /** A string in single quotes, perhaps after an {@code N}. Without {@code standard_conforming_strings}, a backslash would escape. */
        STRING,
        /** A string that begins with {@code E}. */
        ESCAPE_STRING,
        /** A string that begins with {@code U&}, and may have escapes. */
        UNICODE_STRING,
        /** A string that begins with {@code B} or {@code X}. */
        BIT_STRING,
        DOLLAR_STRING,
        COMMENT,
        /** An operator, or any other character. */
        SYMBOL
    }

    /**
     * A token of SQL.
     *
     * @param text a word in lower case; a name as it is without its quotes; a string without its quotes, its parts on several lines joined, but
     *     with its escapes and doubled quotes; anything else unchanged
     * @param start its offset
     * @param contents the offset of what is inside its quotes
     * @param end the offset at which the next token may begin
     */
    public record Token(Kind kind, String text, int start, int contents, int end) {

        /** Whether this is a word, in lower case, or a symbol. */
        public boolean is(String word) {
            return (kind == Kind.WORD || kind == Kind.SYMBOL) && text.equals(word);
        }

        /** Whether this may be a name. */
        public boolean isIdentifier() {
            return kind == Kind.WORD || kind == Kind.NAME || kind == Kind.UNICODE_NAME;
        }

        /** Whether this is a string of any kind. */
        public boolean isString() {
            return switch (kind) {
                case STRING, ESCAPE_STRING, UNICODE_STRING, BIT_STRING, DOLLAR_STRING -> true;
                case WORD, NAME, UNICODE_NAME, NUMBER, PARAMETER, COMMENT, SYMBOL -> false;
            };
        }
    }

    private static final String OPERATOR = "~!@#^&|`?+-*/%<>=";
    /** An operator of several characters may end with a plus or minus sign only if it contains one of these. */
    private static final String BEFORE_SIGN = "~!@#^&|`?%";

    private final String sql;
    private final List<Token> tokens = new ArrayList<>();
    private int at;

    private SqlTokens(String sql) {
        this.sql = sql;
    }

    /** All tokens, including comments. */
    public static List<Token> all(String sql) {
        SqlTokens scan = new SqlTokens(sql);
        while (scan.at < sql.length()) {
            scan.next();
        }
        return scan.tokens;
    }

    /** All tokens except comments. */
    public static List<Token> of(String sql) {
        List<Token> tokens = all(sql);
        tokens.removeIf(token -> token.kind() == Kind.COMMENT);
        return tokens;
    }

    /** Whether the token at a position is this word or symbol; false beyond the end. */
    public static boolean is(List<Token> tokens, int i, String word) {
        return i >= 0 && i < tokens.size() && tokens.get(i).is(word);
    }

    /** The places of the semicolons that end statements: not those in parentheses or in a body that {@code BEGIN ATOMIC} begins. */
    public static BitSet ends(List<Token> tokens) {
        BitSet ends = new BitSet();
        int parentheses = 0;
        int atomic = 0;
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            if (token.is("(")) {
                parentheses++;
            } else if (token.is(")")) {
                parentheses--;
            } else if (token.is("atomic") && is(tokens, i - 1, "begin")) {
                atomic = 1;
            } else if (atomic > 0 && token.is("case")) {
                atomic++;
            } else if (atomic > 0 && token.is("end")) {
                atomic--;
            } else if (token.is(";") && parentheses <= 0 && atomic == 0) {
                ends.set(i);
                parentheses = 0;
            }
        }
        return ends;
    }

    /** The statements of a text, without the semicolons between them. */
    public static List<String> statements(String sql) {
        List<Token> tokens = of(sql);
        List<String> statements = new ArrayList<>();
        int from = 0;
        for (int i : ends(tokens).stream().toArray()) {
            statements.add(sql.substring(from, tokens.get(i).start()));
            from = tokens.get(i).end();
        }
        statements.add(sql.substring(from));
        return statements;
    }

    /** SQL without its comments; comments inside a dollar-quoted body belong to the body and stay. */
    public static String withoutComments(String sql) {
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
        char c = charAt(at);
        char second = charAt(at + 1);
        if (isSpace(c)) {
            at++;
        } else if (sql.startsWith("--", at)) {
            add(Kind.COMMENT, endOfLine(at));
        } else if (sql.startsWith("/*", at)) {
            add(Kind.COMMENT, endOfComment());
        } else if (c == '\'') {
            string(Kind.STRING, 1);
        } else if (c == '"') {
            name(Kind.NAME, 1);
        } else if (second == '\'' && "eEnNbBxX".indexOf(c) >= 0) {
            string("eE".indexOf(c) >= 0 ? Kind.ESCAPE_STRING : "nN".indexOf(c) >= 0 ? Kind.STRING : Kind.BIT_STRING, 2);
        } else if ((c == 'u' || c == 'U') && sql.startsWith("&'", at + 1)) {
            string(Kind.UNICODE_STRING, 3);
        } else if ((c == 'u' || c == 'U') && sql.startsWith("&\"", at + 1)) {
            name(Kind.UNICODE_NAME, 3);
        } else if (isNameStart(c)) {
            word();
        } else if (isDigit(c) || (c == '.' && isDigit(second))) {
            add(Kind.NUMBER, endOfNumber());
        } else if (c == '$') {
            dollar();
        } else if (c == '?' && second != '?') {
            add(Kind.PARAMETER, at + 1);
        } else {
            add(Kind.SYMBOL, endOfSymbol());
        }
    }

    /** The character at an offset; 0 beyond the end. */
    private char charAt(int i) {
        return i < sql.length() ? sql.charAt(i) : 0;
    }

    private static boolean isSpace(char c) {
        return c == ' ' || (c >= '\t' && c <= '\r');
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }

    /** Whether a character may begin a name; PostgreSQL takes all characters beyond ASCII for letters, even spaces. */
    private static boolean isNameStart(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 128;
    }

    private int endOfLine(int from) {
        int i = from;
        while (i < sql.length() && sql.charAt(i) != '\n' && sql.charAt(i) != '\r') {
            i++;
        }
        return i;
    }

    private int endOfComment() {
        int i = at + 2;
        for (int depth = 1; depth > 0 && i < sql.length(); ) {
            if (sql.startsWith("/*", i)) {
                depth++;
                i += 2;
            } else if (sql.startsWith("*/", i)) {
                depth--;
                i += 2;
            } else {
                i++;
            }
        }
        return i;
    }

    private void string(Kind kind, int opening) {
        int begin = at + opening;
        int quote = closingQuote(kind, begin);
        String text = sql.substring(begin, quote);
        for (int next = continuation(quote + 1); next > 0; next = continuation(quote + 1)) {
            quote = closingQuote(kind, next);
            text += sql.substring(next, quote);
        }
        add(kind, text, begin, Math.min(quote + 1, sql.length()));
    }

    /** The offset of the quote that closes a string, or of its part on a line; the end if it is not closed. */
    private int closingQuote(Kind kind, int from) {
        for (int i = from; i < sql.length(); i++) {
            char c = sql.charAt(i);
            if (c == '\\' && kind == Kind.ESCAPE_STRING) {
                i++;
            } else if (c == '\'') {
                if (kind == Kind.BIT_STRING || charAt(i + 1) != '\'') {
                    return i;
                }
                i++;
            }
        }
        return sql.length();
    }

    /** The offset after the quote with which a string continues on another line; 0 if the string ends. */
    private int continuation(int from) {
        boolean isOnOtherLine = false;
        int i = from;
        while (i < sql.length()) {
            char c = sql.charAt(i);
            if (c == '\'') {
                return isOnOtherLine ? i + 1 : 0;
            }
            if (isSpace(c)) {
                isOnOtherLine |= c == '\n' || c == '\r';
                i++;
            } else if (sql.startsWith("--", i)) {
                i = endOfLine(i);
            } else {
                return 0;
            }
        }
        return 0;
    }

    private void name(Kind kind, int opening) {
        int begin = at + opening;
        int quote = sql.indexOf('"', begin);
        while (quote >= 0 && charAt(quote + 1) == '"') {
            quote = sql.indexOf('"', quote + 2);
        }
        int end = quote < 0 ? sql.length() : quote;
        add(kind, sql.substring(begin, end).replace("\"\"", "\""), begin, Math.min(end + 1, sql.length()));
    }

    private void word() {
        int end = endOfWord(at);
        char[] text = sql.substring(at, end).toCharArray();
        for (int i = 0; i < text.length; i++) {
            // As PostgreSQL does in UTF-8, not the other letters.
            if (text[i] >= 'A' && text[i] <= 'Z') {
                text[i] = Character.toLowerCase(text[i]);
            }
        }
        add(Kind.WORD, new String(text), at, end);
    }

    private int endOfWord(int from) {
        int i = from;
        while (isNameStart(charAt(i)) || isDigit(charAt(i)) || charAt(i) == '$') {
            i++;
        }
        return i;
    }

    private int endOfNumber() {
        int i = endOfDigits(at);
        if (charAt(i) == '.' && charAt(i + 1) != '.') {
            i = endOfDigits(i + 1);
        }
        if (charAt(i) == 'e' || charAt(i) == 'E') {
            int sign = charAt(i + 1) == '+' || charAt(i + 1) == '-' ? 1 : 0;
            i = isDigit(charAt(i + 1 + sign)) ? endOfDigits(i + 1 + sign) : i;
        }
        return isNameStart(charAt(i)) ? endOfWord(i) : i;
    }

    private int endOfDigits(int from) {
        int i = from;
        while (isDigit(charAt(i)) || (charAt(i) == '_' && i > from)) {
            i++;
        }
        return i;
    }

    private void dollar() {
        int i = at + 1;
        if (isDigit(charAt(i))) {
            i = endOfDigits(i);
            add(Kind.PARAMETER, isNameStart(charAt(i)) ? endOfWord(i) : i);
            return;
        }
        while (isNameStart(charAt(i)) || (isDigit(charAt(i)) && i > at + 1)) {
            i++;
        }
        if (charAt(i) != '$') {
            add(Kind.SYMBOL, at + 1);
            return;
        }
        String tag = sql.substring(at, i + 1);
        int closing = sql.indexOf(tag, i + 1);
        int end = closing < 0 ? sql.length() : closing;
        add(Kind.DOLLAR_STRING, sql.substring(i + 1, end), i + 1, Math.min(end + tag.length(), sql.length()));
    }

    private int endOfSymbol() {
        if (sql.startsWith("::", at) || sql.startsWith(":=", at) || sql.startsWith("..", at)) {
            return at + 2;
        }
        int end = at;
        boolean mayEndWithSign = false;
        while (OPERATOR.indexOf(charAt(end)) >= 0 && !sql.startsWith("--", end) && !sql.startsWith("/*", end)) {
            if (charAt(end) == '?') {
                if (charAt(end + 1) != '?') {
                    break; // a parameter
                }
                end++;
            }
            mayEndWithSign |= BEFORE_SIGN.indexOf(charAt(end)) >= 0;
            end++;
        }
        while (end > at + 1 && !mayEndWithSign && "+-".indexOf(charAt(end - 1)) >= 0) {
            end--;
        }
        return Math.max(end, at + 1);
    }

    private void add(Kind kind, int end) {
        add(kind, sql.substring(at, end), at, end);
    }

    private void add(Kind kind, String text, int contents, int end) {
        tokens.add(new Token(kind, text, at, contents, end));
        at = end;
    }
}
