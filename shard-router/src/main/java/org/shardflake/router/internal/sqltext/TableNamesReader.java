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
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shardflake.server.internal.sqltext.SqlTokens;
import org.shardflake.server.internal.sqltext.SqlTokens.Kind;
import org.shardflake.server.internal.sqltext.SqlTokens.Token;

/**
 * Finds the {@link TableNames} of a statement.
 *
 * <p>Not a parser of SQL: it knows where the everyday SELECT, INSERT, UPDATE and DELETE names tables, and gives up on
 * anything else. Every name that it does not take for a table's, it reports as another, so that a name of the shard that
 * is not understood here is found out by {@link TableNames#in}.
 */
public final class TableNamesReader {

    /** The length to which PostgreSQL truncates names. */
    private static final int LONGEST_NAME = 63;

    /** The known results by the whole text: a text without a schema is the same in every shard. */
    private static final TextCache<Optional<TableNames>> KNOWN = new TextCache<>();

    private static final Set<String> STATEMENTS = words("select insert update delete with values");
    /** Functions in whose parentheses FROM does not begin a clause. */
    private static final Set<String> FROM_IN_CALL = words("extract substring trim overlay");
    /** Words that end a list of tables. */
    private static final Set<String> AFTER_TABLES = words(
            "set where group having window union intersect except order limit offset fetch for returning select values");
    /** Words after a WITH that does not begin a common table expression. */
    private static final Set<String> AFTER_OTHER_WITH = words("ties ordinality time");
    /** Words before the name of a type or a collation, which may be a reserved word. */
    private static final Set<String> BEFORE_TYPE = words(":: as collate");

    /** Functions that depend on the search_path at run time, or read a string as the name of a table. */
    private static final Set<String> LOOKS_AT_PATH = WordList.read("path-words.txt");

    /** PostgreSQL's reserved words, which without quotes are never the name of a table or column. */
    private static final Set<String> RESERVED = WordList.read("reserved-words.txt");

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

