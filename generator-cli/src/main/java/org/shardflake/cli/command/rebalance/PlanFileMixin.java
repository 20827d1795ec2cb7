/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.rebalance;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import org.jspecify.annotations.Nullable;
import org.shardflake.CliCommand;
import org.shardflake.ShardMap;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.FileFailure;
import org.shardflake.rebalance.RebalancePlan;
import org.shardflake.rebalance.RebalancePlanFile;
import picocli.CommandLine.Option;

/** The plan options, for commands that can write the plan to a file. */
public final class PlanFileMixin extends PlanMixin {

    @Option(
            names = {"-f", "--file"},
            paramLabel = "FILE",
            description = "Write the plan to this file atomically, replacing an existing one.")
    private @Nullable Path file;

    public boolean hasFile() {
        return file != null;
    }

    @Override
    public RebalancePlan plan(ShardMap map, CatalogMixin catalog, Collection<String> drained)
            throws InterruptedException {
        if (file != null && Files.isDirectory(file)) {
            throw CliException.usage("%s is a directory; --file names a file".formatted(file));
        }
        return super.plan(map, catalog, drained);
    }

    /** Writes the plan, if a file was given. */
    public void write(RebalancePlan plan) {
        if (file == null) {
            return;
        }
        try {
            RebalancePlanFile.write(plan, file);
        } catch (IOException e) {
            throw FileFailure.explain("write", file.toString(), e);
        }
    }

    /** The destination of the plan, for display. */
    public String written() {
        return file == null
                ? ""
                : "\nwrote the plan to %s; to carry it out: %s".formatted(file, CliCommand.REBALANCE_APPLY.with(file));
    }
}
