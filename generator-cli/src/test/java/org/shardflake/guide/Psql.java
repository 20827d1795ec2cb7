/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.guide;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import org.shardflake.server.ServerUrl;

/** As much of psql as the guide needs: {@code psql URL -c SQL} and {@code psql URL -Atc SQL}, where there may be none. */
final class Psql {

    private Psql() {}

    @SuppressWarnings("SystemOut")
    public static void main(String[] args) throws SQLException {
        ServerUrl url = ServerUrl.parse(args[0], System.getenv());
        boolean plain = args[1].equals("-Atc");
        try (Connection connection = url.dataSource().getConnection();
                Statement statement = connection.createStatement()) {
            boolean isResult = statement.execute(args[2]);
            while (isResult || statement.getUpdateCount() >= 0) {
                if (isResult) {
                    print(statement.getResultSet(), plain);
                }
                isResult = statement.getMoreResults();
            }
        } catch (SQLException e) {
            System.out.println(String.valueOf(e.getMessage())
                    .replaceFirst("ERROR: ", "ERROR:  ")
                    .replaceAll("\n  Where: (?s).*", "")
                    .replace("\n  Hint: ", "\nHINT:  "));
            System.exit(1);
        }
    }

    @SuppressWarnings("SystemOut")
    private static void print(ResultSet rows, boolean plain) throws SQLException {
        int columns = rows.getMetaData().getColumnCount();
        StringBuilder text = new StringBuilder();
        for (int i = 1; !plain && i <= columns; i++) {
            text.append(i == 1 ? " " : " | ").append(rows.getMetaData().getColumnLabel(i));
        }
        text.append(plain ? "" : "\n---\n");
        int count = 0;
        while (rows.next()) {
            count++;
            for (int i = 1; i <= columns; i++) {
                text.append(plain ? (i == 1 ? "" : "|") : (i == 1 ? " " : " | "))
                        .append(rows.getString(i));
            }
            text.append('\n');
        }
        System.out.print(text);
        System.out.print(plain ? "" : "(%s row%s)%n".formatted(count, count == 1 ? "" : "s"));
    }

    /** What differs between its output and real psql's, which the guide shows, to be left out of a comparison. */
    static final Map<String, String> FORMAT = Map.of("^-+(\\+-+)*$", "", "^\\(\\d+ rows?\\)$", "");
}
