/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server.internal.sqltext;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.server.internal.sqltext.SqlTokens.Kind;
import org.shardflake.server.internal.sqltext.SqlTokens.Token;

/** PostgreSQL is asked where it sees tokens: a syntax error tells the first token that it cannot use. */
class SqlTokensTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1);

    /** Texts that can be values, or parts of them, and what can be glued to them by chance. */
    private static final List<String> VALUES = List.of(
            "a",
            "A$b",
            "é",
            "\u00A0b",
            "\"q\"",
            "\"-- \"\"/*\"",
            "U&\"d\\0061t\"",
            "'x'",
            "''",
            "'it''s'",
            "'a\\'",
            "'/*'",
            "'--'",
            "E'a'",
            "e'\\''",
            "E'\\\\'",
            "E''''",
            "N'n'",
            "n'\\'",
            "U&'\\0061'",
            "u&'--'",
            "B'01'",
            "x'f'",
            "b''",
            "$$ ' $$",
            "$a$ $$ $a$",
            "$é1$ -- $é1$",
            "$x$/*$y$ $x$",
            "1",
            "1.5",
            ".5",
            "1.",
            "1e5",
            "2.e-3",
            "0",
            "$1",
            "$12",
            "_a1",
            "e",
            "u",
            "n",
            "b",
            "'a'\n'b'",
            "'a' -- c '\n 'b'",
            "E'a'\r\n'\\'b'",
            "U&'a' \t\n\n -- '\n'c'",
            "B'1'\n'0'",
            "'a' /* c */ ",
            "u&",
            "E",
            "$",
            "$a");

    private static final List<String> OPERATORS = List.of(
            "+", "-", "*", "/", "%", "^", "@", "~", "!", "#", "&", "|", "`", "||", "@>", "<@", "@-", "@+", "~*", "!~~",
            "->>", "#-", "&&", "-|-", "**", "*-", "/-", "=", "<", "<>", "!=", ">=", "+-", "=-", "<->", "@*/", "-@",
            "&/");

    private static final List<String> BETWEEN = List.of(
            "",
            "",
            "",
            "",
            " ",
            "\n",
            "\t",
            "/* ' */",
            "/* /* \" */ -- */",
            "/**/",
            "/***/",
            "-- ' $$\n",
            "--/*\r",
            " -- \" \n ",
            "/*/*/**/*/*/",
            "\f");

    private static final Set<String> COMPARISONS = Set.of("=", "<", ">", "<=", ">=", "<>", "!=");
    private static final Set<String> NEVER_FIRST = Set.of("*", "/", "%", "^", "=>");

    @Test
    void seesTheTokensThatTheServerSees() throws SQLException {
        Random random = new Random(20261127);
        try (Connection connection = postgres.database(0).connect();
                Statement statement = connection.createStatement()) {
            statement.setEscapeProcessing(false);
            for (int i = 0; i < 1000; i++) {
                String sql = sql(random);
                assertThat(problem(statement, sql)).as("text %s: %s", i, sql).isEmpty();
            }
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            a=?-1 ??- b::c:=d..e | a = ? - 1 ??- b :: c := d .. e
            ??? | ?? ?
            Ää"B""c"$1$x$y$z$1 | Ää B"c $1 y$z$1
            $x$y$x$z | y z
            E'a\\'b'N'c'x'0' | a\\'b c 0
            p.*,1..2,1.5.6,0x1F | p . * , 1 .. 2 , 1.5 .6 , 0x1F
            a@--b | a @
            """)
    void splits(String sql, String tokens) {
        assertThat(SqlTokens.of(sql)).extracting(Token::text).containsExactly(tokens.split(" "));
    }

    @Test
    void semicolonsInParenthesesAndBodiesEndNoStatement() {
        assertThat(SqlTokens.statements("""
                        CREATE RULE r AS ON INSERT TO a DO (SELECT 1; SELECT 2); SELECT ';' -- ;
                        ; CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE 1 WHEN 1 THEN 1 END; SELECT 2; END; SELECT 3""")).hasSize(4).last().isEqualTo(" SELECT 3");
    }

    /** Values and operators in turn, mostly; a bracket that nothing opens ends them. */
    private static String sql(Random random) {
        StringBuilder sql = new StringBuilder("SELECT (");
        int length = 1 + random.nextInt(8);
        for (int i = 0; i < length; i++) {
            sql.append(any(BETWEEN, random));
            for (int before = random.nextInt(12); before > 9; before--) {
                sql.append(any(OPERATORS, random)).append(any(BETWEEN, random));
            }
            sql.append(any(VALUES, random)).append(any(BETWEEN, random));
            sql.append(any(random.nextInt(20) == 0 ? VALUES : OPERATORS, random));
        }
        return sql.append(any(BETWEEN, random)).append("]").toString();
    }

    private static String any(List<String> texts, Random random) {
        return texts.get(random.nextInt(texts.size()));
    }

    /** The difference between the tokens here and those of the server; empty if they agree. */
    private static String problem(Statement statement, String sql) {
        try {
            statement.execute(sql);
            return "no error";
        } catch (SQLException e) {
            ServerErrorMessage error = Objects.requireNonNull(((PSQLException) e).getServerErrorMessage());
            String seen = error.getMessage() + " at offset " + (error.getPosition() - 1);
            List<Token> tokens = SqlTokens.all(sql);
            Token last = tokens.get(tokens.size() - 1);
            tokens.removeIf(token -> token.kind() == Kind.COMMENT);
            if (seen.contains("Unicode escape")) {
                return ""; // of U& and a string that chance has brought together
            }
            int unusable = firstUnusable(sql, tokens);
            if (unusable == tokens.size() && sql.startsWith("--", last.start())) {
                return seen.contains("at end of input") ? "" : seen;
            }
            Token token = unusable == tokens.size() ? last : tokens.get(unusable);
            String text = sql.substring(token.start(), token.end());
            boolean isWhole = seen.contains("at or near \"" + text + "\"");
            boolean isOfScanner = !seen.startsWith("syntax error") || text.matches("(?s)[nN]'.*");
            return error.getPosition() - 1 == token.start() && (isWhole || isOfScanner) ? "" : seen + ", not " + token;
        }
    }

    /** The first token that neither begins nor continues an expression, as PostgreSQL reads the tokens. */
    private static int firstUnusable(String sql, List<Token> tokens) {
        boolean expectsValue = true;
        boolean hasCompared = false;
        for (int i = 2; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            Token before = tokens.get(i - 1);
            boolean isOperator = token.kind() == Kind.SYMBOL && token.text().matches("[-~!@#^&|`+*/%<>=]+");
            boolean isComparison = isOperator && COMPARISONS.contains(token.text());
            boolean isUsable;
            if (before.is(".")) {
                isUsable = token.isIdentifier() || token.is("*");
                isOperator = false;
            } else if (expectsValue) {
                isUsable = isOperator ? !isComparison && !NEVER_FIRST.contains(token.text()) : isValue(token);
            } else if (token.is(".")) {
                isUsable = before.isIdentifier() || before.kind() == Kind.PARAMETER;
            } else if (before.isIdentifier() && token.isString()) { // the name of a type, and a value of it
                isUsable = token.kind() != Kind.BIT_STRING && "nN".indexOf(sql.charAt(token.start())) < 0;
            } else {
                isUsable = isOperator && !(isComparison && hasCompared);
            }
            if (!isUsable || token.end() == sql.length()) {
                return i;
            }
            hasCompared |= isComparison;
            expectsValue = isOperator;
        }
        return tokens.size();
    }

    private static boolean isValue(Token token) {
        return switch (token.kind()) {
            case NUMBER -> token.text().matches("([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?");
            case PARAMETER -> token.text().matches("\\$[0-9]+");
            case SYMBOL -> false;
            default -> true;
        };
    }
}
