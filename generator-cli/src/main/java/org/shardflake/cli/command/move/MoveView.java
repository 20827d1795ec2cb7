/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.shardflake.CliCommand;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.jdbc.Plural;
import org.shardflake.move.Move;
import org.shardflake.move.MovePhase;
import org.shardflake.move.MoveShard;
import org.shardflake.move.MoveStatus;
import org.shardflake.move.ShardPhase;
import org.shardflake.move.StreamStatus;
import org.shardflake.move.Verified;

/** Shows moves as facts and as tables. */
public final class MoveView {

    private MoveView() {}

    public static Map<String, Object> facts(MoveStatus status) {
        Move move = status.move();
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("move", move.id());
        facts.put("phase", move.phase().toString());
        facts.put("phaseSince", move.phaseSince().toString());
        facts.put("startedAt", move.startedAt().toString());
        facts.put("from", move.source());
        facts.put("to", move.target());
        facts.put("shards", move.shardSet().toString());
        facts.put("commandRuns", move.workedOnSince().isPresent());
        facts.put("bytes", status.totalBytes());
        facts.put("bytesCopied", status.copiedBytes());
        facts.put(
                "rowsCopied", move.shards().stream().mapToLong(MoveShard::rows).sum());
        status.timeLeft(Instant.now()).ifPresent(left -> facts.put("copySecondsLeft", left.toSeconds()));
        facts.put("forward", facts(status.forward()));
        facts.put("reverse", facts(status.reverse()));
        facts.put("reason", move.reason());
        facts.put("problem", move.problem());
        facts.put("shardDetails", move.shards().stream().map(MoveView::facts).toList());
        return facts;
    }

    /** The text about an interrupted move: its state, and how to go back. */
    static String left(Move move) {
        int shards = move.shards().size();
        return "move %s of %s from %s to %s is %s: %s of %s copied, %s on %s%nto go back: %s"
                .formatted(
                        move.id(),
                        Amounts.shards(shards),
                        move.source(),
                        move.target(),
                        move.phase(),
                        shards - move.shardSet(ShardPhase.WAITING).size(),
                        shards,
                        move.shardSet(ShardPhase.SWITCHED).size(),
                        move.target(),
                        wayBack(move));
    }

    private static String wayBack(Move move) {
        if (move.phase() == MovePhase.COMPLETING || move.phase() == MovePhase.CANCELLING) {
            return "not possible any more";
        }
        CliCommand cancel = CliCommand.MOVE_CANCEL.with(move.id());
        return move.shardSet(ShardPhase.SWITCHED).isEmpty()
                ? cancel.toString()
                : "%s, then %s".formatted(CliCommand.MOVE_REVERSE.with(move.id()), cancel);
    }

    private static Map<String, Object> facts(StreamStatus stream) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("running", stream.running());
        facts.put("lagBytes", stream.lagBytes());
        facts.put("lagMillis", stream.lagMillis());
        facts.put("applyErrors", stream.applyErrors());
        facts.put("problem", stream.problem());
        return facts;
    }

    static Map<String, Object> facts(MoveShard shard) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("shard", shard.shard());
        facts.put("phase", shard.phase().toString());
        facts.put("server", shard.server());
        facts.put("epoch", shard.epoch());
        facts.put("bytes", shard.bytes());
        facts.put("rows", shard.rows());
        facts.put("verified", shard.verified().toString());
        shard.pauseMillis().ifPresent(pause -> facts.put("pauseMillis", Amounts.tenths(pause)));
        shard.switchedAt().ifPresent(time -> facts.put("switchedAt", time.toString()));
        return facts;
    }

    static String table(List<MoveStatus> all) {
        if (all.isEmpty()) {
            return "no move is in progress";
        }
        TableWriter table = new TableWriter(
                        "MOVE",
                        "PHASE",
                        "SINCE",
                        "FROM",
                        "TO",
                        "SHARDS",
                        "COPIED",
                        "SWITCHED",
                        "BYTES",
                        "LEFT",
                        "LAG",
                        "BACK")
                .mayLeaveOut("SINCE", "BYTES", "COPIED", "BACK", "LEFT");
        List<String> problems = new ArrayList<>();
        for (MoveStatus status : all) {
            Move move = status.move();
            int shards = move.shards().size();
            table.row(
                    move.id(),
                    move.phase(),
                    move.phaseSince().truncatedTo(ChronoUnit.SECONDS),
                    move.source(),
                    move.target(),
                    TableWriter.shorten(move.shardSet()),
                    "%s of %s"
                            .formatted(
                                    shards - move.shardSet(ShardPhase.WAITING).size(), shards),
                    "%s of %s".formatted(move.shardSet(ShardPhase.SWITCHED).size(), shards),
                    "%s of %s".formatted(Amounts.bytes(status.copiedBytes()), Amounts.bytes(status.totalBytes())),
                    move.isAbandoned()
                            ? "stopped"
                            : status.timeLeft(Instant.now())
                                    .map(Amounts::duration)
                                    .orElse("-"),
                    lag(status.forward()),
                    lag(status.reverse()));
            if (move.isAbandoned()) {
                problems.add("move %s: its command no longer runs; continue with %s%s"
                        .formatted(
                                move.id(),
                                move.nextCommand(),
                                wayBack(move).startsWith("not") ? "" : ", or go back with " + wayBack(move)));
            }
            if (!move.problem().isEmpty()) {
                problems.add("move %s: %s".formatted(move.id(), move.problem()));
            }
            for (StreamStatus stream : List.of(status.forward(), status.reverse())) {
                String problem = "move %s: %s".formatted(move.id(), stream.problem());
                if (!stream.problem().isEmpty() && !problems.contains(problem)) {
                    problems.add(problem);
                }
            }
        }
        return table + (problems.isEmpty() ? "" : "\n" + String.join("\n", problems));
    }

    /** The lag of a stream, also of a stopped one, whose slot keeps log. */
    private static String lag(StreamStatus stream) {
        String time = stream.running() ? ", %s ms".formatted(stream.lagMillis()) : "";
        String errors = stream.applyErrors() > 0 ? ", " + Plural.of(stream.applyErrors(), "error") : "";
        return (stream.running() || stream.lagBytes() > 0 ? Amounts.bytes(stream.lagBytes()) : "-") + time + errors;
    }

    static String shardTable(Move move) {
        TableWriter table = new TableWriter("SHARD", "PHASE", "SERVER", "BYTES", "ROWS", "VERIFIED", "PAUSE")
                .mayLeaveOut("ROWS", "BYTES");
        for (MoveShard shard : move.shards()) {
            table.row(
                    shard.shard(),
                    shard.phase(),
                    shard.server(),
                    Amounts.bytes(shard.bytes()),
                    String.format(Locale.ROOT, "%,d", shard.rows()),
                    shard.verified() == Verified.NOT_COMPARED ? "-" : shard.verified(),
                    shard.pauseMillis().isPresent()
                            ? Amounts.tenths(shard.pauseMillis().getAsDouble()) + " ms"
                            : "-");
        }
        return table.toString();
    }
}
