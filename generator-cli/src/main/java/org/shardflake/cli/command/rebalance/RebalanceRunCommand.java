/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.rebalance;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.shardflake.cli.command.move.CopyMixin;
import org.shardflake.cli.command.move.MoveMixin;
import org.shardflake.cli.command.move.ParallelMixin;
import org.shardflake.cli.command.move.WholeMoves;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.DryRunMixin;
import org.shardflake.cli.command.option.DurationConverter;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.move.parallel.MoveRequest;
import org.shardflake.rebalance.AutoRebalance;
import org.shardflake.rebalance.AutoSettings;
import org.shardflake.rebalance.Decision;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake rebalance run}: plans, moves and watches, once or repeatedly. */
@Command(
        name = "run",
        description = {
            "Experimental: measures the load, plans, moves, and watches commits on the servers; moves that made their target slower are turned back."
                    + " Prints a line for each decision.",
            "Makes one round, or with --auto one after the other. A shard that moved rests for as long as --rest says, and one that was turned back"
                    + " stays until the run ends.",
            "Stops at the first thing that it cannot explain: a move that failed, a server that does not answer, a change of the map or"
                    + " a move by someone else, shards that are closed or misplaced, counters that were reset."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok, even if there was nothing to do, or moves were turned back",
            "1:a server or the catalog failed, or a rate cannot be known",
            "2:the command line is wrong, there is no such server or shard, or it was not confirmed",
            "3:some moves or cutovers are done, and others failed",
            "4:there is no catalog, a check failed, someone else moves shards or has changed the map, or shards are closed or misplaced",
            "5:copies differ; those of that move were not removed",
            "130:ended with Ctrl-C; continue a move in progress with the command that move status names"
        },
        footer = {"", "Example: shardflake rebalance run --auto --budget 20 --max-moves 2"})
final class RebalanceRunCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Option(names = "--auto", description = "Continue, round after round, until Ctrl-C or until it has to stop.")
    private boolean auto;

    @Option(
            names = "--budget",
            paramLabel = "N",
            defaultValue = "" + AutoSettings.DEFAULT_BUDGET,
            description = "Maximum shards moved per hour, including moves by others (default: ${DEFAULT-VALUE})."
                    + " --max-moves is for each round.")
    private int budget;

    @Option(
            names = "--watch",
            paramLabel = "TIME",
            defaultValue = "30s",
            converter = DurationConverter.class,
            description = "How long to watch commits after the moves of a round (default: ${DEFAULT-VALUE}).")
    private Duration watch;

    @Option(
            names = "--slower",
            paramLabel = "PERCENT",
            defaultValue = "" + AutoSettings.DEFAULT_SLOWER,
            description =
                    "Turn moves back if commits on their target take this much longer than before, all the time that they are watched,"
                            + " and not on all servers (default: ${DEFAULT-VALUE}).")
    private int slower;

    @Mixin
    private DryRunMixin dryRun;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private PlanMixin options;

    @Mixin
    private CopyMixin copying;

    @Mixin
    private ParallelMixin parallel;

    @Mixin
    private MoveMixin moves;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        AutoSettings settings = options.settings(watch, slower, budget);
        whole(); // Refuses settings that no move can have before it measures.
        if (!dryRun.isOn()) {
            confirm.requireOfPerson(
                    auto
                            ? "measure and move shards until you press Ctrl-C, and remove the old copies once they are compared"
                            : "measure and move shards, and remove the old copies once they are compared",
                    "see what it would do with --dry-run");
        }
        try (AutoRebalance engine = new AutoRebalance(
                moves.url(), server -> moves.urlOf(server), settings, requests -> whole().run(requests), this::print)) {
            run(engine);
        }
        return ExitCodes.OK;
    }

    private WholeMoves whole() {
        return new WholeMoves(moves, copying, parallel);
    }

    private void run(AutoRebalance engine) throws InterruptedException {
        options.sayHowLong(moves);
        if (dryRun.isOn()) {
            dryRun.say();
            engine.rehearse();
        } else if (auto) {
            engine.run();
        } else {
            engine.round();
        }
    }

    private void print(Decision decision) {
        PrintWriter out = spec.commandLine().getOut();
        output.print(facts(decision), decision::toString);
        out.flush();
    }

    private Map<String, Object> facts(Decision decision) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("time", decision.time().toString());
        facts.put("decision", decision.choice().name().toLowerCase(Locale.ROOT).replace('_', ' '));
        decision.move().ifPresent(move -> facts.putAll(facts(move)));
        facts.put("saw", decision.saw());
        facts.put("why", decision.why());
        if (dryRun.isOn()) {
            facts.put("dryRun", true);
        }
        return facts;
    }

    private static Map<String, Object> facts(MoveRequest move) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("shards", move.shards().toString());
        facts.put("from", move.source());
        facts.put("to", move.target());
        return facts;
    }
}
