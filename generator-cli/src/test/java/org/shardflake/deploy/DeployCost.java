/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import liquibase.resource.DirectoryResourceAccessor;
import org.shardflake.IdLayout;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.LiquibaseRun;

/**
 * A deployment of two tables, with an index and a foreign key, to 2000 shards on two servers with fsync on, a rerun, and one
 * ALTER TABLE, beside a loop of one Liquibase update per schema on the same servers.
 *
 * <p>Here and not among the other benchmarks, since those cannot have the command line's jar, which brings PostgreSQL's
 * binaries a second time. The loop is measured on a sample of schemas, which are other ones, and multiplied.
 */
public final class DeployCost {

    private static final int SERVERS = 2;
    private static final int SHARDS = Integer.getInteger("shards", 2000);
    private static final int SAMPLE = Integer.getInteger("sample", 100);

    private static final String CHANGELOG = """
            databaseChangeLog:
              - changeSet:
                  id: photo
                  author: ann
                  changes:
                    - createTable:
                        tableName: photo
                        columns:
                          - column: {name: id, type: bigint, constraints: {primaryKey: true}}
                          - column: {name: uid, type: bigint, constraints: {nullable: false}}
                          - column: {name: title, type: text}
                    - createIndex: {indexName: photo_uid, tableName: photo, columns: [{column: {name: uid}}]}
              - changeSet:
                  id: like
                  author: ann
                  changes:
                    - createTable:
                        tableName: like
                        columns:
                          - column: {name: id, type: bigint, constraints: {primaryKey: true}}
                          - column:
                              name: photo_id
                              type: bigint
                              constraints: {nullable: false, foreignKeyName: like_photo, references: photo(id)}
            """;
    private static final String ALTER = """
              - changeSet:
                  id: place
                  author: ann
                  changes:
                    - addColumn: {tableName: photo, columns: [{column: {name: place, type: text}}]}
            """;

    private final PostgresCluster cluster;
    private final Path directory;

    private DeployCost(PostgresCluster cluster, Path directory) {
        this.cluster = cluster;
        this.directory = directory;
    }

    public static void main(String[] args) throws Exception {
        Path directory = Files.createTempDirectory("deploy-cost");
        try (PostgresCluster cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(SERVERS)
                .durable(true)
                .start()) {
            new DeployCost(cluster, directory).compare();
        } finally {
            Files.deleteIfExists(directory.resolve("app.yaml"));
            Files.deleteIfExists(directory);
        }
    }

    private void compare() throws Exception {
        System.out.printf(
                "%,d shards on %d servers, fsync on, seconds; the loop measured on %d schemas and multiplied%n%n",
                SHARDS, SERVERS, SAMPLE);
        System.out.printf("%-28s %12s %12s %8s%n", "", "schema deploy", "loop", "times");
        compare("first deployment", CHANGELOG);
        compare("nothing to do", CHANGELOG);
        compare("one ALTER TABLE", CHANGELOG + ALTER);
    }

    private void compare(String what, String changelog) throws Exception {
        Files.writeString(directory.resolve("app.yaml"), changelog);
        double loop = seconds(this::loop) * SHARDS / SAMPLE;
        double ours = seconds(this::deploy);
        System.out.printf("%-28s %12.2f %12.1f %8.1f%n", what, ours, loop, loop / ours);
    }

    @FunctionalInterface
    private interface Work {
        void run() throws Exception;
    }

    private static double seconds(Work work) throws Exception {
        long start = System.nanoTime();
        work.run();
        return (System.nanoTime() - start) / 1e9;
    }

    private void deploy() throws SQLException, InterruptedException {
        List<DeployTarget> targets = IntStream.range(0, SERVERS)
                .mapToObj(server -> new DeployTarget(
                        cluster.server(server).name(),
                        ServerUrl.parse(cluster.server(server).uri("postgres")),
                        ShardSet.of(IntStream.range(0, SHARDS)
                                .filter(shard -> shard % SERVERS == server)
                                .toArray())))
                .toList();
        try (SchemaDeployer deployer = SchemaDeployer.prepare(
                directory.resolve("app.yaml"), targets, IdLayout.DEFAULT, DeploySettings.defaults(directory))) {
            if (!deployer.deploy(done -> {}).isComplete()) {
                throw new IllegalStateException("the deployment is not complete");
            }
        }
    }

    /** As people do it: one schema after the other, with a connection and a history each. */
    private void loop() throws SQLException, IOException {
        for (int i = 0; i < SAMPLE; i++) {
            PostgresServer server = cluster.server(i % SERVERS);
            String schema = "loop_%04d".formatted(i);
            try (Connection connection = server.connect();
                    Statement statement = connection.createStatement();
                    DirectoryResourceAccessor resources = new DirectoryResourceAccessor(directory)) {
                statement.execute("CREATE SCHEMA IF NOT EXISTS %1$s; SET search_path = %1$s".formatted(schema));
                LiquibaseRun.update(connection, resources, "app.yaml", schema, Map.of());
            } catch (SQLException | IOException | RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new IllegalStateException("closing fails", e);
            }
        }
    }
}
