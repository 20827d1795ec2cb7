/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.server;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.command.move.ChecksView;
import org.shardflake.cli.command.move.CutoverView;
import org.shardflake.cli.command.move.MoveMixin;
import org.shardflake.cli.command.move.MoveProgress;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.DryRunMixin;
import org.shardflake.cli.command.option.DurationConverter;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.command.option.ReasonMixin;
import org.shardflake.cli.command.option.ServerNames;
import org.shardflake.cli.command.option.ShardsOption;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.server.ServerAccess;
import org.shardflake.move.Move;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.move.Split;
import org.shardflake.move.SplitPhase;
import org.shardflake.move.SplitRequest;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.server.MoveServer;
import org.shardflake.preflight.PreflightCheck;
import org.shardflake.preflight.PreflightCheck.Outcome;
import org.shardflake.split.SplitListener;
import org.shardflake.split.SplitStep;
import org.shardflake.split.Splitter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code shardflake server split}: turns a standby into the server of some of its primary's shards. */
@Command(
        name = "split",
        description = {
            "Experimental: splits a server by its physical standby, which has all rows already: promotes it, adds it to the shard map,"
                    + " and moves shards to it without copying a row.",
            "Shards are cut over as by move run, but compared afterwards, before anything is removed. The server stays open to writes."
                    + " If interrupted, run the command again to continue: the server's name is enough then."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:the shards are on the new server, and nothing else is left; with --dry-run, every check passes",
            "1:a server or the catalog failed; run the command again to continue",
            "2:the command line is wrong, there is no such server, or it was not confirmed",
            "3:some shards are cut over, but patience ran out for the next one, or a copy is left; run the command again",
            "4:a check failed, or the standby cannot be used any more; no shard has left its server",
            "5:copies differ, and nothing was removed"
        },
        footer = {
            "",
            "Example: shardflake server split db1 --standby postgresql://app@db1b/app --as db9 --shards 500-999"
        })