        /** Notes that a statement begins at this level. */
        void begin() {
            call = "";
            isInTables = false;
            isInQueries = false;
        }
    }

    private final String sql;
    private final List<Token> tokens;
    private final Deque<Level> levels = new ArrayDeque<>();
    /** The position of the next token. */
    private int at;
    /** The previous two words or signs; words in lower case. */
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
        this.tokens = SqlTokens.of(sql);
    }

    private static Set<String> words(String... lines) {
        return Stream.of(lines).flatMap(line -> Arrays.stream(line.split(" "))).collect(Collectors.toUnmodifiableSet());
    }

    /** The table names of a text; empty if the text is not understood. */
    public static Optional<TableNames> read(String sql) {
        return KNOWN.get(sql, text -> new TableNamesReader(text).read());
    }

    private Optional<TableNames> read() {
        levels.push(new Level(""));
        while (at < tokens.size()) {
            if (!next(tokens.get(at++))) {
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

    /** Reads a token; false if it is not understood. */
    private boolean next(Token token) {
        return switch (token.kind()) {
            case WORD, NAME -> name(token);
            case NUMBER, PARAMETER, ESCAPE_STRING, BIT_STRING -> after("0");
            case STRING -> SqlEffects.isSure(token) && after("0");
            case UNICODE_NAME, UNICODE_STRING, DOLLAR_STRING, COMMENT -> false;
            case SYMBOL ->
                switch (token.text()) {
                    case "(" -> open();
                    case ")" -> close();
                    case "," -> comma();
                    case ";", "$", "{", "}", "\\", ".", ".." -> false;
                    default -> after(token.text());
                };
        };
    }

    /** Continues after a token that is not a name; false if a name was required there. */
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

    private boolean open() {
        if (expectsQueryName) {
            return false;
        }
        Level inside = new Level(last);
        inside.isInTables = expectsTable;
        shift("(");
        levels.push(inside);
        return true;
    }

    private boolean close() {
        if (levels.size() == 1 || expectsTable || expectsQueryName) {
            return false;
        }
        levels.pop();
        shift(")");
        return true;
    }

    private boolean comma() {
        if (!after(",")) {
            return false;
        }
        expectsQueryName = top().isInQueries;
        expectsTable = top().isInTables && !top().isInQueries;
        return true;
    }

    /** Handles a name, perhaps qualified, or a keyword of SQL. */
    private boolean name(Token first) {
        Token last = first;
        @Nullable Token qualifier = null;
        while (isName(last) && SqlTokens.is(tokens, at, ".") && at + 1 < tokens.size()) {
            at++;
            qualifier = last;
            last = tokens.get(at++);
            if (last.is("*")) {
                return after("*");
            }
        }
        if (!isName(last)) {
            return false;
        }
        if (qualifier != null) {
            return qualified(qualifier.text(), last.text());
        }
        return last.kind() == Kind.NAME ? plain(last, "", true) : word(last);
    }

    /** Whether a token is a name that the server takes unchanged: PostgreSQL truncates long ones, and some encodings fold case differently. */
    static boolean isName(Token name) {
        boolean isAscii = name.text().chars().allMatch(c -> c < 128);
        return name.text().length() <= LONGEST_NAME
                && (name.kind() == Kind.NAME || (name.kind() == Kind.WORD && isAscii));
    }

    private boolean follows(String symbol) {
        return SqlTokens.is(tokens, at, symbol);
    }

    /** Whether one of these words comes next. */
    private boolean follows(Set<String> words) {
        return at < tokens.size()
                && tokens.get(at).kind() == Kind.WORD
                && words.contains(tokens.get(at).text());
    }

    private boolean qualified(String qualifier, String name) {
        boolean isCall = follows("(") && !(expectsTable && last.equals("into"));
        boolean isOurs = qualifier.equals("pg_catalog") || qualifier.equals("shardflake");
        if (expectsQueryName || (isCall && !(isOurs && isHarmlessCall(name)))) {
            return false;
        }
        expectsTable = false;
        shift(".");
        return true;
    }

    private static boolean isHarmlessCall(String word) {
        return SqlEffects.isEveryday(word) && !LOOKS_AT_PATH.contains(word);
    }

    private boolean word(Token token) {
        String word = token.text();
        boolean isFirst = levels.size() == 1 && top().isStart;
        if (LOOKS_AT_PATH.contains(word) || (isFirst && !STATEMENTS.contains(word))) {
            return false;
        }
        if (BEFORE_TYPE.contains(last)) {
            return plain(token, word, false);
        }
        boolean isModifier = (expectsTable && (word.equals("lateral") || word.equals("only")))
                || (expectsQueryName && word.equals("recursive"));
        if (isModifier) {
            shift(word);
            return true;
        }
        return switch (begins(word)) {
            case TABLE -> expect(word, true);
            case QUERY -> expect(word, false);
            case NOTHING -> plain(token, word, false);
            case UNKNOWN -> false;
        };
    }

    /** The kind of token that must follow a word. */
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
            case "with" -> with(isStatement);
            case "from" -> from();
            case "join" -> Next.TABLE;
            case "using" -> using();
            case "into" ->
                last.equals("insert") && Set.of("", "(", ")").contains(secondLast) ? Next.TABLE : Next.UNKNOWN;
            case "update" -> isStatement ? Next.TABLE : Next.NOTHING;
            default -> Next.NOTHING;
        };
    }

    private Next with(boolean isStatement) {
        if (isStatement) {
            top().isInQueries = true;
            return Next.QUERY;
        }
        return follows(AFTER_OTHER_WITH) ? Next.NOTHING : Next.UNKNOWN;
    }

    private Next from() {
        if (last.equals("distinct") && (secondLast.equals("is") || secondLast.equals("not"))) {
            return Next.NOTHING;
        }
        if (!top().call.isEmpty()) {
            return FROM_IN_CALL.contains(top().call) ? Next.NOTHING : Next.UNKNOWN;
        }
        top().isInTables = true;
        return Next.TABLE;
    }

    private Next using() {
        if (follows("(")) {
            int inside = at;
            while (SqlTokens.is(tokens, inside, "(")) {
                inside++;
            }
            if (inside == tokens.size()
                    || !STATEMENTS.contains(tokens.get(inside).text())) {
                return Next.NOTHING; // The columns of a join.
            }
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

    /** Handles a name without a schema, or a word that has no role in finding tables. */
    private boolean plain(Token token, String word, boolean isQuoted) {
        String name = token.text();
        boolean isCall = follows("(");
        if (expectsQueryName) {
            queries.add(name);
            expectsQueryName = false;
        } else if (expectsTable && (!isCall || last.equals("into"))) {
            if (!isQuoted && RESERVED.contains(word)) {
                return false;
            }
            parts.add(sql.substring(copied, token.start()));
            copied = token.start();
            tables.add(name);
            expectsTable = false;
        } else {
            expectsTable = false;
            // After AS a list of columns, or the length of a type.
            if (isCall && !last.equals("as") && (isQuoted || !isHarmlessCall(word))) {
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
