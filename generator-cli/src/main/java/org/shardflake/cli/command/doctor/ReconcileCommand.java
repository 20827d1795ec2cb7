/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.doctor;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.command.option.DryRunMixin;
import org.shardflake.cli.command.option.OutputMixin;
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
            "Brings the servers in line with the shard map: run it after a failover or restore of a server, and now and then.",
            "Closes shards on servers that the map does not give them to, opens shards that no other server can"
                    + " have, settles moves interrupted at a cutover, and removes what is left of ended moves. Changes no"
                    + " row and removes no table.",
            "Refuses while the catalog may be older than the servers, as after a restore: shardflake doctor says what to do.",
            "--restored first brings the catalog up to date with the servers: places shards where servers recorded receiving them, and sets moves to the phase they have reached since."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:the servers match the map",
            "1:the catalog failed",
            "2:the command line is wrong",
            "4:there is no catalog, or it may be older than the servers; nothing was changed",
            "5:something is left for a person to resolve; with --dry-run, something would be changed"
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
            description =
                    "Remove what is left of a move, such as m3_a1b2c3, that neither this catalog ever had nor any other"
                            + " catalog has. Its shards stay unchanged.")
    private Set<String> forgotten = new LinkedHashSet<>();

    @Option(
            names = "--restored",
            description =
                    "The catalog was restored and is older than the servers: first bring it up to date with them. Changes only what a server proves.")
    private boolean restored;

    @Mixin
    private DoctorMixin doctor;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        if (restored) {
            List<String> changes = doctor.doctor(forgotten).catchUp(dryRun.isOn());
            changes.forEach(spec.commandLine().getErr()::println);
            if (dryRun.isOn() && !changes.isEmpty()) {
                dryRun.say();
                return ExitCodes.VERIFICATION;
            }
        }
        Doctor examination = doctor.doctor(forgotten);
        DoctorView view = new DoctorView(examination.examineOwnership());
        boolean mayChange = !examination.isMapInDoubt();
        if (!dryRun.isOn() && mayChange) {
            view.fix(spec.commandLine().getErr());
        }
        output.print(
                view.facts(),
                () -> view.facts().isEmpty() ? doctor.extent() + " are as the shard map says" : view.text());
        if (!mayChange) {
            throw new CliException(
                    Kind.PRECONDITION,
                    "the catalog may be older than the servers, so nothing was changed",
                    Advice.of("%s says what to do about each finding", CliCommand.DOCTOR));
        }
        return view.hasProblems() ? ExitCodes.VERIFICATION : ExitCodes.OK;
    }
}
