/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.adopt.CutoverReport;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.cli.output.Amounts;
import org.shardflake.jdbc.Plural;
import picocli.CommandLine.Command;

/** {@code shardflake adopt rehearse}: does all that makes writers wait in a cutover, but keeps every shard in the old database. */
@Command(
        name = "rehearse",
        description = {
            "Does what adopt cutover makes writers wait for, and lets no shard leave.",
            "First it brings over what has changed, and compares all rows. Then, for each shard: writers of its rows wait,"
                    + " the last changes are brought over, compared and checked, and writers continue in the old database."
                    + " So it shows how long a cutover would make them wait, and whether the shard could leave. Those that have left are left out. A rehearsal that is"
                    + " killed leaves nothing to clean up.",
            "It creates nothing: adopt run has copied the rows before, and adopt cutover --percent 0 has created the triggers."
        },
        exitCodeList = {
            "0:these shards could leave",
            "1:a server or the catalog cannot be reached, or failed, or a shard's writers did not end; run the command again",
            "2:the command line or the plan is wrong, or it was not confirmed",
            "4:rows are still to be copied or cannot live in the shards as they are, triggers are still to be created, or another command is adopting a table just now",
            "5:a shard's rows differ from those of the tables, or break a foreign key; shards after it were not looked at"
        },
        footer = {
            "",
            "Example: shardflake adopt rehearse --plan adoption.yaml --from postgresql://app@old/app --percent 1"
        })
final class AdoptRehearseCommand extends AbstractSliceCommand {

    AdoptRehearseCommand() {
        super(new Names("rehearsed", "remaining", "be rehearsed", "could leave the old database"));
    }

    @Override
    String interrupted() {
        return "no shard has left, and writers no longer wait";
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
        CutoverReport report = adopter.rehearse(shards);
        return new Outcome(report.now(), report.remaining());
    }

    @Override
    String rest(ShardSet shards) {
        return Amounts.shards(shards.size()) + Plural.choose(shards, " is", " are") + " still there";
    }
}
