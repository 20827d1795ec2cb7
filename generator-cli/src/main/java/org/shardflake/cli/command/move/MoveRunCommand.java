/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
import org.shardflake.ShardSet;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.DurationConverter;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.jdbc.Plural;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.parallel.MoveRequest;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code shardflake move run}: carries out a move from beginning to end. */
@Command(
        name = "run",
        description = {
            "Moves shards from beginning to end: copies them, follows, cuts them over one by one, compares both copies, then removes the source's.",
            "If interrupted, run the command again to continue."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:the shards are on the target, and nothing of the move is left; with --dry-run, every check passes",
            "1:a server or the catalog failed; run the command again to continue",
            "2:the command line is wrong, or it was not confirmed",
            "3:some shards are cut over, but patience ran out for the next one, or one of several moves failed",
            "4:a check failed, or a shard is part of another move; nothing was changed",
            "5:copies differ; no more shards were cut over, and nothing was removed"
        },
        footer = {"", "Example: shardflake move run --shards 0-99,1341 --to db3"})
final class MoveRunCommand implements Callable<Integer> {

    @Mixin
    private MoveBegin begin;

    @Option(
            names = "--pause",
            paramLabel = "TIME",
            defaultValue = "90ms",
            converter = DurationConverter.class,
            description =
                    "Give up a cutover attempt that would make writers wait longer than this (default: ${DEFAULT-VALUE}).")
    private Duration pause;

    @Option(
            names = "--keep",
            description = "Do not complete the move: the source keeps following, so that reverse can go back.")
    private boolean keep;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private ParallelMixin parallel;

    @Mixin
    private MoveMixin moves;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        if (begin.isDryRun()) {
            return begin.dryRun(moves, output);
        }
        WholeMoves whole = new WholeMoves(moves, begin, parallel, pause, keep);
        ShardSet wanted = begin.wanted(moves.map());
        Predicate<Move> isBegun = move ->
                move.target().equals(begin.target()) && move.shardSet().stream().allMatch(wanted::contains);
        Map<String, ShardSet> sources = begin.sources(moves.map());
        if (!keep
                && (!sources.isEmpty()
                        || moves.mover(MoveListener.NONE).moves().stream().anyMatch(isBegun))) {
            confirm.requireOfPerson(
                    "move %s to %s, and remove the old copies once they are compared"
                            .formatted(Plural.shards(wanted), begin.target()),
                    "--keep leaves them, so that the move can be reversed; --dry-run shows what would be moved");
        }
        whole.finish(isBegun);
        whole.run(begin.sources(moves.map()).entrySet().stream()
                .map(source -> new MoveRequest(source.getKey(), begin.target(), source.getValue()))
                .toList());
        output.print(
                whole.facts(),
                () -> whole.isEmpty()
                        ? "all of these shards are on %s; nothing to do".formatted(begin.target())
                        : whole.text());
        return ExitCodes.OK;
    }
}
