/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.id;

import java.time.Instant;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.cli.command.option.Invocation;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.command.option.TimeConverter;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake id generate}: generates new ids of any scheme. */
@Command(
        name = "generate",
        description = {
            "Makes ids of another scheme, for tests and comparisons.",
            "Ids or worker ids that must come from one place come from --server, where schema shardflake_scheme"
                    + " is created on first use. Without --worker, a worker id is claimed there and returned at the end."
                    + " For ids of your own tables, use id next."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:a server cannot be reached, or failed, or the clock went back",
            "2:the command line is wrong",
            "3:failed after some ids were printed; those are good",
            "4:all worker ids are claimed, or the server lacks the function library"
        },
        footer = {"", "Example: shardflake id generate --scheme snowflake --worker 378 --count 5"})
final class IdGenerateCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--scheme",
            paramLabel = "NAME",
            required = true,
            completionCandidates = SchemeNames.class,
            description = "One of ${COMPLETION-CANDIDATES}.")
    private String scheme;

    @Option(
            names = "--count",
            paramLabel = "N",
            defaultValue = "1",
            description = "How many ids to make (default: ${DEFAULT-VALUE}).")
    private long count;

    @Option(
            names = "--server",
            paramLabel = "URL",
            description = "The server that the scheme needs, as with id next; tickets takes two, odd and even.")
    private @Nullable List<String> servers;

    @Option(
            names = "--worker",
            paramLabel = "N",
            description = "The worker, node or generator; for snowflake, data center * 32 + worker.")
    private @Nullable Long worker;

    @Option(
            names = "--shard",
            paramLabel = "N",
            defaultValue = "0",
            description = "The shard (default: ${DEFAULT-VALUE}).")
    private int shard;

    @Option(
            names = "--epoch",
            paramLabel = "TIME",
            converter = TimeConverter.class,
            description = "The epoch, as UTC milliseconds or ISO-8601 (default: as published).")
    private @Nullable Instant epoch;

    @Option(names = "--time-sequential", description = "For uniqueid: make ids that sort by time.")
    private boolean timeSequential;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() {
        if (count < 1) {
            throw CliException.usage("count is %s, allowed: 1 or more".formatted(count));
        }
        Invocation invocation = Invocation.of(spec);
        IdPrinter printer = new IdPrinter(spec.commandLine().getOut(), output.format());
        SchemeRun run = new SchemeRun(scheme, epoch, servers == null ? List.of() : servers, invocation);
        run.generate(worker, shard, timeSequential, count, printer);
        return ExitCodes.OK;
    }
}
