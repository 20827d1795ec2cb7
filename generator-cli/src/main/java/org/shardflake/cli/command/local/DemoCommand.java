/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.local;

import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.shardflake.IdLayout;
import org.shardflake.cli.command.move.CutoverView;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.demo.Demo;
import org.shardflake.cli.demo.DemoMove;
import org.shardflake.cli.demo.DemoReport;
import org.shardflake.cli.demo.DemoSettings;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Progress;
import org.shardflake.cli.output.TableWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake demo}: shows everything in one run, on its own servers. */
@Command(
        name = "demo",
        description = {
            "Starts two embedded PostgreSQL servers, creates the shards with two tables each, writes rows from"
                    + " several threads, reads every row back and checks its id, and then moves 20 shards from one server to the"
                    + " other while threads write to them.",
            "Needs nothing installed, and leaves no server and no data behind."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:every check passes",
            "1:a check failed, or the demo could not run",
            "2:the command line is wrong"
        },
        footer = {"", "Example: shardflake demo --rows 1000000"})
public final class DemoCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--shards",
            paramLabel = "N",
            defaultValue = "2000",
            description = "Logical shards, 2..8192 (default: ${DEFAULT-VALUE}).")
    private int shards;

    @Option(
            names = "--rows",
            paramLabel = "N",
            defaultValue = "100000",
            description = "Rows to write, half photos and half likes (default: ${DEFAULT-VALUE}).")
    private int rows;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws SQLException, InterruptedException {
        DemoSettings settings = settings();
        Progress.Factory progress = Progress.on(spec.commandLine().getErr(), Progress.isTerminal());
        DemoReport report = new Demo(settings, progress).run();
        output.print(facts(report), () -> text(report));
        return report.passed() ? ExitCodes.OK : ExitCodes.FAILURE;
    }

    private DemoSettings settings() {
        try {
            return new DemoSettings(shards, rows);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(String.valueOf(e.getMessage()));
        }
    }

    private static Map<String, Object> facts(DemoReport report) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("passed", report.passed());
        facts.put("shards", report.shards());
        facts.put("rows", report.rows());
        facts.put("rowsMissing", report.rowsMissing());
        facts.put("duplicates", report.duplicates());
        facts.put("wrongShard", report.wrongShard());
        facts.put("notIncreasing", report.notIncreasing());
        facts.put("largestDifferenceMillis", report.largestDifferenceMillis());
        facts.put("idsPerSecond", report.idsPerSecond());
        facts.put("samples", report.samples().stream().map(String::valueOf).toList());
        report.move().ifPresent(move -> facts.put("move", facts(move)));
        return facts;
    }

    private static Map<String, Object> facts(DemoMove.Result move) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("from", move.from());
        facts.put("to", move.to());
        facts.put("shards", move.shards());
        facts.put("rowsWritten", move.rows());
        facts.put("rowsLost", move.lost());
        facts.put("errors", move.errors());
        facts.put("pauseMillis", CutoverView.pauses(move.pauses()));
        return facts;
    }

    private static TableWriter moved(DemoMove.Result move) {
        Map<String, Object> pauses = CutoverView.pauses(move.pauses());
        return new TableWriter(
                        "MOVED %s SHARDS FROM %s TO %s UNDER LOAD".formatted(move.shards(), move.from(), move.to()),
                        "",
                        "")
                .row("rows written during moves", String.format(Locale.ROOT, "%,d", move.rows()), "")
                .row("rows lost", move.lost(), verdict(move.lost() == 0))
                .row("errors", move.errors(), verdict(move.errors() == 0))
                .row("write pause, median", pauses.get("p50") + " ms", "")
                .row("write pause, 99th percentile", pauses.get("p99") + " ms", "")
                .row("write pause, longest", pauses.get("max") + " ms", "");
    }

    private static String text(DemoReport report) {
        TableWriter servers = new TableWriter("SERVER", "SHARDS", "ROWS");
        report.servers()
                .forEach(server ->
                        servers.row(server.name(), server.shards(), String.format(Locale.ROOT, "%,d", server.rows())));
        TableWriter checks = new TableWriter("READ BACK FROM THE SERVERS", "", "")
                .row("rows", String.format(Locale.ROOT, "%,d", report.rows()), verdict(report.rowsMissing() == 0))
                .row("duplicate ids", report.duplicates(), verdict(report.duplicates() == 0))
                .row("ids whose shard bits disagree with uid", report.wrongShard(), verdict(report.wrongShard() == 0))
                .row(
                        "ids not increasing per table and shard",
                        report.notIncreasing(),
                        verdict(report.notIncreasing() == 0))
                .row(
                        "largest difference, time bits to created_at",
                        report.largestDifferenceMillis() + " ms",
                        verdict(report.timesAgree()))
                .row("ids per second", String.format(Locale.ROOT, "%,d", report.idsPerSecond()), "");
        String end = report.passed() ? "Every check holds." : "A check FAILED.";
        return String.join(
                "\n",
                List.of(
                        servers.toString(),
                        checks.toString(),
                        samples(report).toString(),
                        report.move().map(move -> moved(move).toString()).orElse(""),
                        end));
    }

    private static String verdict(boolean holds) {
        return holds ? "ok" : "FAILED";
    }

    private static TableWriter samples(DemoReport report) {
        TableWriter samples = new TableWriter("THREE OF THE IDS", "TIME", "SHARD", "SEQUENCE");
        for (long id : report.samples()) {
            samples.row(id, report.layout().time(id), IdLayout.shard(id), IdLayout.sequence(id));
        }
        return samples;
    }
}
