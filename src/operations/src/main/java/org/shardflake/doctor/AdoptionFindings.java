/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.shardflake.doctor.Severity.PROBLEM;
import static org.shardflake.doctor.Severity.WARNING;

import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.adopt.AdoptionStatus;
import org.shardflake.jdbc.Plural;
import org.shardflake.move.OpenAdoptions.OpenAdoption;

/** Finds unfinished adoptions, which keep shards from being moved, and those that have been left behind. */
final class AdoptionFindings {

    private AdoptionFindings() {}

    static List<Finding> of(DoctorConnections access) {
        List<Finding> findings = new ArrayList<>();
        for (AdoptionStatus status : access.adoptions()) {
            findings.add(open(status));
            status.progress()
                    .filter(its -> !its.triggers().isEmpty())
                    .ifPresent(its -> findings.add(triggers(status, its.triggers())));
            if (status.isLeftClosed()) {
                findings.add(closed(status));
            } else if (status.isBehind()) {
                status.progress().ifPresent(progress -> findings.add(behind(status, progress)));
            }
        }
        return findings;
    }

    private static Finding open(AdoptionStatus status) {
        OpenAdoption adoption = status.adoption();
        return Finding.of(
                WARNING,
                "catalog",
                "adoption",
                "%s since %s; until it ends, no shard can be moved%s"
                        .formatted(
                                adoption,
                                adoption.begunAt(),
                                status.problem().isEmpty() ? "" : "; its state is not known: " + status.problem()),
                Advice.of(
                        "end it with %s, or give it up with %s%s; if that database is gone for good, DELETE FROM shardflake_catalog.adoption WHERE id = '%s'",
                        status.command(CliCommand.ADOPT_RUN_FINISH),
                        status.command(CliCommand.ADOPT_RUN_CANCEL),
                        orByPlan(status),
                        adoption.id()));
    }

    /** The other way to name the tables, unless a command names a plan already. */
    private static Advice orByPlan(AdoptionStatus status) {
        return status.needsPlan()
                ? Advice.of("")
                : Advice.of("; if it was begun with a plan, with the same options of %s", CliCommand.ADOPT_RUN);
    }

    private static Finding triggers(AdoptionStatus status, List<String> triggers) {
        OpenAdoption adoption = status.adoption();
        return Finding.of(
                PROBLEM,
                "catalog",
                "adoption-triggers",
                "triggers of the adoption of %s of %s are not as it created them: %s"
                        .formatted(adoption.table(), adoption.database(), String.join("; ", triggers)),
                Advice.of("put them back, and copy the rows again, with %s", status.command(CliCommand.ADOPT_RUN)));
    }

    private static Finding closed(AdoptionStatus status) {
        OpenAdoption adoption = status.adoption();
        return Finding.of(
                PROBLEM,
                "catalog",
                "adoption-closed",
                "%s of %s refuses writes: its adoption was about to be finished, and no command works on it"
                        .formatted(adoption.table(), adoption.database()),
                Advice.of(
                        "finish it with %s, or open it to writes with %s%s",
                        status.command(CliCommand.ADOPT_RUN_FINISH),
                        status.command(CliCommand.ADOPT_RUN_REOPEN),
                        orByPlan(status)));
    }

    private static Finding behind(AdoptionStatus status, AdoptionStatus.Progress progress) {
        OpenAdoption adoption = status.adoption();
        return Finding.of(
                WARNING,
                "catalog",
                "adoption-behind",
                "%s of %s has %s that the shards lack%s"
                        .formatted(
                                adoption.table(),
                                adoption.database(),
                                (progress.changes() >= AdoptionStatus.MOST_CHANGES ? "at least " : "")
                                        + Plural.of(progress.changes(), "change"),
                                progress.oldest()
                                        .map(at -> ", the oldest of " + at.truncatedTo(ChronoUnit.SECONDS))
                                        .orElse("")),
                Advice.of("bring them over: %s%s", status.command(CliCommand.ADOPT_RUN), orByPlan(status)));
    }
}
