/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import org.shardflake.cli.ExitCodes;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.deploy.DeployPreview;
import org.shardflake.deploy.DeployReport;
import org.shardflake.deploy.ShardDrift;
import org.shardflake.deploy.ShardFailure;

/** What was or would be deployed, for people and for machines. */
final class DeployView {

    /** A change that fails on every shard would fill the screen. */
    private static final int SHOWN = 20;

    private DeployView() {}

    static Map<String, Object> facts(DeployReport report) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("complete", report.isComplete());
        facts.put("changeSets", report.changeSets());
        facts.put("servers", report.servers().stream().map(DeployView::facts).toList());
        facts.put("failures", report.failures().stream().map(DeployView::facts).toList());
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

    private static Map<String, Object> facts(ShardFailure failure) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("shard", failure.shard());
        facts.put("server", failure.server());
        facts.put("changeSet", failure.changeSet());
        facts.put("sql", failure.sql());
        facts.put("error", failure.error());
        return facts;
    }

    static List<Map<String, Object>> drifts(List<ShardDrift> drifts) {
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
        for (ShardFailure failure : report.failures().stream().limit(SHOWN).toList()) {
            text.add("shard %d on %s failed, and is as it was".formatted(failure.shard(), failure.server()));
            addPart(text, "changeset", failure.changeSet());
            addPart(text, "statement", failure.sql());
            addPart(text, "error", failure.error().replaceAll("\\s*\n\\s*", "; "));
        }
        addRest(text, report.failures().size(), "failed");
        text.add(table(report.differing()));
        return text.toString().stripTrailing();
    }

    /** What differs, shard by shard; empty if nothing does. */
    static String table(List<ShardDrift> drifts) {
        StringJoiner text = new StringJoiner("\n");
        for (ShardDrift drift : drifts.stream().limit(SHOWN).toList()) {
            text.add("shard %d on %s differs from most others".formatted(drift.shard(), drift.server()));
            drift.differences().forEach(difference -> text.add("  " + difference));
        }
        addRest(text, drifts.size(), "differ");
        return text.toString();
    }

    private static void addPart(StringJoiner text, String what, String part) {
        if (!part.isEmpty()) {
            text.add("  %s: %s".formatted(what, part));
        }
    }

    private static void addRest(StringJoiner text, int size, String what) {
        if (size > SHOWN) {
            text.add("%,d more shards %s; -o json has them all".formatted(size - SHOWN, what));
        }
    }

    static Map<String, Object> facts(DeployPreview preview) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("shards", preview.shards());
        facts.put("example", preview.example() < 0 ? null : preview.example());
        facts.put("sql", preview.sql());
        return facts;
    }

    static String table(String shards, DeployPreview preview) {
        TableWriter table = new TableWriter("SERVER", shards);
        preview.shards().forEach(table::row);
        if (preview.example() < 0) {
            return table.toString();
        }
        StringJoiner text = new StringJoiner("\n")
                .add(table.toString())
                .add("FOR SHARD %d, AND LIKEWISE FOR THE OTHERS".formatted(preview.example()));
        preview.sql().forEach(sql -> text.add(sql.startsWith("--") ? sql : sql + ";"));
        return text.toString();
    }
}
