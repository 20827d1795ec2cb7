/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import org.shardflake.Advice;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.DatabaseSettings;
import org.shardflake.adopt.SliceReport;
import org.shardflake.adoption.AdoptionPlan;
import org.shardflake.cli.command.move.CutoverView;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Amounts;
import org.shardflake.jdbc.Plural;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** A command by which shards leave the old database, or come back to it, one by one. */
@Command(sortOptions = false, exitCodeListHeading = "%nExit codes:%n")
abstract class AbstractSliceCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Mixin
    private PlannedAdoptionMixin planned;

    @ArgGroup(multiplicity = "1")
    private SliceChoice choice;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    /**
     * The words that describe the command's effect on shards.
     *
     * @param now the name of the shards for which it was, in JSON
     * @param rest the name of the other shards, in JSON
     * @param infinitive as in "no shard had to leave"
     * @param past as in "3 shards left the old database"
     */
    record Names(String now, String rest, String infinitive, String past) {}

    /**
     * The shards that the command has processed, and all others.
     *
     * @param rows the number of rows that it was about; empty if it doesn't say
     * @param refusals why it could not process others
     */
    record Outcome(
            List<SliceReport> now, ShardSet rest, OptionalLong rows, List<? extends ShardflakeException> refusals) {

        Outcome(List<SliceReport> now, ShardSet rest) {
            this(now, rest, OptionalLong.empty(), List.of());
        }
    }

    abstract Names names();

    /** Whether no one would notice the command, so that there is nothing to confirm. */
    boolean isHarmless() {
        return false;
    }

    /** The message when the command is interrupted. */
    abstract String interrupted();

    abstract String question(ShardSet shards);

    abstract Advice alternative();

    abstract Outcome run(DatabaseAdopter adopter, ShardSet shards);

    /** The line about the shards that were not processed. */
    abstract String rest(ShardSet shards);

    /** The steps that follow, each on a line. */
    String steps(ShardSet rest, AdoptionPlan plan) {
        return "";
    }

    @Override
    public Integer call() throws Exception {
        return planned.advising(catalog, this::perform);
    }

    private int perform() {
        ShardSet shards = choice.of(catalog.catalog().load());
        AdoptProgress progress = new AdoptProgress(spec.commandLine().getErr());
        Optional<AdoptionPlan> plan = planned.read();
        if (!isHarmless()) {
            // Before the shard map is read: shards may move until someone answers.
            confirm.require(question(shards), alternative());
        }
        try (DatabaseAdopter adopter = planned.open(plan, catalog, DatabaseSettings.DEFAULT_BATCH_ROWS, 0, progress)) {
            catalog.onInterruption(this::interrupted);
            Outcome outcome = run(adopter, shards, progress);
            output.print(
                    facts(outcome),
                    () -> text(outcome)
                            + plan.map(its -> steps(outcome.rest(), its)).orElse(""));
            return outcome.refusals().isEmpty() ? ExitCodes.OK : ExitCodes.PRECONDITION;
        }
    }

    private Outcome run(DatabaseAdopter adopter, ShardSet shards, AdoptProgress progress) {
        try {
            return run(adopter, shards);
        } catch (ShardflakeException e) {
            throw progress.left() > 0 && e.kind() == Kind.FAILURE ? CutoverView.partly(e) : e;
        }
    }

    private Map<String, Object> facts(Outcome outcome) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put(
                names().now(),
                ShardSet.of(outcome.now().stream().map(SliceReport::shard).toList())
                        .toString());
        facts.put(names().rest(), outcome.rest().toString());
        if (!outcome.now().isEmpty()) {
            facts.put("pauseMillis", CutoverView.pauses(pauses(outcome)));
        }
        outcome.rows().ifPresent(rows -> {
            facts.put("rows", rows);
            facts.put(
                    "refusals",
                    outcome.refusals().stream().map(AbstractSliceCommand::facts).toList());
        });
        return facts;
    }

    private static Map<String, Object> facts(ShardflakeException refusal) {
        return Map.of(
                "message",
                String.valueOf(refusal.getMessage()),
                "hint",
                refusal.hint().orElse(""));
    }

    private String text(Outcome outcome) {
        StringBuilder text = new StringBuilder();
        if (outcome.now().isEmpty() && outcome.refusals().isEmpty()) {
            text.append("no shard had to ").append(names().infinitive());
        } else {
            text.append(Amounts.shards(outcome.now().size())).append(' ').append(names().past());
            outcome.rows().ifPresent(rows -> text.append(" with ").append(Plural.of(rows, "changed row")));
            text.append(CutoverView.pausesText(pauses(outcome)));
        }
        for (ShardflakeException refusal : outcome.refusals()) {
            text.append(
                    "%n%s%n  %s".formatted(refusal.getMessage(), refusal.hint().orElse("")));
        }
        return "%s%n%s".formatted(text, rest(outcome.rest()));
    }

    private static List<Duration> pauses(Outcome outcome) {
        return outcome.now().stream().map(SliceReport::pause).toList();
    }
}
