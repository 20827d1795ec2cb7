/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import picocli.CommandLine.Option;

/** The option with the reason for a change of the shard map, which its history records. */
public final class ReasonMixin {

    @Option(
            names = "--reason",
            paramLabel = "TEXT",
            defaultValue = "",
            description = "The reason to record in the map's history.")
    private String reason;

    public String reason() {
        return reason;
    }
}
