/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.doctor;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.ShardMapFile;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.error.FileFailure;
import org.shardflake.cli.output.Amounts;
import org.shardflake.doctor.Doctor;
import org.shardflake.doctor.Finding;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake doctor}. */
@Command(
        name = "doctor",
        description = {
            "Examines every server: whether it has the shards that the shard map gives it and takes writes to no others, what"
                    + " is left of moves, clocks, sequences of ids, the function library, and settings that a move needs.",
            "Each finding says what to do. Changes nothing unless told to.",
            "--propose-map writes the shard map that fits the servers, for a restored catalog that is older than they are."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:no problems, though there may be warnings",
            "1:the catalog failed, or the file cannot be written",
            "2:the command line is wrong",
            "4:there is no catalog, or only a person can decide which map fits",
            "5:there are problems"
        },
        footer = {"", "Example: shardflake doctor --fix"})
public final class DoctorCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--fix",
            description = "Fix what can be fixed without risk to rows: no row is changed and no table removed.")
    private boolean fix;

    @Option(
            names = "--propose-map",
            paramLabel = "FILE",
            description = "Only write the shard map that fits the servers, for shardflake map import; if it is"
                    + " uncertain which server has a shard's newest rows, show what each server has and write"
                    + " nothing.")
    private @Nullable Path proposal;

    @Option(
            names = "--rows",
            description = "Also look for rows of other shards: reads all tables that have no check against them.")
    private boolean rows;

    @Mixin
    private DoctorMixin doctor;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        if (proposal != null) {
            if (fix) {
                throw CliException.usage("--fix and --propose-map are given; first settle the map");
            }
            propose(doctor.doctor().propose(), proposal);
            return ExitCodes.OK;
        }
        if (!fix) {
            doctor.onlyReads();
        }
        List<Finding> findings = new ArrayList<>(doctor.doctor().examine());
        if (rows) {
            findings.addAll(doctor.doctor().examineRows());
        }
        DoctorView view = new DoctorView(findings);
        if (fix) {
            view.fix(spec.commandLine().getErr());
        }
        output.print(view.facts(), () -> view.facts().isEmpty() ? doctor.extent() + ": nothing found" : view.text());
        return view.hasProblems() ? ExitCodes.VERIFICATION : ExitCodes.OK;
    }

    private void propose(Doctor.Proposal proposed, Path file) {
        if (!proposed.doubts().isEmpty()) {
            proposed.doubts().forEach(spec.commandLine().getErr()::println);
            throw new CliException(
                    Kind.PRECONDITION,
                    "a person must decide which server has the newest rows of %s; nothing was written"
                            .formatted(Amounts.shards(proposed.doubts().size())),
                    "restore or place them by hand, then ask again");
        }
        if (!proposed.reasons().isEmpty()) {
            try {
                ShardMapFile.write(proposed.map(), file);
            } catch (IOException e) {
                throw FileFailure.explain("write", file.toString(), e);
            }
        }
        output.print(
                ProposalView.facts(proposed),
                () -> proposed.reasons().isEmpty()
                        ? "the shard map fits the servers; nothing was written"
                        : "%swrote %s; check it, then run %s"
                                .formatted(ProposalView.table(proposed), file, CliCommand.MAP_IMPORT_YES.with(file)));
    }
}
