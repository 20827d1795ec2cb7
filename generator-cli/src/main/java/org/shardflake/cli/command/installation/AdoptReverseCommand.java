/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.ReturnReport;
import org.shardflake.cli.output.Amounts;
import org.shardflake.jdbc.Plural;
import picocli.CommandLine.Command;

/** {@code shardflake adopt reverse}: brings shards back to the old database. */
@Command(
        name = "reverse",
        description = {
            "Brings shards that have left back to the old database, one by one, with all that was written to them since.",
            "For each shard: its server refuses writes, all of its rows are read, and one transaction of the old database"
                    + " writes those that differ, compares them, and takes the shard in. Then the old tables accept writes to"
                    + " these rows again, and the server refuses them until adopt cutover lets the shard leave again."
                    + " Reference tables and lookups are left as they are.",
            "adopt rehearse --reverse says, without any of that, whether the old tables can hold what was written."
        },
        exitCodeList = {
            "0:done as requested",
            "1:a server or the catalog cannot be reached, or failed, or a shard's writers did not end; none has come back; run the command again",
            "2:the command line or the plan is wrong, or it was not confirmed",
            "3:some shards have come back; run the command again for the rest",
            "4:the old tables cannot hold a row of a shard; it accepts writes as before, and so do those after it"
        },
        footer = {
            "",
            "Example: shardflake adopt reverse --plan adoption.yaml --from postgresql://app@old/app --shards 0-81"
        })
final class AdoptReverseCommand extends AbstractSliceCommand {

    @Override
    Names names() {
        return new Names("back", "over", "come back", "came back");
    }

    @Override
    String interrupted() {
        return "a shard may refuse writes: run the same command again, or adopt cutover, which lets it accept writes";
    }

    @Override
    String question(ShardSet shards) {
        return "bring %s back to the old database: %s".formatted(Amounts.shards(shards.size()), shards);
    }

    @Override
    Advice alternative() {
        return Advice.of("%s lets them leave again", CliCommand.ADOPT_CUTOVER);
    }

    @Override
    Outcome run(DatabaseAdopter adopter, ShardSet shards) {
        ReturnReport report = adopter.reverse(shards);
        return new Outcome(report.now(), report.over());
    }

    @Override
    String rest(ShardSet shards) {
        return shards.isEmpty()
                ? "all shards are in the old database"
                : Amounts.shards(shards.size()) + Plural.choose(shards, " has", " have") + " left the old database";
    }
}
