/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.assess;

import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import org.shardflake.assess.Assessment.Obstacle;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.internal.sqltext.SqlTokens;

/** The reasons why a statement has no plan. */
final class Unplanned {

    static final Obstacle SEVERAL = new Obstacle("it is more than one statement", "assess each of them on its own");

    private static final Obstacle HIDDEN = new Obstacle(
            "its text is hidden from this login, since another role ran it",
            "GRANT pg_read_all_stats to the login, and assess again");

    private static final Obstacle COPIED_QUERY =
            new Obstacle("it copies the rows of a query, and COPY has no plan", "assess the query in the parentheses");

    /** The text that pg_stat_statements shows in place of other roles' statements. */
    private static final String HIDDEN_TEXT = "<insufficient privilege>";

    /** The first words of statements that touch rows but that PREPARE refuses. */
    private static final Set<String> NEVER_PLANNED = Set.of("call", "copy", "declare", "fetch", "lock", "truncate");

    private Unplanned() {}

    /** The reason why a statement cannot be planned, if that is known without asking PostgreSQL. */
    static Optional<Obstacle> beforehand(String sql) {
        if (sql.strip().equals(HIDDEN_TEXT)) {
            return Optional.of(HIDDEN);
        }
        List<SqlTokens.Token> tokens = SqlTokens.of(sql);
        if (SqlTokens.is(tokens, 0, "copy") && SqlTokens.is(tokens, 1, "(")) {
            return Optional.of(COPIED_QUERY);
        }
        return tokens.stream()
                .findFirst()
                .filter(first -> NEVER_PLANNED.contains(first.text()))
                .map(first -> switch (first.text()) {
                    case "call" ->
                        new Obstacle(
                                "it calls a procedure, and the statements in that are not seen",
                                "assess the statements of the procedure");
                    case "declare", "fetch" ->
                        new Obstacle(
                                "it is of a cursor, which has no plan without its query",
                                "assess the query of the cursor");
                    default ->
                        new Obstacle(
                                "it is %s of a whole table, which has no plan"
                                        .formatted(first.text().toUpperCase(Locale.ROOT)),
                                "do it in each shard if the table goes into the shards");
                });
    }

    /** The reason that PostgreSQL gave. */
    static Obstacle of(SQLException e) {
        String said = Sql.message(e);
        return switch (String.valueOf(e.getSQLState())) {
            case "42601" ->
                new Obstacle(
                        "it could not be parsed: " + said,
                        "write a value in place of a parameter where PostgreSQL takes none, as in interval $1, and translate what is of another database");
            case "42P01", "3F000" ->
                new Obstacle(
                        "it needs a table that this login does not find: " + said,
                        "assess with the application's search_path if the table is in another schema; a table that is temporary or was dropped does not matter");
            case "42703", "42P10" ->
                new Obstacle(
                        "it needs a column that is unknown: " + said,
                        "leave it out if it is of another version of the tables");
            case "42883", "42704", "42725" ->
                new Obstacle(
                        "it needs a function, an operator or a type that is unknown, or not one for these parameters: "
                                + said,
                        "add a cast to each parameter, as in $1::bigint, or assess with the application's search_path");
            case "42P18", "42P08", "42804", "22P02" ->
                new Obstacle(
                        "the type of a parameter is unknown or wrong: " + said,
                        "add a cast to each parameter, as in $1::bigint");
            case "42501" ->
                new Obstacle(
                        "this login may not plan it: " + said,
                        "assess as the owner of the tables, or as the role that runs it");
            case "57014" ->
                new Obstacle("planning took longer than 10 s: " + said, "look for yourself whether it has the key");
            default -> new Obstacle("PostgreSQL does not plan it: " + said, "look for yourself whether it has the key");
        };
    }
}
