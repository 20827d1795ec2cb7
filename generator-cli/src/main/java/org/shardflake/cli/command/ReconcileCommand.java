/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.Callable;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.doctor.Doctor;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake reconcile}. */
@Command(
        name = "reconcile",
        description = {
            "Brings the servers to what the shard map says: run it after a server failed over or was restored, and now and then.",
            "Closes shards on servers that the map does not name, opens those that nobody else can have, settles moves that"
                    + " were interrupted at a cutover, and removes what is left of moves that are over. It changes no row and"
                    + " removes no table.",
            "While the catalog may be older than the servers, as after a restore, it refuses: shardflake doctor says what to do."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:the servers are as the map says",
            "1:the catalog failed",
            "2:the command line is wrong",
            "4:there is no catalog, or it may be older than the servers; nothing was changed",
            "5:something is left that takes a person; with --dry-run, something would be changed"
        },
        footer = {"", "Example: shardflake reconcile --dry-run"})
public final class ReconcileCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Mixin
    private DryRunMixin dryRun;

    @Option(
            names = "--forget",
            paramLabel = "MOVE",
            split = ",",
            description = "A move that the catalog never had, such as m3_a1b2c3, and that no other catalog has: remove"
                    + " what is left of it. Its shards stay as they are.")
    private Set<String> forgotten = new LinkedHashSet<>();

    @Mixin
    private DoctorMixin doctor;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        Doctor examination = doctor.doctor(forgotten);
        DoctorView view = new DoctorView(examination.examineOwnership());
        boolean mayChange = !examination.isMapInDoubt();
        if (!dryRun.isOn() && mayChange) {
            view.fix(spec.commandLine().getErr());
        }
        output.print(
                spec.commandLine().getOut(),
                view.facts(),
                () -> view.facts().isEmpty() ? doctor.extent() + " are as the shard map says" : view.text());
        if (!mayChange) {
            throw new CliException(
                    Kind.PRECONDITION,
                    "the catalog may be older than the servers, so nothing was changed",
                    "shardflake doctor says what to do, for each finding");
        }
        return view.hasProblems() ? ExitCodes.VERIFICATION : ExitCodes.OK;
    }
}
