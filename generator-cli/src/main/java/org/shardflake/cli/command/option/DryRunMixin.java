/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.util.LinkedHashMap;
import java.util.Map;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The option {@code --dry-run}, for all commands whose help does not describe it in more detail. */
public final class DryRunMixin {

    @Spec(Spec.Target.MIXEE)
    private CommandSpec command;

    @Option(names = "--dry-run", description = "Check everything and show what would be done, but change nothing.")
    private boolean dryRun;

    public boolean isOn() {
        return dryRun;
    }

    public void say() {
        command.commandLine().getErr().println("dry run: nothing was changed");
    }

    /**
     * Shows the planned change, if this is a dry run.
     *
     * @param would the planned change: "add server db3"
     * @return whether this is a dry run
     */
    public boolean shows(OutputMixin output, String would, Map<String, ?> facts) {
        if (dryRun) {
            say();
            Map<String, Object> marked = new LinkedHashMap<>(facts);
            marked.put("dryRun", true);
            output.print(marked, () -> "would " + would);
        }
        return dryRun;
    }
}
