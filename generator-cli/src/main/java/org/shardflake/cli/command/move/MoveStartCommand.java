/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.shardflake.CliCommand;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Amounts;
import org.shardflake.move.Move;
import org.shardflake.move.Mover;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code shardflake move start}: copies shards and makes the target follow. */
@Command(
        name = "start",
        description = {
            "Copies shards to another server, and makes it follow; nothing changes for the application.",
            "Each source server becomes a separate move. If interrupted, run the command again to continue."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:the target follows the source; with --dry-run, every check passes",
            "1:a server or the catalog failed; run the command again to continue",
            "2:the command line is wrong",
            "4:a check failed, or a shard is part of another move; nothing was changed"
        },
        footer = {"", "Example: shardflake move start --shards 0-99,1341 --to db3 --rate 20MB"})
final class MoveStartCommand implements Callable<Integer> {

    @Mixin
    private MoveBegin begin;

    @Mixin
    private MoveMixin moves;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() {
        ShardMap map = moves.map();
        Map<String, ShardSet> sources = begin.sources(map);
        if (begin.isDryRun()) {
            return begin.dryRun(moves, output);
        }
        begin.requirePassing(moves.mover(moves.progress()), sources);
        List<Move> started = new ArrayList<>();
        for (Map.Entry<String, ShardSet> source : sources.entrySet()) {
            MoveProgress progress = moves.progress();
            Mover mover = moves.mover(moves.settings(begin::fill), progress);
            Move move = moves.begun(begin.begin(mover, source.getKey(), begin.target(), source.getValue(), progress));
            started.add(mover.follow(move.id()));
        }
        output.print(
                started.stream()
                        .map(move -> Map.of(
                                "move",
                                move.id(),
                                "from",
                                move.source(),
                                "to",
                                move.target(),
                                "shards",
                                move.shardSet().toString(),
                                "phase",
                                move.phase().toString()))
                        .toList(),
                () -> text(started));
        return ExitCodes.OK;
    }

    private String text(List<Move> started) {
        if (started.isEmpty()) {
            return "all of these shards are on %s; nothing to do".formatted(begin.target());
        }
        return started.stream()
                .map(move -> "move %s: %s follows %s with %s; next: %s"
                        .formatted(
                                move.id(),
                                move.target(),
                                move.source(),
                                Amounts.shards(move.shards().size()),
                                CliCommand.MOVE_CUTOVER.with(move.id())))
                .collect(Collectors.joining("\n"));
    }
}
