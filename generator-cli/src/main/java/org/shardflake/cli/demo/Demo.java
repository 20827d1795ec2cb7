/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.demo;

import java.sql.SQLException;
import java.util.List;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.Sharding;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.output.Progress;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresClusterException;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.router.ShardRouter;

/**
 * Starts two embedded servers, deploys two tables to every shard, fills them, checks their contents, and moves shards from one server to the
 * other under load. Leaves nothing behind, even when interrupted.
 */
public final class Demo {

    private final DemoSettings settings;
    private final Progress.Factory progress;

    public Demo(DemoSettings settings, Progress.Factory progress) {
        this.settings = settings;
        this.progress = progress;
    }

    /** Runs the demo and returns the results. */
    public DemoReport run() throws SQLException, InterruptedException {
        Sharding sharding = new Sharding(settings.shards());
        try (PostgresCluster cluster = startServers()) {
            DemoInstallation installation = new DemoInstallation(cluster.servers(), "postgres", sharding);
            List<DemoServer> servers = installation.servers();
            new DemoSchema(progress).deploy(installation.create(), settings.shards());
            try (ShardRouter router = installation.router()) {
                DemoLoad.Written written = new DemoLoad(router, progress).write(servers, settings.rows());
                DemoReport report = new DemoChecks(sharding, progress).read(servers, written);
                return report.with(new DemoMove(router, installation.catalog(), servers, progress).run());
            }
        }
    }

    private PostgresCluster startServers() {
        try (Progress starting = progress.start("starting servers", DemoSettings.SERVERS)) {
            PostgresCluster cluster = PostgresCluster.builder()
                    .provider(PostgresProvider.EMBEDDED)
                    .servers(DemoSettings.SERVERS)
                    .start();
            starting.advance(DemoSettings.SERVERS);
            return cluster;
        } catch (PostgresClusterException e) {
            throw new CliException(Kind.FAILURE, String.valueOf(e.getMessage()), null, e);
        }
    }
}
