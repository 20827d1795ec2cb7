/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.watch;

import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.DurationConverter;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Keys;
import org.shardflake.cli.output.OutputFormat;
import org.shardflake.cli.output.Progress;
import org.shardflake.cli.output.Redraw;
import org.shardflake.load.LoadSample;
import org.shardflake.load.LoadSampler;
import org.shardflake.load.ShardSizes;
import org.shardflake.server.ServerUrl;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake top}: shows the busiest shards, as measured repeatedly. */
@Command(
        name = "top",
        description = {
            "Shows the busiest shards: on a terminal until q or Ctrl-C, otherwise once.",
            "Rates are rows per second by PostgreSQL's own statistics; most inserted rows draw an id. A session"
                    + " reports what it did once a second, or up to 10 seconds after it became idle, so a short measurement is a rough one."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:no server could be sampled, or the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "3:some servers could not be sampled; the others are shown",
            "4:there is no catalog"
        },
        footer = {"", "Example: shardflake top --by read --limit 5"})
public final class TopCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--by",
            paramLabel = "WHAT",
            defaultValue = "written",
            converter = TopBy.Names.class,
            completionCandidates = TopBy.Names.class,
            description = "The load to sort by: written, inserted, read or bytes (default: ${DEFAULT-VALUE}).")
    private TopBy by;

    @Option(
            names = "--limit",
            paramLabel = "N",
            defaultValue = "15",
            description = "Show at most this many shards (default: ${DEFAULT-VALUE}).")
    private int limit;

    @Option(
            names = "--every",
            paramLabel = "TIME",
            defaultValue = "2s",
            converter = DurationConverter.class,
            description = "How long to measure each time (default: ${DEFAULT-VALUE}).")
    private Duration every;

    @Option(
            names = "--samples",
            paramLabel = "N",
            description = "Number of samples to show (default: 1, or on a terminal until q or Ctrl-C).")
    private @Nullable Integer samples;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        atLeastOne("limit", limit);
        atLeastOne("every (in milliseconds)", every.toMillis());
        if (samples != null) {
            atLeastOne("samples", samples);
        }
        boolean live = output.format() == OutputFormat.TABLE && Progress.isTerminal();
        return watch(samples == null ? live ? Integer.MAX_VALUE : 1 : samples, live);
    }

    private static void atLeastOne(String what, long value) {
        if (value < 1) {
            throw CliException.usage("%s is %s, allowed: 1 or more".formatted(what, value));
        }
    }

    private int watch(int times, boolean live) throws InterruptedException {
        catalog.onlyReads();
        ShardMap map = catalog.catalog().load();
        LoadSampler sampler = new LoadSampler(this::url);
        LoadSample before = sampler.sample(map);
        if (!live) {
            require(before);
        }
        Redraw redraw = new Redraw(spec.commandLine().getOut());
        boolean isWhole = before.problems().isEmpty();
        try (Keys keys = Keys.open()) {
            for (int shown = 0; shown < times && !keys.quits(every.toMillis()); shown++) {
                map = reload(map);
                LoadSample now = sampler.sample(map);
                show(new TopView(map, before, now, by, limit), redraw, live);
                before = now;
                isWhole &= now.problems().isEmpty();
            }
        }
        return isWhole ? ExitCodes.OK : ExitCodes.PARTLY_DONE;
    }

    private ServerUrl url(Server server) {
        return catalog.urlOf(server);
    }

    private static void require(LoadSample sample) {
        if (sample.shards().isEmpty()) {
            throw new CliException(
                    Kind.FAILURE,
                    "no server can be sampled: " + sample.problems(),
                    Advice.of("%s looks for the cause", CliCommand.DOCTOR));
        }
    }

    /** Reloads the map; while the catalog is down, the last map counts. */
    private ShardMap reload(ShardMap last) {
        try {
            return catalog.catalog().load();
        } catch (ShardflakeException e) {
            return last;
        }
    }

    private void show(TopView view, Redraw redraw, boolean live) throws InterruptedException {
        view.measure(ShardSizes.of(view.wanted(), view.map(), this::url));
        if (!live) {
            view.problems().lines().forEach(catalog::warn);
        }
        output.printAgain(redraw, view.facts(), () -> live ? view.text() + view.problems() : view.text());
    }
}
