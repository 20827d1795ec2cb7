/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.sql;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardSet;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.output.JsonWriter;
import org.shardflake.cli.output.RowsWriter;
import org.shardflake.jdbc.Plural;
import org.shardflake.script.ScriptReport;
import org.shardflake.script.ScriptReport.Failure;

/** Shows the outcome of statements in many shards. */
final class SqlReportView {

    private SqlReportView() {}

    /** Prints the outcome; returns the exit code. */
    static int print(ScriptReport report, RowsWriter.Format format, PrintWriter out, PrintWriter err) {
        if (format == RowsWriter.Format.JSON) {
            out.println(JsonWriter.write(facts(report)));
        } else {
            out.printf("wrote in %s: %s%n", Amounts.shards(report.done().size()), Plural.of(report.rows(), "row"));
        }
        if (!report.before().isEmpty()) {
            err.printf("done before in %s%n", Amounts.shards(report.before().size()));
        }
        Map<String, List<Failure>> alike = new TreeMap<>();
        report.failures()
                .forEach(failure -> alike.computeIfAbsent(
                                failure.server() + ": " + failure.error().replaceAll("shard_\\d{4}\\b", "shard_NNNN"),
                                error -> new ArrayList<>())
                        .add(failure));
        alike.forEach((error, shards) -> err.printf(
                "error: failed in %s (%s) of %s%n",
                Amounts.shards(shards.size()),
                ShardSet.of(shards.stream().mapToInt(Failure::shard).toArray()),
                error));
        if (!report.isComplete()) {
            int open = report.failures().size() + report.left().size();
            err.printf(
                    "hint: %s to go, unchanged; the same command continues, with --keep-going past shards that fail%n",
                    Amounts.shards(open));
            return report.done().isEmpty() && report.before().isEmpty() ? ExitCodes.FAILURE : ExitCodes.PARTLY_DONE;
        }
        return ExitCodes.OK;
    }

    private static Map<String, @Nullable Object> facts(ScriptReport report) {
        Map<String, @Nullable Object> facts = new LinkedHashMap<>();
        facts.put("run", report.run());
        facts.put("done", report.done().toString());
        facts.put("before", report.before().toString());
        facts.put("rows", report.rows());
        facts.put(
                "failures",
                report.failures().stream()
                        .map(failure ->
                                Map.of("shard", failure.shard(), "server", failure.server(), "error", failure.error()))
                        .toList());
        facts.put("left", report.left().toString());
        return facts;
    }
}
