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
import org.shardflake.adoption.AdoptionPlan;
import org.shardflake.cli.output.Amounts;
import org.shardflake.jdbc.Plural;
import picocli.CommandLine.Command;

/** {@code shardflake adopt cutover}: moves shards out of the old database, one by one. */
@Command(
        name = "cutover",
        description = {
            "Moves shards out of the old database one by one, while it is in use.",
            "First it does what adopt run does. Then, for each shard: writers of its rows wait, the last changes are"
                    + " brought over and compared, and from then on the old tables refuse writes to these rows. Rows of"
                    + " other shards are written as before. Transactions of the application that begin with SELECT"
                    + " shardflake_adopt.enter(SHARD) learn there which side to work on. When all shards have left, the"
                    + " adoption is finished. With --percent 0, only the triggers are created.",
            "adopt reverse brings a shard back with all that was written to it, also after the last has left."
        },
        exitCodeList = {
            "0:done as requested",
            "1:a server or the catalog cannot be reached, or failed, or a shard's writers did not end; none has left; run the command again",
            "2:the command line or the plan is wrong, or it was not confirmed",
            "3:some shards have left; run the command again for the rest",
            "4:the rows of a table cannot live in the shards as they are, or all shards have left; with rows that belong to no shard, the adoption is not finished",
            "5:a shard's rows differ from those of the tables; it has not left, and nor have those after it"
        },
        footer = {
            "",
            "Example: shardflake adopt cutover --plan adoption.yaml --from postgresql://app@old/app --percent 1"
        })
final class AdoptCutoverCommand extends AbstractSliceCommand {

    @Override
    Names names() {
        return new Names("left", "remaining", "leave", "left the old database");
    }

    @Override
    String interrupted() {
        return "shards that have left stay in the new servers; run the same command for the rest";
    }

    @Override
    String question(ShardSet shards) {
        return shards.isEmpty()
                ? "refuse changes of keys in the old tables"
                : "let %s leave the old database: %s".formatted(Amounts.shards(shards.size()), shards);
    }

    @Override
    Advice alternative() {
        return Advice.of("%s brings their rows over without that", CliCommand.ADOPT_RUN);
    }

    @Override
    Outcome run(DatabaseAdopter adopter, ShardSet shards) {
        CutoverReport report = adopter.cutOver(shards);
        return new Outcome(report.now(), report.remaining());
    }

    @Override
    String rest(ShardSet shards) {
        return shards.isEmpty()
                ? "all shards have left: the old tables refuse all writes"
                : Amounts.shards(shards.size()) + Plural.choose(shards, " is", " are") + " still there";
    }

    @Override
    String steps(ShardSet rest, AdoptionPlan plan) {
        return rest.isEmpty() ? AdoptSteps.afterAllHaveLeft(plan) : "";
    }
}
