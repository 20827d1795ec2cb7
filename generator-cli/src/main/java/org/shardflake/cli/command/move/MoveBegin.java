/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.command.option.DryRunMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.command.option.ServerNames;
import org.shardflake.cli.command.option.ShardsOption;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Amounts;
import org.shardflake.jdbc.Plural;
import org.shardflake.move.Move;
import org.shardflake.move.Mover;
import org.shardflake.preflight.PreflightReport;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The choice of shards, target and copy settings shared by {@code move start} and {@code move run}. */
final class MoveBegin extends CopyMixin {

    @Option(
            names = "--shards",
            paramLabel = "SHARDS",
            required = true,
            description = "The shards to move, such as 0-99,1341.")
    private String shards;

    @Option(
            names = "--to",
            paramLabel = "SERVER",
            required = true,
            completionCandidates = ServerNames.class,
            description = "The server to move them to, such as db3.")
    private String target;

    @Mixin
    private DryRunMixin dryRun;

    boolean isDryRun() {
        return dryRun.isOn();
    }

    String target() {
        return target;
    }

    ShardSet wanted(ShardMap map) {
        return ShardsOption.parse(shards, map);
    }

    /** The shards to move, by their server, without those already on the target. */
    Map<String, ShardSet> sources(ShardMap map) {
        ShardSet wanted = wanted(map);
        map.server(target);
        Map<String, ShardSet> sources = new LinkedHashMap<>();
        for (Server server : map.servers()) {
            ShardSet its = map.shards(server).and(wanted);
            if (!its.isEmpty() && !server.name().equals(target)) {
                sources.put(server.name(), its);
            }
        }
        return sources;
    }

    /** Refuses everything if any part cannot be moved, before anything starts. */
    void requirePassing(Mover mover, Map<String, ShardSet> sources) {
        if (sources.size() > 1) {
            for (Map.Entry<String, ShardSet> source : sources.entrySet()) {
                if (mover.findOpen(source.getKey(), target, source.getValue()).isEmpty()) {
                    mover.requirePassing(source.getKey(), target, source.getValue());
                }
            }
        }
    }

    /** Shows and checks the planned moves; returns the exit code. */
    int dryRun(MoveMixin moves, OutputMixin output) {
        Map<String, ShardSet> sources = sources(moves.map());
        Mover mover = moves.mover(moves.progress());
        List<PreflightReport> plan = new ArrayList<>();
        for (Map.Entry<String, ShardSet> source : sources.entrySet()) {
            Optional<Move> begun = mover.findOpen(source.getKey(), target, source.getValue());
            if (begun.isPresent()) {
                moves.err()
                        .printf(
                                "would resume move %s of %s, which is %s%n",
                                begun.get().id(),
                                Plural.shards(begun.get().shardSet()),
                                begun.get().phase());
            } else {
                refuseMoving(mover, source.getValue());
                plan.add(mover.check(source.getKey(), target, source.getValue()));
            }
        }
        output.print(
                plan.stream().map(MoveBegin::facts).toList(),
                () -> plan.stream().map(MoveBegin::text).collect(Collectors.joining("\n\n")));
        return plan.stream().allMatch(PreflightReport::passed) ? ExitCodes.OK : ExitCodes.PRECONDITION;
    }

    private static void refuseMoving(Mover mover, ShardSet shards) {
        for (Move move : mover.moves()) {
            ShardSet both = shards.and(move.shardSet());
            if (!both.isEmpty()) {
                throw new CliException(
                        Kind.PRECONDITION,
                        "%s in move %s already".formatted(Plural.shards(both, "is", "are"), move.id()),
                        Advice.of("see %s", CliCommand.MOVE_STATUS_OF.with(move.id())));
            }
        }
    }

    static Map<String, Object> facts(PreflightReport report) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("from", report.source());
        facts.put("to", report.target());
        facts.put("shards", report.shards().toString());
        facts.put("tables", report.tables());
        facts.put("bytes", report.bytes());
        facts.put("rows", report.rows());
        facts.put("estimatedSeconds", report.estimatedSeconds());
        facts.put("checks", ChecksView.facts(report.checks()));
        return facts;
    }

    static String text(PreflightReport report) {
        return String.format(
                Locale.ROOT,
                "%s from %s to %s: %s, %s, %s; copying takes about %s%n%n%s",
                Amounts.shards(report.shards().size()),
                report.source(),
                report.target(),
                Plural.of(report.tables(), "table"),
                Amounts.bytes(report.bytes()),
                report.rows() == 0 && report.bytes() > 0
                        ? "rows not counted yet by ANALYZE"
                        : "about " + Plural.of(report.rows(), "row"),
                Amounts.duration(Duration.ofSeconds(report.estimatedSeconds())),
                ChecksView.text(report.checks()));
    }
}
