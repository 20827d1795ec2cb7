/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.restorepoint;

import java.util.List;
import java.util.concurrent.Callable;
import org.shardflake.cli.command.doctor.DoctorView;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.doctor.Finding;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code shardflake restore-point check}. */
@Command(
        name = "check",
        description = {
            "Compares servers and a catalog that were restored to a restore point with it: whether each is out of recovery and"
                    + " was restored to the point, and whether the shard map is what it was. If so, also whether each"
                    + " server has the shards that the map gives it, and what is left of moves, as shardflake doctor does.",
            "Run it after the restore and before anything writes. Changes nothing."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:nothing differs, though there may be warnings of what cannot be seen",
            "1:the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "4:the catalog has no such point, or not every server had it",
            "5:something differs"
        },
        footer = {"", "Example: shardflake restore-point check before-release-7"})
final class RestorePointCheckCommand implements Callable<Integer> {

    @Parameters(index = "0", paramLabel = "NAME", description = "The restore point.")
    private String name;

    @Mixin
    private RestorePointMixin points;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        points.onlyReads();
        List<Finding> findings = points.points().check(name);
        DoctorView view = new DoctorView(findings);
        output.print(
                view.facts(),
                () -> findings.isEmpty()
                        ? "every server and the catalog are at restore point %s: nothing differs".formatted(name)
                        : view.text());
        return view.hasProblems() ? ExitCodes.VERIFICATION : ExitCodes.OK;
    }
}
