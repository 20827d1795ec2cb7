/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import java.time.Duration;
import java.util.concurrent.Callable;
import org.shardflake.ShardSet;
import org.shardflake.cli.command.option.DryRunMixin;
import org.shardflake.cli.command.option.DurationConverter;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.move.Move;
import org.shardflake.move.Mover;
import org.shardflake.move.exception.CopiesDifferException;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.exception.MoveRefusedException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** A command that cuts shards over, in either direction. */
@Command(
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:done, and the copies are equal",
            "1:a server or the catalog failed; run the command again to continue",
            "2:the command line is wrong",
            "3:some shards are done, but patience ran out for the next one",
            "4:there is no such move, or the move is not following yet",
            "5:copies differ; no more shards were cut over"
        })
abstract class AbstractCutoverCommand implements Callable<Integer> {

    @Mixin
    private MoveShardsMixin which;

    @Option(
            names = "--pause",
            paramLabel = "TIME",
            defaultValue = "90ms",
            converter = DurationConverter.class,
            description =
                    "Give up a cutover attempt that would make writers wait longer than this (default: ${DEFAULT-VALUE}).")
    private Duration pause;

    @Mixin
    private DryRunMixin dryRun;

    @Mixin
    private MoveMixin moves;

    @Mixin
    private OutputMixin output;

    private final String verb;
    private final String participle;

    /**
     * @param verb the action for a dry run: "bring back"
     * @param participle the action once done: "brought back"
     */
    AbstractCutoverCommand(String verb, String participle) {
        this.verb = verb;
        this.participle = participle;
    }

    /** The shards that can be cut over. */
    abstract ShardSet candidates(Move move);

    abstract void run(Mover mover, Move move, ShardSet shards);

    @Override
    public Integer call() {
        MoveProgress progress = moves.progress();
        Mover mover = moves.mover(moves.settings(usual -> usual.pause(pause)), progress);
        Move move = which.find(mover);
        ShardSet wanted = which.of(move, moves.map());
        if (dryRun.isOn()) {
            CutoverView.show(dryRun, output, verb, move, candidates(move), wanted);
            return ExitCodes.OK;
        }
        moves.begun(move);
        try {
            run(mover, move, wanted);
        } catch (CopiesDifferException | MoveRefusedException e) {
            throw e;
        } catch (MoveException e) {
            throw CutoverView.partly(e, progress);
        }
        output.print(CutoverView.facts(move, wanted, progress), () -> CutoverView.text(participle, wanted, progress));
        return ExitCodes.OK;
    }
}
