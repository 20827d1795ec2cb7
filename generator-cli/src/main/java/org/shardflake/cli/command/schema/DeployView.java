/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.schema;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import java.util.stream.Collectors;
import org.shardflake.ShardSet;
import org.shardflake.cli.error.ErrorLines;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.deploy.DeployPreview;
import org.shardflake.deploy.DeployReport;
import org.shardflake.deploy.ShardDrift;

/** Shows the result or the preview of a deployment, as text and as facts. */
public final class DeployView {

    /** The maximum number of lines shown, since a change that fails on every shard would fill the screen. */
    private static final int SHOWN = 20;

    private DeployView() {}

    static Map<String, Object> facts(DeployReport report) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("complete", report.isComplete());
        facts.put("changeSets", report.changeSets());
        facts.put("servers", report.servers().stream().map(DeployView::facts).toList());
        facts.put(
                "failures",
                FailureGroup.byServer(report.failures()).stream()
                        .map(DeployView::facts)
                        .toList());
        facts.put("differing", drifts(report.differing()));
        return facts;
    }

    private static Map<String, Object> facts(DeployReport.ServerReport server) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("server", server.server());
        facts.put("shards", server.shards());
        facts.put("deployed", server.deployed());
        facts.put("upToDate", server.upToDate());
        facts.put("failed", server.failed());
        return facts;
    }

    /** The facts about the failures of one server; {@code shard} is the first of its shards, which supplies SQL and error. */
    private static Map<String, Object> facts(FailureGroup group) {
        Map.Entry<String, ShardSet> server =
                group.shards().entrySet().iterator().next();
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("shard", server.getValue().stream().findFirst().orElseThrow());
        facts.put("server", server.getKey());
        facts.put("changeSet", group.changeSet());
        facts.put("sql", group.sql());
        facts.put("error", group.error());
        facts.put("shardCount", server.getValue().size());
        facts.put("shards", server.getValue().toString());
        return facts;
    }

    public static List<Map<String, Object>> drifts(List<ShardDrift> drifts) {
        return drifts.stream().map(DeployView::facts).toList();
    }

    private static Map<String, Object> facts(ShardDrift drift) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("shard", drift.shard());
        facts.put("server", drift.server());
        facts.put("differences", drift.differences());
        return facts;
    }

    static int exitCode(DeployReport report) {
        if (!report.failures().isEmpty()) {
            return ExitCodes.PARTLY_DONE;
        }
        return report.differing().isEmpty() ? ExitCodes.OK : ExitCodes.VERIFICATION;
    }

    static String table(DeployReport report) {
        return table(report, "DEPLOYED", "UP TO DATE");
    }

    static String undone(DeployReport report) {
        return table(report, "UNDONE", "UNTOUCHED");
    }

    private static String table(DeployReport report, String done, String left) {
        TableWriter table = new TableWriter("SERVER", "SHARDS", done, left, "FAILED");
        report.servers()
                .forEach(server -> table.row(
                        server.server(), server.shards(), server.deployed(), server.upToDate(), server.failed()));
        StringJoiner text = new StringJoiner("\n").add(table.toString());
        List<FailureGroup> failures = FailureGroup.of(report.failures());
        for (FailureGroup failure : failures.stream().limit(SHOWN).toList()) {
            text.add(failed(failure.shards()));
            addPart(text, "changeset", failure.changeSet());
            addPart(text, "statement", failure.sql().strip().replaceAll("\\s+", " "));
            List<String> error = failure.error().lines().toList();
            addPart(text, "error", error.isEmpty() ? "" : error.get(0));
            addLines(text, "    ", error.stream().skip(1).toList(), failure.equals(failures.get(0)));
        }
        addRest(text, failures.stream().skip(SHOWN).mapToInt(FailureGroup::size).sum(), "failed");
        text.add(table(report.differing()));
        return text.toString().stripTrailing();
    }

    /** The differences, shard by shard; empty if there are none. */
    static String table(List<ShardDrift> drifts) {
        StringJoiner text = new StringJoiner("\n");
        for (ShardDrift drift : drifts.stream().limit(SHOWN).toList()) {
            text.add("shard %s on %s differs from most others".formatted(drift.shard(), drift.server()));
            addLines(text, "  ", drift.differences(), drift.equals(drifts.get(0)));
        }
        addRest(text, drifts.size() - SHOWN, "differ");
        return text.toString();
    }

    private static String failed(Map<String, ShardSet> shards) {
        boolean one = shards.values().stream().mapToInt(ShardSet::size).sum() == 1;
        String where = shards.entrySet().stream()
                .map(entry -> "%s on %s".formatted(entry.getValue(), entry.getKey()))
                .collect(Collectors.joining(", "));
        return (one ? "shard %s failed, and is unchanged" : "shards %s failed, and are unchanged").formatted(where);
    }

    private static void addPart(StringJoiner text, String what, String part) {
        if (!part.isEmpty()) {
            text.add(ErrorLines.abbreviated("  %s: %s".formatted(what, part)));
        }
    }

    /** Adds lines, all of them for the first failure or shard, as the others usually have the same. */
    private static void addLines(StringJoiner text, String indent, List<String> lines, boolean first) {
        int shown = first ? lines.size() : Math.min(lines.size(), SHOWN);
        lines.stream().limit(shown).forEach(line -> text.add(ErrorLines.abbreviated(indent + line.strip())));
        if (shown < lines.size()) {
            text.add(String.format(Locale.ROOT, "%sand %,d more; -o json has them all", indent, lines.size() - shown));
        }
    }

    private static void addRest(StringJoiner text, int left, String what) {
        if (left > 0) {
            text.add(String.format(
                    Locale.ROOT, "%,d more %s %s; -o json has them all", left, left == 1 ? "shard" : "shards", what));
        }
    }

    static Map<String, Object> facts(DeployPreview preview) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("shards", preview.shards());
        facts.put("groups", preview.groups().stream().map(DeployView::facts).toList());
        return facts;
    }

    private static Map<String, Object> facts(DeployPreview.Group group) {
        Map<String, Object> shards = new LinkedHashMap<>();
        group.shards().forEach((server, its) -> shards.put(server, its.toString()));
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("shardCount", group.size());
        facts.put("shards", shards);
        facts.put("changeSets", group.changeSets());
        facts.put("example", group.example());
        facts.put("sql", group.sql());
        return facts;
    }

    static String table(String shards, DeployPreview preview) {
        TableWriter table = new TableWriter("SERVER", shards);
        preview.shards().forEach(table::row);
        StringJoiner text = new StringJoiner("\n").add(table.toString());
        List<DeployPreview.Group> groups = preview.groups();
        if (groups.stream().allMatch(group -> group.sql().isEmpty())) {
            return table.toString();
        }
        for (DeployPreview.Group group : groups.stream().limit(SHOWN).toList()) {
            text.add(heading(group, groups.size() == 1));
            group.sql().forEach(sql -> text.add(sql.startsWith("--") ? sql : ended(sql)));
        }
        addRest(
                text,
                groups.stream().skip(SHOWN).mapToInt(DeployPreview.Group::size).sum(),
                "differ from these");
        return text.toString();
    }

    /** The statement with a semicolon at the end, on a new line if a comment would hide it. */
    private static String ended(String sql) {
        return sql.substring(sql.lastIndexOf('\n') + 1).contains("--") ? sql + "\n;" : sql + ";";
    }

    private static String heading(DeployPreview.Group group, boolean only) {
        if (only) {
            return group.size() == 1
                    ? "FOR SHARD %s".formatted(group.example())
                    : "FOR SHARD %s, AS FOR THE OTHERS".formatted(group.example());
        }
        String where = where(group);
        if (group.sql().isEmpty()) {
            return "NOTHING FOR " + where;
        }
        return group.size() == 1 ? "FOR " + where : "FOR SHARD %s, AS FOR ALL OF %s".formatted(group.example(), where);
    }

    /** The number of shards that a deployment would change. */
    static int changed(DeployPreview preview) {
        return preview.shards().values().stream().mapToInt(Integer::intValue).sum();
    }

    /** The question that asks to confirm a rollback, with its effect. */
    static String question(DeployPreview preview) {
        String what = preview.groups().stream()
                .filter(group -> !group.changeSets().isEmpty())
                .map(group -> "%s in %s".formatted(names(group.changeSets()), Amounts.shards(group.size())))
                .collect(Collectors.joining(", "));
        return "undo %s, and delete the rows of what it created".formatted(what);
    }

    private static String names(List<String> changeSets) {
        return changeSets.size() <= 2
                ? String.join(" and ", changeSets)
                : "%s and %s before it".formatted(changeSets.get(0), changeSets.size() - 1);
    }

    private static String where(DeployPreview.Group group) {
        return group.shards().entrySet().stream()
                .map(its -> "%s ON %s".formatted(TableWriter.shorten(its.getValue()), its.getKey()))
                .collect(Collectors.joining(", "));
    }
}
