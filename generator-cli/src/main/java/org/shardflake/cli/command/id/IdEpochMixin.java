/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.id;

import java.time.Instant;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.shardflake.IdLayout;
import org.shardflake.cli.command.option.CatalogOrigin;
import org.shardflake.cli.command.option.EpochMixin;
import org.shardflake.cli.command.option.Invocation;
import org.shardflake.cli.command.option.TimeConverter;
import org.shardflake.cli.config.Setting;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The epoch of existing ids: the given one, or else the installation's. */
final class IdEpochMixin {

    @Spec(Spec.Target.MIXEE)
    private CommandSpec command;

    @Option(
            names = "--epoch",
            paramLabel = "TIME",
            converter = TimeConverter.class,
            description =
                    "The moment from which the time in ids counts, as UTC milliseconds or ISO-8601 (default: epoch in shardflake.yaml, or that of the"
                            + " catalog, or without one 2025-01-01T00:00:00Z).")
    private @Nullable Instant epoch;

    @Option(names = "--catalog", paramLabel = "URL", description = "The catalog that knows the epoch.")
    private @Nullable String catalog;

    /** The epoch given on the command line, if any. */
    Optional<Instant> given() {
        boolean isGiven = command.commandLine().getParseResult().hasMatchedOption("--epoch");
        return isGiven ? Optional.ofNullable(epoch) : Optional.empty();
    }

    IdLayout layout() {
        return epoch != null ? EpochMixin.layout(epoch) : ofInstallation();
    }

    /** The layout of the installation; loads classes that connect to servers only if there is a catalog. */
    private IdLayout ofInstallation() {
        Invocation invocation = Invocation.of(command);
        if (catalog != null && !catalog.isBlank()) {
            return CatalogEpoch.read(command, new Setting("catalog", catalog, "command line"));
        }
        return CatalogOrigin.find(invocation)
                .map(setting -> CatalogEpoch.read(command, setting))
                .orElse(IdLayout.DEFAULT);
    }
}