final class ServerSplitCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Parameters(
            index = "0",
            paramLabel = "NAME",
            completionCandidates = ServerNames.class,
            description = "The server to split, such as db1.")
    private String name;

    @Option(
            names = "--standby",
            paramLabel = "URL",
            description = "Its physical standby, postgresql://user@host:port/database, without a password.")
    private @Nullable String standby;

    @Option(names = "--as", paramLabel = "NAME", description = "The standby's name as a server, such as db9.")
    private @Nullable String target;

    @Option(
            names = "--shards",
            paramLabel = "SHARDS",
            description = "The shards that the standby takes over, such as 500-999.")
    private @Nullable String shards;

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
            description =
                    "Do not complete the move: the server keeps following, so that move reverse can go back. Run the command again to complete it.")
    private boolean keep;

    @Option(
            names = "--cancel",
            description =
                    "Give up a split whose move has not started; after that, use move cancel. A standby that was promoted, or may have been, is useless then.")
    private boolean cancel;

    @Mixin
    private DryRunMixin dryRun;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private ReasonMixin reason;

    @Mixin
    private MoveMixin moves;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() {
        ShardMap map = moves.map();
        map.server(name);
        Optional<Split> open = Splitter.splits(moves.url()).stream()
                .filter(split -> split.source().equals(name))
                .findFirst();
        if (cancel) {
            return cancel(open.orElseThrow(() -> new CliException(
                    Kind.PRECONDITION, "%s is not being split".formatted(name), "there is nothing to cancel")));
        }
        SplitRequest request = request(open, map);
        if (open.isEmpty()) {
            ServerChange.requireNew(request.target(), map);
        }
        if (dryRun.isOn()) {
            return dryRun(request, open);
        }
        confirm.require(
                "promote the standby %s, for %s of %s"
                        .formatted(
                                request.standby().hosts(),
                                Amounts.shards(request.shards().size()),
                                name),
                "see all checks with --dry-run");
        return run(request);
    }

    /** The request, with missing options taken from an unfinished split. */
    private SplitRequest request(Optional<Split> open, ShardMap map) {
        String url = given(standby, "--standby", open.map(Split::targetUrl));
        Server server =
                ServerAccess.server(given(target, "--as", open.map(Split::target)), url, Optional.empty(), Map.of());
        ShardSet its = shards == null && open.isPresent()
                ? open.get().shards()
                : ShardsOption.parse(given(shards, "--shards", Optional.empty()), map);
        return new SplitRequest(name, server, moves.parse(url), its, reason.reason());
    }

    private static String given(@Nullable String value, String option, Optional<String> otherwise) {
        if (value != null) {
            return value;
        }
        return otherwise.orElseThrow(() -> new CliException(
                Kind.USAGE,
                "which standby for which shards? %s is missing".formatted(option),
                "give --standby, --as and --shards"));
    }

    /**
     * The settings of the move, which compares at the end: the copies are a standby's, and comparing each at its cutover would only delay the
     * others.
     */
    private MoveSettings settings() {
        return moves.settings(usual -> usual.pause(pause).verify(false));
    }

    private Splitter splitter() {
        return new Splitter(
                moves.url(),
                server -> new MoveServer(
                        server, moves.parse(moves.map().server(server).url())),
                settings(),
                new Steps(spec.commandLine().getErr()));
    }

    private Integer dryRun(SplitRequest request, Optional<Split> open) {
        if (open.isPresent()) {
            spec.commandLine()
                    .getErr()
                    .printf(
                            "would resume the split of %s, which is %s%n",
                            name, open.get().phase());
            return ExitCodes.OK;
        }
        List<PreflightCheck> checks = splitter().check(request);
        dryRun.say();
        output.print(ChecksView.facts(checks), () -> ChecksView.text(checks));
        return checks.stream().noneMatch(check -> check.outcome() == Outcome.FAILED)
                ? ExitCodes.OK
                : ExitCodes.PRECONDITION;
    }

    private Integer run(SplitRequest request) {
        long start = System.nanoTime();
        Splitter splitter = splitter();
        moves.onInterruption(() -> "the split of %s is not finished%nto go back, while the standby is not promoted: %s"
                .formatted(name, CliCommand.SERVER_SPLIT_CANCEL.with(name)));
        long id = splitter.promote(request);
        MoveProgress progress = moves.progress();
        Mover mover = moves.mover(settings(), progress);
        Optional<Move> move =
                mover.moves().stream().filter(some -> some.id() == id).findFirst();
        if (move.isPresent()) {
            moves.begun(move.get());
            try {
                mover.carryOut(move.get(), keep);
            } catch (MoveException e) {
                throw e.kind() == Kind.VERIFICATION ? e : CutoverView.partly(e, progress);
            }
        }
        boolean isKept = keep && move.isPresent();
        int removed = isKept ? 0 : splitter.finish(id);
        print(request, id, progress, removed, isKept, Duration.ofNanos(System.nanoTime() - start));
        return ExitCodes.OK;
    }

    private void print(
            SplitRequest request, long id, MoveProgress progress, int removed, boolean isKept, Duration took) {
        String server = request.target().name();
        ShardMap map = moves.map();
        ShardSet its = map.servers().stream()
                .filter(some -> some.name().equals(server))
                .findFirst()
                .map(map::shards)
                .orElse(ShardSet.of());
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("split", name);
        facts.put("server", server);
        facts.put("move", id);
        facts.put("shards", its.toString());
        facts.put("copiesRemoved", removed);
        facts.put("completed", !isKept);
        facts.put("seconds", took.toSeconds());
        if (!progress.pauses().isEmpty()) {
            facts.put("pauseMillis", CutoverView.pauses(progress.pauses()));
        }
        output.print(
                facts,
                () -> "split %s in %s: %s has %s%s%s"
                        .formatted(
                                name,
                                Amounts.duration(took),
                                server,
                                Amounts.shards(its.size()),
                                CutoverView.pauses(progress),
                                isKept
                                        ? "; next: to go back, %s; to complete it, %s"
                                                .formatted(
                                                        CliCommand.MOVE_REVERSE.with(id),
                                                        CliCommand.SERVER_SPLIT.with(name))
                                        : ""));
    }

    private Integer cancel(Split split) {
        String what = "give up the split of %s, which is %s".formatted(name, split.phase());
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("split", name);
        if (dryRun.shows(output, what, facts)) {
            return ExitCodes.OK;
        }
        confirm.require(
                what,
                split.phase() == SplitPhase.PREPARING
                        ? "the standby continues to follow"
                        : "its standby will be useless afterwards");
        Splitter.Cancelled left = splitter().cancel(split.move(), moves.parse(split.targetUrl()));
        boolean asBefore = left == Splitter.Cancelled.STANDBY_AS_BEFORE;
        facts.put("standbyAsBefore", asBefore);
        output.print(
                facts,
                () -> "gave up the split of %s; %s"
                        .formatted(
                                name,
                                asBefore
                                        ? "its standby follows as before"
                                        : "its standby was promoted, was told to be, or does not answer: stop it for good, and make sure that it is not used"));
        return ExitCodes.OK;
    }

    /** A listener that reports on stderr. */
    private record Steps(PrintWriter err) implements SplitListener {

        @Override
        public void waits(String what) {
            err.printf("waiting: %s%n", what);
        }

        @Override
        public void warned(PreflightCheck check) {
            ChecksView.warn(err, check);
        }

        @Override
        public void reached(SplitStep step) {
            switch (step) {
                case REPLAYED -> err.println("the standby has everything; cutting it off from its primary");
                case PROMOTED -> err.println("promoted; closing it to writes");
                case MOVE_RECORDED -> err.println("it is a server, and every shard on it is closed; catching up");
                default -> {
                    // Not worth a line.
                }
            }
        }
    }
}
