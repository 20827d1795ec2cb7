/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.shardflake.assess.Assessment;
import org.shardflake.assess.Assessment.Obstacle;
import org.shardflake.assess.Assessment.Routing;
import org.shardflake.assess.Assessment.Statement;
import org.shardflake.assess.Assessment.Table;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.jdbc.Plural;

/** Shows assessments, as text and as facts. */
final class AssessView {

    private static final int LONGEST_SQL = 110;

    private AssessView() {}

    static Map<String, Object> facts(Assessment assessment) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("database", assessment.database());
        facts.put("serverVersion", assessment.serverVersion());
        facts.put("key", facts(assessment.key()));
        facts.put(
                "otherKeys", assessment.others().stream().map(AssessView::facts).toList());
        facts.put("tables", assessment.tables().stream().map(AssessView::facts).toList());
        facts.put("obstacles", obstacles(assessment.obstacles()));
        facts.put("statementsFrom", assessment.source());
        facts.put(
                "statements",
                assessment.statements().stream().map(AssessView::facts).toList());
        return facts;
    }

    private static Map<String, Object> facts(Assessment.Key key) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("name", key.name());
        facts.put("type", key.type());
        facts.put("values", key.values());
        facts.put("largestShare", key.largestShare());
        facts.put("shardedBytes", key.shardedBytes());
        facts.put("keyedCalls", Double.isNaN(key.keyedCalls()) ? null : key.keyedCalls());
        return facts;
    }

    private static Map<String, Object> facts(Table table) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("name", table.name());
        facts.put("placement", code(table.placement()));
        facts.put("path", table.path());
        facts.put("keyQuery", table.keyQuery());
        facts.put("references", table.references());
        facts.put("rows", table.rows() < 0 ? null : table.rows());
        facts.put("bytes", table.bytes());
        facts.put("obstacles", obstacles(table.obstacles()));
        return facts;
    }

    private static List<Map<String, Object>> obstacles(List<Obstacle> obstacles) {
        List<Map<String, Object>> facts = new ArrayList<>();
        for (Obstacle obstacle : obstacles) {
            facts.add(Map.of("problem", obstacle.problem(), "remedy", obstacle.remedy()));
        }
        return facts;
    }

    private static Map<String, Object> facts(Statement statement) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("sql", statement.sql());
        facts.put("calls", statement.calls());
        facts.put("milliseconds", statement.millis());
        facts.put("routing", code(statement.routing()));
        Obstacle obstacle = statement.obstacle();
        facts.put("problem", obstacle == null ? null : obstacle.problem());
        facts.put("remedy", obstacle == null ? null : obstacle.remedy());
        return facts;
    }

    private static String code(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    static String text(Assessment assessment, int top) {
        StringBuilder text = new StringBuilder();
        line(
                text,
                "%s, PostgreSQL %s: %s of %s"
                        .formatted(
                                assessment.database(),
                                assessment.serverVersion(),
                                Plural.of(assessment.tables().size(), "table"),
                                Amounts.bytes(assessment.tables().stream()
                                        .mapToLong(Table::bytes)
                                        .sum())));
        line(text, "key: " + describe(assessment.key()));
        assessment.others().forEach(key -> line(text, "  also possible: " + describe(key)));
        text.append('\n').append(tables(assessment));
        obstacles(text, assessment);
        statements(text, assessment, top);
        return text.toString();
    }

    private static String describe(Assessment.Key key) {
        StringBuilder text = new StringBuilder("%s (%s)".formatted(key.name(), key.type()));
        if (key.values() > 0) {
            text.append(String.format(Locale.ROOT, ", %,d values", key.values()));
        }
        if (key.largestShare() >= 0.001) {
            text.append(", the most common %s".formatted(percent(key.largestShare())));
        }
        text.append(", %s in shards".formatted(Amounts.bytes(key.shardedBytes())));
        if (!Double.isNaN(key.keyedCalls())) {
            text.append(", %s of the calls with key or id".formatted(percent(key.keyedCalls())));
        }
        return text.toString();
    }

    private static String tables(Assessment assessment) {
        TableWriter table = new TableWriter("TABLE", "GOES", "ROWS", "SIZE", "KEY");
        for (Table one : assessment.tables()) {
            table.row(
                    one.name(),
                    switch (one.placement()) {
                        case PRIMARY_KEY, COLUMN, PATH -> "into the shards";
                        case REFERENCE -> "reference";
                        case STAYS -> "stays";
                    },
                    one.rows() < 0 ? "unknown" : String.format(Locale.ROOT, "%,d", one.rows()),
                    Amounts.bytes(one.bytes()),
                    one.path());
        }
        boolean isAnyUnknown = assessment.tables().stream().anyMatch(one -> one.rows() < 0);
        return table.mayLeaveOut("SIZE", "ROWS")
                + (isAnyUnknown
                        ? "\nunknown: PostgreSQL has no statistics of the table yet; run ANALYZE, and assess again\n"
                        : "");
    }

    private static void obstacles(StringBuilder text, Assessment assessment) {
        List<String> lines = new ArrayList<>();
        assessment.obstacles().forEach(obstacle -> add(lines, assessment.database(), obstacle));
        assessment.tables().forEach(table -> table.obstacles().forEach(obstacle -> add(lines, table.name(), obstacle)));
        line(text, "");
        line(text, lines.isEmpty() ? "nothing stands in the way" : "what stands in the way, and what to do about it:");
        lines.forEach(line -> line(text, line));
    }

    private static void add(List<String> lines, String name, Obstacle obstacle) {
        lines.add("  %s: %s".formatted(name, obstacle.problem()));
        lines.add("    " + obstacle.remedy());
    }

    private static void statements(StringBuilder text, Assessment assessment, int top) {
        line(text, "");
        if (assessment.source() == null) {
            line(
                    text,
                    "no statements: the database has no pg_stat_statements that this login may read; give some with --statements");
            return;
        }
        line(text, "%s of %s:".formatted(Plural.of(assessment.statements().size(), "statement"), assessment.source()));
        Map<Routing, Double> calls = new EnumMap<>(Routing.class);
        Map<Routing, Double> millis = new EnumMap<>(Routing.class);
        Map<Routing, Integer> counts = new EnumMap<>(Routing.class);
        for (Statement statement : assessment.statements()) {
            calls.merge(statement.routing(), (double) statement.calls(), Double::sum);
            millis.merge(statement.routing(), statement.millis(), Double::sum);
            counts.merge(statement.routing(), 1, Integer::sum);
        }
        TableWriter table = new TableWriter("STATEMENTS", "NUMBER", "CALLS", "TIME");
        counts.forEach((routing, number) ->
                table.row(describe(routing), number, share(calls, routing), share(millis, routing)));
        text.append(table);
        List<Statement> others = assessment.statements().stream()
                .filter(one -> one.routing() != Routing.KEY
                        && one.routing() != Routing.ID
                        && one.routing() != Routing.ELSEWHERE)
                .toList();
        if (!others.isEmpty()) {
            line(text, "");
            line(text, "to be checked, those that take most time first:");
        }
        // Those that are not understood apart, so that each of the two kinds is seen.
        statements(
                text, top, others.stream().filter(one -> one.obstacle() == null).toList());
        statements(
                text, top, others.stream().filter(one -> one.obstacle() != null).toList());
    }

    private static void statements(StringBuilder text, int top, List<Statement> statements) {
        for (Statement one : statements.subList(0, Math.min(top, statements.size()))) {
            line(text, "  %s: %s".formatted(describe(one.routing()), shorten(one.sql())));
            if (one.obstacle() != null) {
                line(text, "    " + one.obstacle().problem());
                line(text, "    " + one.obstacle().remedy());
            }
        }
        if (statements.size() > top) {
            line(text, "  and %s more; --top %s shows all".formatted(statements.size() - top, statements.size()));
        }
    }

    private static String share(Map<Routing, Double> amounts, Routing routing) {
        double all = amounts.values().stream().mapToDouble(amount -> amount).sum();
        return all == 0 ? "" : percent(amounts.getOrDefault(routing, 0.0) / all);
    }

    private static String describe(Routing routing) {
        return switch (routing) {
            case KEY -> "with the key";
            case ID -> "with an id";
            case SEVERAL_KEYS -> "with several keys";
            case NO_KEY -> "without a key";
            case MIXED -> "shards and tables that stay";
            case ELSEWHERE -> "not in shards";
            case NOT_PLANNED -> "not understood";
        };
    }

    private static String shorten(String sql) {
        String line = sql.strip().replaceAll("\\s+", " ");
        return line.length() <= LONGEST_SQL ? line : line.substring(0, LONGEST_SQL - 3) + "...";
    }

    private static String percent(double share) {
        return String.format(Locale.ROOT, "%.1f %%", 100 * share);
    }

    private static void line(StringBuilder text, String line) {
        text.append(line).append('\n');
    }
}
