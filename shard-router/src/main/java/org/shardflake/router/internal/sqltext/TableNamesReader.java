/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.sqltext;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Finds the {@link TableNames} of a statement.
 *
 * <p>Not a parser of SQL: it knows where the everyday SELECT, INSERT, UPDATE and DELETE names tables, and gives up on
 * anything else. Every name that it does not take for a table's, it reports as another, so that a name of the shard that
 * is not understood here is found out by {@link TableNames#in}.
 */
public final class TableNamesReader {

    private static final int MOST = 5_000;
    /** PostgreSQL cuts off longer names. */
    private static final int LONGEST_NAME = 63;

    private static final Map<String, Optional<TableNames>> KNOWN = new ConcurrentHashMap<>();

    private static final Set<String> STATEMENTS = words("SELECT INSERT UPDATE DELETE WITH VALUES");
    /** FROM in these functions' parentheses is no clause. */
    private static final Set<String> FROM_IN_CALL = words("EXTRACT SUBSTRING TRIM OVERLAY");
    /** Words that end a list of tables. */
    private static final Set<String> AFTER_TABLES = words(
            "SET WHERE GROUP HAVING WINDOW UNION INTERSECT EXCEPT ORDER LIMIT OFFSET FETCH FOR RETURNING SELECT VALUES");
    /** Words after a WITH that begins no clause of queries. */
    private static final Set<String> AFTER_OTHER_WITH = words("TIES ORDINALITY TIME");
    /** What the name of a type or a collation follows, which may be a reserved word. */
    private static final Set<String> BEFORE_TYPE = words(":: AS COLLATE");

    /** What depends on the search_path when it runs, or reads a string as the name of a table. */
    private static final Set<String> LOOKS_AT_PATH = words(
            "CURRENT_SCHEMA CURRENT_SETTING NEXTVAL CURRVAL TO_REGCLASS NEXT_ID NEXT_IDS OPERATOR TABLE XMLTABLE",
            "REGCLASS REGCOLLATION REGCONFIG REGDICTIONARY REGOPER REGOPERATOR REGPROC REGPROCEDURE REGTYPE REGNAMESPACE");

    /** PostgreSQL's reserved words: without quotes none of them is a table's or column's name. */
    private static final Set<String> RESERVED = words(
            "ALL ANALYSE ANALYZE AND ANY ARRAY AS ASC ASYMMETRIC BOTH CASE CAST CHECK COLLATE COLUMN CONSTRAINT CREATE",
            "CURRENT_CATALOG CURRENT_DATE CURRENT_ROLE CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER DEFAULT DEFERRABLE DESC",
            "DISTINCT DO ELSE END EXCEPT FALSE FETCH FOR FOREIGN FROM GRANT GROUP HAVING IN INITIALLY INTERSECT INTO LATERAL",
            "LEADING LIMIT LOCALTIME LOCALTIMESTAMP NOT NULL OFFSET ON ONLY OR ORDER PLACING PRIMARY REFERENCES RETURNING",
            "SELECT SESSION_USER SOME SYMMETRIC TABLE THEN TO TRAILING TRUE UNION UNIQUE USER USING VARIADIC WHEN WHERE WINDOW WITH",
            "AUTHORIZATION BINARY CONCURRENTLY CROSS FREEZE FULL ILIKE INNER IS ISNULL JOIN LEFT LIKE NATURAL NOTNULL OUTER",
            "OVERLAPS RIGHT SIMILAR TABLESAMPLE VERBOSE");

    /** One pair of parentheses, or the whole text. */
    private static final class Level {
        /** The word before the parenthesis, until a query is found inside. */
        private String call;

        private boolean isStart = true;
        private boolean isInTables;
        private boolean isInQueries;

        Level(String call) {
            this.call = call;
        }

        /** A statement begins here. */
        void begin() {
            call = "";
            isInTables = false;
            isInQueries = false;
        }
    }

    private final String sql;
    private final Deque<Level> levels = new ArrayDeque<>();
    private int at;
    /** The word or sign before, and that before it; words in upper case. */
    private String last = "";

    private String secondLast = "";
    private boolean expectsTable;
    private boolean expectsQueryName;

    private int copied;
    private final List<String> parts = new ArrayList<>();
    private final List<String> tables = new ArrayList<>();
    private final Set<String> queries = new HashSet<>();
    private final Set<String> others = new HashSet<>();

    private TableNamesReader(String sql) {
        this.sql = sql;
    }

    private static Set<String> words(String... lines) {
        return Stream.of(lines).flatMap(line -> Arrays.stream(line.split(" "))).collect(Collectors.toUnmodifiableSet());
    }

    /** The table names of a text; nothing if it is not understood. */
    public static Optional<TableNames> read(String sql) {
        Optional<TableNames> known = KNOWN.get(sql);
        if (known != null) {
            return known;
        }
        Optional<TableNames> read = new TableNamesReader(sql).read();
        if (KNOWN.size() >= MOST) {
            KNOWN.clear();
        }
        KNOWN.put(sql, read);
        return read;
    }

    private Optional<TableNames> read() {
        levels.push(new Level(""));
        while (at < sql.length()) {
            if (!next(sql.charAt(at))) {
                return Optional.empty();
            }
        }
        if (levels.size() != 1 || top().isStart || expectsTable || expectsQueryName) {
            return Optional.empty();
        }
        parts.add(sql.substring(copied));
        return Optional.of(
                new TableNames(List.copyOf(parts), List.copyOf(tables), Set.copyOf(queries), Set.copyOf(others)));
    }

    private Level top() {
        return levels.element();
    }

    /** Moves past the next token; false if it is not understood. */
    private boolean next(char c) {
        if (Character.isWhitespace(c)) {
            at++;
            return true;
        }
        if (sql.startsWith("--", at)) {
            return false;
        }
        if (sql.startsWith("/*", at)) {
            return comment();
        }
        if (c == '"' || isNameStart(c)) {
            return name();
        }
        if (Character.isDigit(c) || (c == '.' && at + 1 < sql.length() && Character.isDigit(sql.charAt(at + 1)))) {
            while (at < sql.length() && (isNamePart(sql.charAt(at)) || sql.charAt(at) == '.')) {
                at++;
            }
            return after("0");
        }
        return switch (c) {
            case '\'' -> string(false);
            case '(' -> open();
            case ')' -> close();
            case ',' -> comma();
            case ';', '$', '{', '}', '\\', '.' -> false;
            default -> sign(c);
        };
    }

    /** A comment before the statement. Inside, it could stand between a function and its parenthesis. */
    private boolean comment() {
        int end = sql.indexOf("*/", at + 2);
        boolean isNested = end < 0 || sql.substring(at + 2, end).contains("/*");
        at = end + 2;
        return !isNested && levels.size() == 1 && top().isStart;
    }

    private static boolean isNameStart(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    }

    private static boolean isNamePart(char c) {
        return isNameStart(c) || (c >= '0' && c <= '9');
    }

    /** Goes on after a token that is no name; false if a name had to be there. */
    private boolean after(String token) {
        if (expectsTable || expectsQueryName) {
            return false;
        }
        shift(token);
        return true;
    }

    private void shift(String token) {
        secondLast = last;
        last = token;
        top().isStart = false;
    }

    private boolean sign(char c) {
        boolean isCast = sql.startsWith("::", at);
        at += isCast ? 2 : 1;
        return c < 128 && after(isCast ? "::" : String.valueOf(c));
    }

    private boolean string(boolean hasEscapes) {
        at = SqlEffects.endOfString(sql, at, hasEscapes);
        return at >= 0 && at <= sql.length() && after("'");
    }

    private boolean open() {
        if (expectsQueryName) {
            return false;
        }
        Level inside = new Level(last);
        inside.isInTables = expectsTable;
        at++;
        shift("(");
        levels.push(inside);
        return true;
    }

    private boolean close() {
        at++;
        if (levels.size() == 1 || expectsTable || expectsQueryName) {
            return false;
        }
        levels.pop();
        shift(")");
        return true;
    }

    private boolean comma() {
        at++;
        if (!after(",")) {
            return false;
        }
        expectsQueryName = top().isInQueries;
        expectsTable = top().isInTables && !top().isInQueries;
        return true;
    }

    /** A name, perhaps qualified, or a word of SQL. */
    private boolean name() {
        int begin = at;
        boolean isQuoted = sql.charAt(at) == '"';
        @Nullable String name = one();
        if (name == null) {
            return false;
        }
        @Nullable String qualifier = null;
        while (at < sql.length() && peek() == '.') {
            skipSpace();
            at++;
            skipSpace();
            if (at < sql.length() && sql.charAt(at) == '*') {
                at++;
                return after("*");
            }
            qualifier = name;
            if (at >= sql.length() || (sql.charAt(at) != '"' && !isNameStart(sql.charAt(at)))) {
                return false;
            }
            name = one();
            if (name == null) {
                return false;
            }
        }
        if (qualifier != null) {
            return qualified(qualifier, name);
        }
        return isQuoted ? plain(begin, name, "", true) : word(begin, name);
    }

    /** One identifier, as the server has it; null if it is not understood. */
    private @Nullable String one() {
        int begin = at;
        if (sql.charAt(at) == '"') {
            int end = sql.indexOf('"', at + 1);
            if (end < 0 || sql.startsWith("\"\"", end) || end - begin > LONGEST_NAME) {
                return null;
            }
            at = end + 1;
            return sql.substring(begin + 1, end);
        }
        while (at < sql.length() && isNamePart(sql.charAt(at))) {
            at++;
        }
        boolean isEnd = at == sql.length() || (sql.charAt(at) != '$' && sql.charAt(at) < 128);
        return isEnd && at - begin <= LONGEST_NAME ? sql.substring(begin, at).toLowerCase(Locale.ROOT) : null;
    }

    private void skipSpace() {
        while (at < sql.length() && Character.isWhitespace(sql.charAt(at))) {
            at++;
        }
    }

    /** The next character that is no space; 0 at the end. */
    private char peek() {
        int next = at;
        while (next < sql.length() && Character.isWhitespace(sql.charAt(next))) {
            next++;
        }
        return next < sql.length() ? sql.charAt(next) : 0;
    }

    /** The word after spaces and, if need be, a parenthesis. */
    private String peekWord(boolean inParenthesis) {
        int next = at;
        while (next < sql.length()
                && (Character.isWhitespace(sql.charAt(next)) || (inParenthesis && sql.charAt(next) == '('))) {
            next++;
        }
        int begin = next;
        while (next < sql.length() && isNamePart(sql.charAt(next))) {
            next++;
        }
        return sql.substring(begin, next).toUpperCase(Locale.ROOT);
    }

    private boolean qualified(String qualifier, String name) {
        String word = name.toUpperCase(Locale.ROOT);
        boolean isCall = peek() == '(' && !(expectsTable && last.equals("INTO"));
        boolean isOurs = qualifier.equals("pg_catalog") || qualifier.equals("shardflake");
        if (expectsQueryName || (isCall && !(isOurs && isHarmlessCall(word)))) {
            return false;
        }
        expectsTable = false;
        shift(".");
        return true;
    }

    private static boolean isHarmlessCall(String word) {
        return SqlEffects.isEveryday(word) && !LOOKS_AT_PATH.contains(word);
    }

    private boolean word(int begin, String name) {
        String word = name.toUpperCase(Locale.ROOT);
        char following = at < sql.length() ? sql.charAt(at) : 0;
        if (following == '\'' && Set.of("E", "B", "X", "N").contains(word)) {
            return string(word.equals("E"));
        }
        boolean isFirst = levels.size() == 1 && top().isStart;
        if ((following == '&' && word.equals("U"))
                || LOOKS_AT_PATH.contains(word)
                || (isFirst && !STATEMENTS.contains(word))) {
            return false;
        }
        if (BEFORE_TYPE.contains(last)) {
            return plain(begin, name, word, false);
        }
        boolean isModifier = (expectsTable && (word.equals("LATERAL") || word.equals("ONLY")))
                || (expectsQueryName && word.equals("RECURSIVE"));
        if (isModifier) {
            shift(word);
            return true;
        }
        return switch (begins(word)) {
            case TABLE -> expect(word, true);
            case QUERY -> expect(word, false);
            case NOTHING -> plain(begin, name, word, false);
            case UNKNOWN -> false;
        };
    }

    /** What has to follow a word. */
    private enum Next {
        TABLE,
        QUERY,
        NOTHING,
        UNKNOWN
    }

    private Next begins(String word) {
        Level level = top();
        boolean isStatement = STATEMENTS.contains(word) && (level.isStart || (level.isInQueries && last.equals(")")));
        if (isStatement) {
            level.begin();
            expectsTable = false; // In the parenthesis after FROM there is a query.
        } else if (AFTER_TABLES.contains(word) && !expectsTable) {
            level.isInTables = false;
        }
        return switch (word) {
            case "WITH" -> with(isStatement);
            case "FROM" -> from();
            case "JOIN" -> Next.TABLE;
            case "USING" -> using();
            case "INTO" ->
                last.equals("INSERT") && Set.of("", "(", ")").contains(secondLast) ? Next.TABLE : Next.UNKNOWN;
            case "UPDATE" -> isStatement ? Next.TABLE : Next.NOTHING;
            default -> Next.NOTHING;
        };
    }

    private Next with(boolean isStatement) {
        if (isStatement) {
            top().isInQueries = true;
            return Next.QUERY;
        }
        return AFTER_OTHER_WITH.contains(peekWord(false)) ? Next.NOTHING : Next.UNKNOWN;
    }

    private Next from() {
        if (last.equals("DISTINCT") && (secondLast.equals("IS") || secondLast.equals("NOT"))) {
            return Next.NOTHING;
        }
        if (!top().call.isEmpty()) {
            return FROM_IN_CALL.contains(top().call) ? Next.NOTHING : Next.UNKNOWN;
        }
        top().isInTables = true;
        return Next.TABLE;
    }

    private Next using() {
        if (peek() == '(' && !STATEMENTS.contains(peekWord(true))) {
            return Next.NOTHING; // The columns of a join.
        }
        top().isInTables = true;
        return Next.TABLE;
    }

    private boolean expect(String word, boolean table) {
        if (!after(word)) {
            return false;
        }
        expectsTable = table;
        expectsQueryName = !table;
        return true;
    }

    /** A name without a schema, or a word without a part in this. */
    private boolean plain(int begin, String name, String word, boolean isQuoted) {
        boolean isCall = peek() == '(';
        if (expectsQueryName) {
            queries.add(name);
            expectsQueryName = false;
        } else if (expectsTable && (!isCall || last.equals("INTO"))) {
            if (!isQuoted && RESERVED.contains(word)) {
                return false;
            }
            parts.add(sql.substring(copied, begin));
            copied = begin;
            tables.add(name);
            expectsTable = false;
        } else {
            expectsTable = false;
            // After AS a list of columns, or the length of a type.
            if (isCall && !last.equals("AS") && (isQuoted || !isHarmlessCall(word))) {
                return false;
            }
            if (isQuoted || isCall || BEFORE_TYPE.contains(last) || !RESERVED.contains(word)) {
                others.add(name);
            }
        }
        shift(isQuoted ? "\"" : word);
        return true;
    }
}
