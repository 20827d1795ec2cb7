/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.shardflake.doctor.Severity.PROBLEM;
import static org.shardflake.doctor.Severity.WARNING;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.IntPredicate;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.adopt.AdoptionStatus;
import org.shardflake.adopt.Slices;
import org.shardflake.jdbc.Plural;

/**
 * Separates the shards that refuse writes because they have come back to an old database from those that nothing explains.
 *
 * <p>A command may close and open shards while doctor looks. A shard is on the old database's record before its server refuses writes, and until that accepts
 * them again. So the record is read twice after the servers have been asked, and servers are asked again in between.
 */
final class ClosedByAdoption {

    private final List<AdoptionStatus> adoptions;
    private final List<Slices> before;
    private final List<Slices> slices;
    private final boolean isWorkedOn;
    /** The reason why an old database does not report the shards that have come back. */
    private final Optional<String> problem;

    /**
     * @param first asked after the servers
     * @param adoptions asked after servers have been asked again whether they still refuse writes
     */
    ClosedByAdoption(List<AdoptionStatus> first, List<AdoptionStatus> adoptions) {
        this.adoptions = adoptions;
        this.before = slices(first);
        this.slices = slices(adoptions);
        this.isWorkedOn = adoptions.stream()
                .flatMap(status -> status.progress().stream())
                .anyMatch(AdoptionStatus.Progress::isWorkedOn);
        this.problem = adoptions.stream()
                .map(AdoptionStatus::problem)
                .filter(why -> !why.isEmpty())
                .findFirst();
    }

    private static List<Slices> slices(List<AdoptionStatus> adoptions) {
        return adoptions.stream()
                .flatMap(status -> status.progress().stream())
                .flatMap(progress -> progress.slices().stream())
                .distinct()
                .toList();
    }

    /** The findings about shards that the old databases have reported. */
    List<Finding> explain(String server, ShardSet shards) {
        List<Finding> findings = new ArrayList<>();
        ShardSet back = with(shards, Slices::back);
        if (!back.isEmpty()) {
            findings.add(Finding.of(
                    WARNING,
                    server,
                    "shard-closed",
                    "refuses writes to %s, which %s come back to the old database of an adoption"
                            .formatted(Plural.shards(back), Plural.choose(back, "has", "have")),
                    Advice.of(
                            "leave %s so: %s writes again after leaving by %s",
                            Plural.choose(back, "it", "them"),
                            Plural.choose(back, "it accepts", "they accept"),
                            AdoptionStatus.command(adoptions, CliCommand.ADOPT_CUTOVER))));
        }
        ShardSet halfWay = with(shards, Slices::closed);
        // A command may have begun with the others since it was asked whether one runs.
        IntPredicate wasClosed =
                shard -> before.stream().anyMatch(its -> its.closed().contains(shard));
        ShardSet left = isWorkedOn ? ShardSet.of() : filter(halfWay, wasClosed);
        ShardSet passing = filter(halfWay, shard -> !left.contains(shard));
        if (!passing.isEmpty()) {
            findings.add(Finding.of(
                    WARNING,
                    server,
                    "shard-closed",
                    "refuses writes to %s, while a command brings shards back to the old database or lets them leave"
                            .formatted(Plural.shards(passing)),
                    "wait until the command has ended"));
        }
        if (!left.isEmpty()) {
            findings.add(Finding.of(
                    PROBLEM,
                    server,
                    "shard-closed",
                    "refuses writes to %s, which a command that has ended was about to bring back to the old database"
                            .formatted(Plural.shards(left)),
                    Advice.of(
                            "run %s again, or %s, which first lets %s accept writes",
                            AdoptionStatus.command(adoptions, CliCommand.ADOPT_REVERSE),
                            AdoptionStatus.command(adoptions, CliCommand.ADOPT_CUTOVER),
                            Plural.choose(left, "it", "them"))));
        }
        return findings;
    }

    /** The shards that no old database has reported at any time; their servers may be about to accept writes again. */
    ShardSet unexplained(ShardSet shards) {
        return filter(shards, shard -> !isOnRecord(before, shard) && !isOnRecord(slices, shard));
    }

    private static boolean isOnRecord(List<Slices> slices, int shard) {
        return slices.stream()
                .anyMatch(its -> its.back().contains(shard) || its.closed().contains(shard));
    }

    /** Whether only a person can decide that a shard may be opened: it may have come back, or be about to. */
    boolean needsPerson() {
        return problem.isPresent() || !slices.isEmpty() || !before.isEmpty();
    }

    /** The remedy for closed shards without an explanation. */
    Advice remedy(ShardSet shards) {
        int first = shards.stream().findFirst().orElseThrow();
        return problem.map(why -> Advice.of(
                        "first find out the state of each adoption, since %s may have come back to an old database: %s",
                        Plural.choose(shards, "it", "they"), why))
                .orElseGet(() -> Advice.of(
                        "the old database has no record of %1$s: while no command of the adoption runs, open %1$s with SELECT shardflake.unfence_shard(%2$s)",
                        Plural.choose(shards, "it", "them"), first));
    }

    private ShardSet with(ShardSet shards, Function<Slices, ShardSet> which) {
        return filter(
                shards,
                shard -> slices.stream().anyMatch(its -> which.apply(its).contains(shard)));
    }

    private static ShardSet filter(ShardSet shards, IntPredicate which) {
        return ShardSet.of(shards.stream().filter(which).toArray());
    }
}
