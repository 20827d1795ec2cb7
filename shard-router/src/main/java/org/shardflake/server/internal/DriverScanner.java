/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.server.internal;

import java.sql.SQLException;
import java.util.List;
import org.postgresql.core.NativeQuery;
import org.postgresql.core.Parser;

/**
 * The driver's scanner of SQL. Offsets are those of the first and the last character; what does not begin at an offset ends there, and a
 * quote that is not closed extends to the end.
 */
public final class DriverScanner {

    private DriverScanner() {}

    /** The end of the string that begins at an offset, or of its first part, up to a doubled quote. */
    public static int endOfString(char[] sql, int start, boolean hasStandardStrings) {
        return Parser.parseSingleQuotes(sql, start, hasStandardStrings);
    }

    /** The end of the quoted name that begins at an offset. */
    public static int endOfName(char[] sql, int start) {
        return Parser.parseDoubleQuotes(sql, start);
    }

    /** The end of the dollar-quoted string that begins at an offset. */
    public static int endOfDollarString(char[] sql, int start) {
        return Parser.parseDollarQuotes(sql, start);
    }

    /** The end of the comment that begins at an offset with two dashes. */
    public static int endOfLineComment(char[] sql, int start) {
        return Parser.parseLineComment(sql, start);
    }

    /** The end of the comment that begins at an offset with a slash and a star. */
    public static int endOfBlockComment(char[] sql, int start) {
        return Parser.parseBlockComment(sql, start);
    }

    /** Whether an identifier without quotes may continue with a character. */
    public static boolean isOfIdentifier(char c) {
        return Parser.isIdentifierContChar(c);
    }

    /** The statements of a text, without the semicolons between them. */
    public static List<String> statements(String text) throws SQLException {
        return Parser.parseJdbcSql(text, true, false, true, false, false).stream()
                .map(NativeQuery.class::cast)
                .map(statement -> statement.nativeSql)
                .toList();
    }
}
