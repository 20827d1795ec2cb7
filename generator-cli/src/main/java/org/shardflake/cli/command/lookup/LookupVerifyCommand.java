/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.lookup;

import java.io.PrintWriter;
import java.util.concurrent.Callable;
import org.shardflake.CliCommand;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.lookup.LookupCheck;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code shardflake lookup verify}: compares a lookup with its rows. */
@Command(
        name = "verify",
        description = {
            "Compares a lookup with the rows of all shards, both ways, while the application writes. Changes nothing. The first 1,000 differences are named."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:they agree",
            "1:a server or the catalog cannot be reached, or failed",
            "2:the command line is wrong, or there is no such lookup",
            "4:there is no catalog, or another command works on the lookup",
            "5:they differ"
        },
        footer = {"", "Example: shardflake lookup verify account.email"})
final class LookupVerifyCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Parameters(index = "0", paramLabel = "NAME", description = "The lookup.")
    private String name;

    @Option(
            names = "--parallel",
            paramLabel = "N",
            defaultValue = "4",
            description = "How many shards to compare at a time (default: ${DEFAULT-VALUE}).")
    private int parallel;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        if (parallel < 1) {
            throw new ParameterException(
                    spec.commandLine(), "--parallel is %s, allowed: 1 or more".formatted(parallel));
        }
        LookupCheck check = catalog.lookups().verify(name, parallel);
        output.print(LookupView.facts(name, check), () -> LookupView.text(name, check));
        if (check.differing() == 0) {
            return ExitCodes.OK;
        }
        PrintWriter err = spec.commandLine().getErr();
        check.failure().ifPresent(failure -> err.printf("error: some shards were not compared: %s%n", failure));
        err.printf(
                "hint: %s claims values that rows have and the lookup lacks; the application can release values that no row has."
                        + " Or drop the lookup, create it and backfill it: find is refused until then%n",
                CliCommand.LOOKUP_BACKFILL.with(name));
        return ExitCodes.VERIFICATION;
    }
}
