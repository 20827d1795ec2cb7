/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.assess;

import static java.util.stream.Collectors.joining;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.assess.Assessment.Obstacle;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.internal.sqltext.SqlTokens;
import org.shardflake.server.internal.sqltext.SqlTokens.Token;
import org.shardflake.yaml.YamlNode;

/** The statements of an application, and their plans. */
final class StatementSource {

    /** The number of statements that are read, those that take the most time; the others hardly matter. */
    private static final int MOST = 2000;

    private static final Set<String> OTHERS = Set.of(
            ("abort alter analyze begin checkpoint close cluster comment commit create deallocate discard do drop end execute explain grant listen"
                            + " load move notify prepare reassign refresh reindex release reset revoke rollback savepoint security set show start"
                            + " unlisten vacuum")
                    .split(" "));

    private static final String RECORDED = """
            SELECT s.query, sum(s.calls)::bigint, sum(s.%1$s) FROM %2$s s
             WHERE s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) %3$s
             GROUP BY 1 ORDER BY 3 DESC LIMIT %4$s
            """;

    /** A statement as it was recorded. */
    record Recorded(String sql, long calls, double millis) {}

    /** A statement with its plan, or the reason why it has none. */
    record Planned(
            Recorded recorded,
            @Nullable PlannedStatement plan,
            @Nullable Obstacle obstacle) {}

    private StatementSource() {}

    /** The statements of this database in pg_stat_statements; empty if the view is missing or may not be read. */
    static Optional<List<Recorded>> recorded(Connection connection) throws SQLException {
        List<String> view = Sql.list(connection, """
                SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE c.relname = 'pg_stat_statements' AND c.relkind = 'v' AND has_table_privilege(c.oid, 'SELECT')
                """, row -> row.getString(1));
        if (view.isEmpty()) {
            return Optional.empty();
        }
        List<String> columns = Sql.list(
                connection,
                "SELECT attname FROM pg_attribute WHERE attrelid = ?::regclass AND attnum > 0",
                row -> row.getString(1),
                view.get(0));
        String sql = RECORDED.formatted(
                columns.contains("total_exec_time") ? "total_exec_time" : "total_time",
                view.get(0),
                columns.contains("toplevel") ? "AND s.toplevel" : "",
                MOST);
        Savepoint before = connection.setSavepoint();
        try {
            return Optional.of(
                    Sql.list(connection, sql, row -> new Recorded(row.getString(1), row.getLong(2), row.getDouble(3)))
                            .stream()
                            .filter(one -> isOfApplication(one.sql()))
                            .toList());
        } catch (SQLException e) {
            // It is not in shared_preload_libraries.
            rollback(connection, before, e);
            return Optional.empty();
        }
    }

    /** The statements in a file, each counted as often as it occurs. */
    static List<Recorded> parse(String file) {
        Map<String, Long> counts = new LinkedHashMap<>();
        for (String statement : SqlTokens.statements(file)) {
            String sql = SqlTokens.withoutComments(statement);
            if (!sql.isEmpty() && isOfApplication(sql)) {
                counts.merge(sql, 1L, Long::sum);
            }
        }
        return counts.entrySet().stream()
                .map(one -> new Recorded(one.getKey(), one.getValue(), 0))
                .toList();
    }

    /** Whether a statement can touch rows: transactions, settings, schema changes and maintenance are left out. */
    private static boolean isOfApplication(String sql) {
        return SqlTokens.of(sql).stream()
                .filter(token -> !token.is("("))
                .findFirst()
                .filter(first -> !OTHERS.contains(first.text()))
                .isPresent();
    }

    /** Lets PostgreSQL plan a statement for any values of its parameters, without running it. */
    static Planned plan(Connection connection, SourceSchema schema, Recorded recorded) throws SQLException {
        if (SqlTokens.statements(recorded.sql()).stream()
                        .filter(one -> !one.isBlank())
                        .count()
                > 1) {
            // Others may have written it, for sessions whose strings end elsewhere.
            return new Planned(recorded, null, Unplanned.SEVERAL);
        }
        Optional<Obstacle> never = Unplanned.beforehand(recorded.sql());
        if (never.isPresent()) {
            return new Planned(recorded, null, never.get());
        }
        Savepoint before = connection.setSavepoint();
        try {
            Sql.execute(connection, "PREPARE shardflake_assessed AS " + numbered(recorded.sql()));
            long parameters = Sql.number(
                    connection,
                    "SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = 'shardflake_assessed'");
            String values = parameters == 0
                    ? ""
                    : Collections.nCopies((int) parameters, "NULL").stream().collect(joining(", ", "(", ")"));
            String plan = Sql.text(
                    connection, "EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) EXECUTE shardflake_assessed" + values);
            Sql.execute(connection, "DEALLOCATE shardflake_assessed");
            connection.releaseSavepoint(before);
            return new Planned(recorded, read(schema, plan), null);
        } catch (SQLException e) {
            rollback(connection, before, e);
            // It was prepared, but not planned: a rollback leaves it.
            if (Sql.isTrue(
                    connection,
                    "SELECT EXISTS (SELECT FROM pg_prepared_statements WHERE name = 'shardflake_assessed')")) {
                Sql.execute(connection, "DEALLOCATE shardflake_assessed");
            }
            return new Planned(recorded, null, Unplanned.of(e));
        }
    }

    /** Rolls back to a savepoint after a failure, unless the session was lost. */
    private static void rollback(Connection connection, Savepoint before, SQLException failure) throws SQLException {
        try {
            connection.rollback(before);
        } catch (SQLException later) {
            failure.addSuppressed(later);
            throw failure;
        }
    }

    private static PlannedStatement read(SourceSchema schema, String json) {
        if (YamlNode.load(json, "the plan") instanceof List<?> plans
                && plans.get(0) instanceof Map<?, ?> plan
                && plan.get("Plan") instanceof Map<?, ?> root) {
            return new PlannedStatement(schema, root);
        }
        throw new IllegalStateException("not a plan: " + json);
    }

    /** Replaces JDBC's question marks by the numbered parameters of PREPARE. */
    private static String numbered(String sql) {
        List<Token> tokens = new ArrayList<>(SqlTokens.of(sql));
        tokens.removeIf(token ->
                token.kind() != SqlTokens.Kind.PARAMETER || !token.text().equals("?"));
        StringBuilder text = new StringBuilder(sql);
        for (int i = tokens.size() - 1; i >= 0; i--) {
            text.replace(tokens.get(i).start(), tokens.get(i).start() + 1, "$" + (i + 1));
        }
        return text.toString();
    }
}
