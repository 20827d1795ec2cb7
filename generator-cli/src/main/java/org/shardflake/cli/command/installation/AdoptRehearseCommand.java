/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.util.OptionalLong;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.adopt.CutoverReport;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.ReturnRehearsal;
import org.shardflake.cli.output.Amounts;
import org.shardflake.jdbc.Plural;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code shardflake adopt rehearse}: does all that makes writers wait in a cutover, but keeps every shard in the old database. */
@Command(
        name = "rehearse",
        description = {
            "Does what adopt cutover makes writers wait for, and lets no shard leave.",
            "First it brings over what has changed, and compares all rows. Then, for each shard: writers of its rows wait,"
                    + " the last changes are brought over, compared and checked, and writers continue in the old database."
                    + " So it shows how long a cutover would make them wait, and whether the shard could leave. Those that have left are left out. A rehearsal that is"
                    + " killed leaves nothing to clean up.",
            "It creates nothing: adopt run has copied the rows before, and adopt cutover --percent 0 has created the triggers.",
            "With --reverse, it does what adopt reverse does with shards that have left, and rolls it back: it reads each as it is at"
                    + " one moment, writes what has changed into the old tables, and compares and checks it. Writers of the shard don't"
                    + " wait, so it doesn't ask, and may run each night. It names what the old tables cannot hold, and about how long adopt reverse"
                    + " would make the shard's writers wait."
        },
        exitCodeList = {
            "0:these shards could leave, or come back",
            "1:a server or the catalog cannot be reached, or failed, or a shard's writers did not end; run the command again",
            "2:the command line or the plan is wrong, or it was not confirmed",
            "4:rows are still to be copied or cannot live in the shards as they are, triggers are still to be created, or another command is adopting a table just now; or, with --reverse, the old tables cannot hold a row of a shard",
            "5:a shard's rows differ from those of the tables, or break a foreign key; shards after it were not looked at"
        },
        footer = {
            "",
            "Examples:",
            "  shardflake adopt rehearse --plan adoption.yaml --from postgresql://app@old/app --percent 1",
            "  shardflake adopt rehearse --plan adoption.yaml --from postgresql://app@old/app --percent 100 --reverse"
        })
final class AdoptRehearseCommand extends AbstractSliceCommand {

    @Option(
            names = "--reverse",
            description = "Rehearse adopt reverse, for shards that have left, in place of adopt cutover.")
    private boolean reverse;

    @Override
    Names names() {
        return reverse
                ? new Names("rehearsed", "over", "be rehearsed", "could come back")
                : new Names("rehearsed", "remaining", "be rehearsed", "could leave the old database");
    }

    @Override
    boolean isHarmless() {
        return reverse;
    }

    @Override
    String interrupted() {
        return reverse ? "no shard has come back" : "no shard has left, and writers no longer wait";
    }

    @Override
    String question(ShardSet shards) {
        return "make writers of %s wait, one shard after the other: %s"
                .formatted(Amounts.shards(shards.size()), shards);
    }

    @Override
    Advice alternative() {
        return Advice.of("%s compares their rows without that", CliCommand.ADOPT_VERIFY);
    }

    @Override
    Outcome run(DatabaseAdopter adopter, ShardSet shards) {
        if (reverse) {
            ReturnRehearsal back = adopter.rehearseReverse(shards);
            return new Outcome(back.now(), back.over(), OptionalLong.of(back.rows()), back.refusals());
        }
        CutoverReport report = adopter.rehearse(shards);
        return new Outcome(report.now(), report.remaining());
    }

    @Override
    String rest(ShardSet shards) {
        return Amounts.shards(shards.size())
                + (reverse
                        ? Plural.choose(shards, " has", " have") + " left the old database"
                        : Plural.choose(shards, " is", " are") + " still there");
    }
}
