/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.shardflake.cli.error.CliException;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.RowChecks;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options of every deployment of a changelog. */
public final class DeployMixin {

    @Option(names = "--contexts", paramLabel = "NAMES", defaultValue = "", description = "Liquibase contexts.")
    private String contexts;

    @Option(
            names = "--labels",
            paramLabel = "EXPRESSION",
            defaultValue = "",
            description = "Liquibase label expression.")
    private String labels;

    @Option(
            names = "--parameter",
            paramLabel = "NAME=VALUE",
            description =
                    "A changelog parameter besides shard.schema, the schema of the tables, or the value of a placeholder of Flyway's. May be repeated.")
    private Map<String, String> parameters = new LinkedHashMap<>();

    @Mixin
    private LockTimeoutMixin lockTimeout;

    @Option(
            names = "--statement-timeout",
            paramLabel = "TIME",
            defaultValue = "5m",
            converter = DurationConverter.class,
            description = "How long a statement may run (default: ${DEFAULT-VALUE}).")
    private Duration statementTimeout;

    public DeploySettings settings(
            Path searchPath,
            int tries,
            int connections,
            double rest,
            boolean stopAtFailure,
            boolean allowPublic,
            RowChecks checks) {
        try {
            return new DeploySettings(
                    searchPath,
                    contexts,
                    labels,
                    parameters,
                    lockTimeout.get(),
                    statementTimeout,
                    tries,
                    connections,
                    rest,
                    stopAtFailure,
                    allowPublic,
                    checks);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }
}
