/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.sql.SQLException;
import java.util.concurrent.Callable;
import org.shardflake.cli.ExitCodes;
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
            "Each finding says what to do. It changes nothing unless told to."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:no problems, though there may be warnings",
            "1:the catalog failed",
            "2:the command line is wrong",
            "4:there is no catalog",
            "5:there are problems"
        },
        footer = {"", "Example: shardflake doctor --fix"})
public final class DoctorCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--fix",
            description = "Mend what can be mended without a risk to rows: no row is changed, and no table removed.")
    private boolean fix;

    @Mixin
    private DoctorMixin doctor;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws SQLException, InterruptedException {
        DoctorView view = new DoctorView(doctor.doctor().examine());
        if (fix) {
            view.fix(spec.commandLine().getErr());
        }
        output.print(
                spec.commandLine().getOut(),
                view.facts(),
                () -> view.facts().isEmpty() ? doctor.extent() + ": nothing found" : view.text());
        return view.hasProblems() ? ExitCodes.VERIFICATION : ExitCodes.OK;
    }
}
