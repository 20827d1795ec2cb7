/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.net.NetworkInterface;
import java.net.SocketException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collections;
import java.util.List;
import javax.sql.DataSource;
import org.shardflake.benchmarks.ids.Candidate.JavaCandidate;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.scheme.GeneratorSettings;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.FunctionLibrary;

/** The server with the tables, and two that only give tickets. */
final class Servers implements AutoCloseable {

    private static final String DATABASE = "postgres";

    private final PostgresCluster cluster;

    private Servers(PostgresCluster cluster) {
        this.cluster = cluster;
    }

    /** Starts them, with commits that survive a power cut, and nothing in the background that would fall into one turn. */
    static Servers start() throws SQLException {
        Servers servers = new Servers(PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(3)
                .durable(true)
                .setting("max_connections", "100") // PostgreSQL's default
                .setting("shared_buffers", "512MB")
                .setting("max_wal_size", "8GB")
                .setting("checkpoint_timeout", "1h")
                .setting("autovacuum", "off")
                .start());
        try (Connection connection = servers.connect()) {
            prepare(connection);
            Sql.execute(connection, "CREATE EXTENSION pg_walinspect", "CREATE EXTENSION pgstattuple");
            return servers;
        } catch (SQLException | RuntimeException e) {
            servers.close();
            throw e;
        }
    }

    /** Brings what the schemes of a database need. */
    static void prepare(Connection connection) throws SQLException {
        FunctionLibrary.deploy(connection);
        Sql.execute(connection, "SELECT shardflake.create_shard(7)");
        PublishedFunction.create(connection);
    }

    Connection connect() throws SQLException {
        return tables().connect(DATABASE);
    }

    PostgresServer tables() {
        return cluster.server(0);
    }

    /** What the generators of a scheme in Java need. */
    GeneratorSettings settings(Candidate candidate) {
        List<PostgresServer> used = candidate.facts().networkCall()
                ? cluster.servers().subList(1, 3)
                : cluster.servers().subList(0, 1);
        GeneratorSettings settings = GeneratorSettings.DEFAULT.withDataSources(used.stream()
                .map(server -> ServerUrl.parse(server.uri(DATABASE)).dataSource())
                .toArray(DataSource[]::new));
        boolean lacksNumber =
                candidate instanceof JavaCandidate java && java.numberedByHardware() && !hasHardwareAddress();
        return lacksNumber ? settings.withWorker(1) : settings; // the same for all, as the hardware's would be
    }

    private static boolean hasHardwareAddress() {
        try {
            for (NetworkInterface network : Collections.list(NetworkInterface.getNetworkInterfaces())) {
                if (network.getHardwareAddress() != null) {
                    return true;
                }
            }
            return false;
        } catch (SocketException e) {
            return false;
        }
    }

    @Override
    public void close() {
        cluster.close();
    }
}
