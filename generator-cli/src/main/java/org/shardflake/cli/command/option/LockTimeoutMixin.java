/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.time.Duration;
import picocli.CommandLine.Option;

/** The option that limits how long a change to tables may make others wait. */
public final class LockTimeoutMixin {

    @Option(
            names = "--lock-timeout",
            paramLabel = "TIME",
            defaultValue = "1s",
            converter = DurationConverter.class,
            description =
                    "How long a statement waits for a lock while others queue behind it (default: ${DEFAULT-VALUE}).")
    private Duration lockTimeout;

    public Duration get() {
        return lockTimeout;
    }
}
