/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.lookup;

import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicLong;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.lookup.BackfillReport;
import org.shardflake.lookup.BackfillSettings;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code shardflake lookup backfill}: adds the values of older rows to a lookup. */
@Command(
        name = "backfill",
        description = {
            "Claims the values of existing rows, while the application writes. Afterwards all rows can be found. First deploy the application that claims the values of the rows it writes.",
            "If interrupted, run the same command again: it continues where it stopped. After it has finished, it starts over."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:every row can be found",
            "1:a server or the catalog cannot be reached, or failed; run the command again",
            "2:the command line is wrong, there is no such lookup, or no column has its values",
            "4:there is no catalog, or another command works on the lookup",
            "5:values were refused, for example because two rows share one; a lookup that was not ready before stays so"
        },
        footer = {"", "Example: shardflake lookup backfill account.email --rate 500"})
final class LookupBackfillCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Parameters(index = "0", paramLabel = "NAME", description = "The lookup.")
    private String name;

    @Option(
            names = "--parallel",
            paramLabel = "N",
            defaultValue = "4",
            description = "How many shards to read at a time (default: ${DEFAULT-VALUE}).")
    private int parallel;

    @Option(
            names = "--rate",
            paramLabel = "ROWS",
            defaultValue = "0",
            description = "Maximum rows per second (default: no limit).")
    private int rate;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        catalog.onInterruption(() -> "the values claimed so far stay claimed");
        AtomicLong rows = new AtomicLong();
        BackfillReport report = catalog.lookups().backfill(name, settings(), done -> tell(rows.addAndGet(done), done));
        output.print(LookupView.facts(name, report), () -> LookupView.text(name, report));
        return report.isComplete() ? ExitCodes.OK : ExitCodes.VERIFICATION;
    }

    private BackfillSettings settings() {
        try {
            return new BackfillSettings(parallel, rate);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), e.getMessage(), e);
        }
    }

    /** Prints a line for every 100,000 rows, since the total is unknown. */
    private void tell(long rows, int done) {
        if (rows / 100_000 > (rows - done) / 100_000) {
            spec.commandLine().getErr().printf("%,d rows%n", rows);
        }
    }
}
