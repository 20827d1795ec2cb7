/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.demo;

import java.sql.SQLException;
import java.util.List;
import java.util.stream.IntStream;
import org.shardflake.Sharding;
import org.shardflake.cli.CliException;
import org.shardflake.cli.ExitCodes;
import org.shardflake.cli.output.Progress;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresClusterException;
import org.shardflake.cluster.PostgresProvider;

/**
 * Starts two embedded servers, deploys two tables to every shard, fills them and checks what the servers then hold.
 * Leaves nothing behind, also when interrupted.
 */
public final class Demo {

    private final DemoSettings settings;
    private final Progress.Factory progress;

    public Demo(DemoSettings settings, Progress.Factory progress) {
        this.settings = settings;
        this.progress = progress;
    }

    /** Runs all of it and returns what was found. */
    public DemoReport run() throws SQLException, InterruptedException {
        Sharding sharding = new Sharding(settings.shards());
        try (PostgresCluster cluster = startServers()) {
            List<DemoServer> servers = IntStream.range(0, DemoSettings.SERVERS)
                    .mapToObj(i -> new DemoServer(cluster.server(i), "postgres", shardsOf(i)))
                    .toList();
            new DemoSchema(progress).deploy(servers);
            DemoLoad.Written written = new DemoLoad(sharding, progress).write(servers, settings.rows());
            return new DemoChecks(sharding, progress).read(servers, written);
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
            throw new CliException(ExitCodes.FAILURE, String.valueOf(e.getMessage()), null).causedBy(e);
        }
    }

    private List<Integer> shardsOf(int server) {
        return IntStream.range(0, settings.shards())
                .filter(shard -> shard % DemoSettings.SERVERS == server)
                .boxed()
                .toList();
    }
}
