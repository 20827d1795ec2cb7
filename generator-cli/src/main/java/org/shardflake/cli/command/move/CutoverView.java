/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.Advice;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.command.option.DryRunMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.output.Amounts;
import org.shardflake.move.Move;
import org.shardflake.move.Mover;
import org.shardflake.move.exception.MoveException;

/** Reports the result of a run of cutovers. */
public final class CutoverView {

    private CutoverView() {}

    /**
     * Shows which shards would change their server.
     *
     * @param candidates the shards of the move that could
     */
    static void show(
            DryRunMixin dryRun, OutputMixin output, String verb, Move move, ShardSet candidates, ShardSet wanted) {
        Mover.checkCutover(move);
        ShardSet its = candidates.and(wanted);
        String would = "%s %s of move %s%s"
                .formatted(verb, Amounts.shards(its.size()), move.id(), its.isEmpty() ? "" : ": " + its);
        dryRun.shows(output, would, Map.of("move", move.id(), "shards", its.toString()));
    }

    static Map<String, Object> facts(Move move, ShardSet shards, MoveProgress progress) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("move", move.id());
        facts.put("shards", shards.toString());
        facts.put("cutovers", progress.pauses().size());
        facts.put("attemptsGivenUp", progress.attemptsFailed());
        if (!progress.pauses().isEmpty()) {
            facts.put("pauseMillis", pauses(progress.pauses()));
        }
        return facts;
    }

    public static Map<String, Object> pauses(List<Duration> pauses) {
        List<Duration> sorted = pauses.stream().sorted().toList();
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("p50", percentile(sorted, 50).toMillis());
        facts.put("p99", percentile(sorted, 99).toMillis());
        facts.put("max", sorted.get(sorted.size() - 1).toMillis());
        return facts;
    }

    /** The smallest of the values that is at or above this percentage of them. */
    static Duration percentile(List<Duration> sorted, int percent) {
        int rank = (int) Math.ceil(sorted.size() * percent / 100.0);
        return sorted.get(Math.max(rank, 1) - 1);
    }

    static String text(String done, ShardSet shards, MoveProgress progress) {
        if (progress.pauses().isEmpty()) {
            return "%s were %s before; nothing to do".formatted(Amounts.shards(shards.size()), done);
        }
        return done + " " + Amounts.shards(progress.pauses().size()) + pauses(progress);
    }

    /** The write pauses of a run as the end of a sentence; empty without any. */
    public static String pauses(MoveProgress progress) {
        return pausesText(progress.pauses());
    }

    /** Write pauses as the end of a sentence; empty without any. */
    public static String pausesText(List<Duration> all) {
        if (all.isEmpty()) {
            return "";
        }
        Map<String, Object> pauses = pauses(all);
        return "; write pause: median %s ms, p99 %s ms, longest %s ms"
                .formatted(pauses.get("p50"), pauses.get("p99"), pauses.get("max"));
    }

    /** Wraps a failure after some shards were cut over, so that scripts can distinguish it from an earlier one. */
    public static RuntimeException partly(MoveException e, MoveProgress progress) {
        return progress.pauses().isEmpty() ? e : partly(e);
    }

    /** Wraps a failure after a part of the work was done, so that scripts can distinguish it from an earlier one. */
    public static CliException partly(ShardflakeException e) {
        return new CliException(
                Kind.PARTLY_DONE,
                String.valueOf(e.getMessage()),
                e.advice().orElse(Advice.of("run the same command again for the rest")),
                e);
    }
}
