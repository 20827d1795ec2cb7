/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.util.List;
import org.shardflake.cli.command.option.Subcommands;
import picocli.CommandLine.Command;

/** {@code shardflake adopt}: brings the tables of an ordinary database into the shards. */
@Command(
        name = "adopt",
        description = {
            "Brings the tables of an ordinary database into the shards, while they are in use.",
            "assess, plan, run, verify, rehearse and cutover are the steps of a whole database, and reverse the way back."
                    + " A table that stands alone needs no plan: adopt run --table."
        },
        footer = {"", "Example: shardflake adopt assess --from postgresql://app@old/app"})
public final class AdoptCommand implements Subcommands {

    @Override
    public List<String> names() {
        return List.of("assess", "plan", "run", "rehearse", "cutover", "reverse", "status", "verify");
    }

    @Override
    public Object create(String name) {
        return switch (name) {
            case "assess" -> new AdoptAssessCommand();
            case "plan" -> new AdoptPlanCommand();
            case "run" -> new AdoptRunCommand();
            case "rehearse" -> new AdoptRehearseCommand();
            case "cutover" -> new AdoptCutoverCommand();
            case "reverse" -> new AdoptReverseCommand();
            case "status" -> new AdoptStatusCommand();
            case "verify" -> new AdoptVerifyCommand();
            default -> throw new IllegalArgumentException("no command adopt " + name);
        };
    }
}
