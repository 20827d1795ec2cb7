/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.local;

import java.sql.SQLException;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.Sharding;
import org.shardflake.cli.command.option.LocalMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.local.LocalInstallation;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake local start}. */
@Command(
        name = "start",
        description = {
            "Starts the local cluster, and creates it the first time: servers, databases, catalog and shard map.",
            "The servers run until shardflake local stop; their data persists until the next start."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:all servers are running",
            "1:a server does not start",
            "2:the command line is wrong",
            "4:the cluster has a different number of shards, which never changes"
        },
        footer = {"", "Example: shardflake local start --servers 3"})
final class LocalStartCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--servers",
            paramLabel = "N",
            defaultValue = "2",
            description = "Minimum number of servers, 1..16 (default: ${DEFAULT-VALUE}).")
    private int servers;

    @Option(
            names = "--shards",
            paramLabel = "N",
            description = "Number of logical shards of a new cluster, 1..8192 (default: " + Sharding.DEFAULT_SHARD_COUNT
                    + ").")
    private @Nullable Integer shards;

    @Mixin
    private LocalMixin local;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws SQLException {
        LocalInstallation installation = local.installation();
        ShardMap map;
        try {
            int count = new Sharding(shards == null ? Sharding.DEFAULT_SHARD_COUNT : shards).shardCount();
            map = installation.start(servers, count, this::starting);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
        if (shards != null && map.sharding().shardCount() != shards) {
            throw new CliException(
                    Kind.PRECONDITION,
                    "the cluster runs, but it has %s shards, and that never changes"
                            .formatted(map.sharding().shardCount()),
                    "for another number use another --local DIRECTORY");
        }
        output.print(LocalView.facts(installation), () -> LocalView.text(installation));
        return ExitCodes.OK;
    }

    private void starting(int created) {
        spec.commandLine()
                .getErr()
                .printf(
                        "%s in %s%n",
                        created > 0 ? "creating PostgreSQL servers" : LocalView.starting(local.installation()),
                        local.directory());
    }
}
