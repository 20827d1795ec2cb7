/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.demo;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import liquibase.resource.DirectoryResourceAccessor;
import org.shardflake.Sharding;
import org.shardflake.cli.output.Progress;
import org.shardflake.sql.FunctionLibrary;
import org.shardflake.sql.LiquibaseRun;

/** Deploys the function library, the shards, and the tables photo and like in each of them. */
final class DemoSchema {

    private static final int SHARDS_A_RUN = 100;

    private final Progress.Factory progress;

    DemoSchema(Progress.Factory progress) {
        this.progress = progress;
    }

    void deploy(List<DemoServer> servers) throws SQLException {
        int shards = servers.stream().mapToInt(server -> server.shards().size()).sum();
        try (Progress deploying = progress.start("deploying shards", shards)) {
            for (DemoServer server : servers) {
                deploy(server, deploying);
            }
        }
    }

    private static void deploy(DemoServer server, Progress deploying) throws SQLException {
        try (Connection connection = server.connect()) {
            FunctionLibrary.deploy(connection);
            createShards(connection, server.shards());
            List<Integer> shards = server.shards();
            for (int from = 0; from < shards.size(); from += SHARDS_A_RUN) {
                List<Integer> some = shards.subList(from, Math.min(from + SHARDS_A_RUN, shards.size()));
                createTables(connection, some);
                deploying.advance(some.size());
            }
            connection.setAutoCommit(true);
            try (PreparedStatement analyze = connection.prepareStatement("ANALYZE")) {
                analyze.execute();
            }
        }
    }

    private static void createShards(Connection connection, List<Integer> shards) throws SQLException {
        try (PreparedStatement create =
                connection.prepareStatement("SELECT shardflake.create_shard(shard) FROM unnest(?::integer[]) shard")) {
            create.setArray(1, connection.createArrayOf("integer", shards.toArray()));
            create.execute();
        }
    }

    /** One changelog with a changeset for each shard: ten times as fast as a run of Liquibase for each. */
    private static void createTables(Connection connection, List<Integer> shards) {
        try {
            String template = template();
            Path directory = Files.createTempDirectory("shardflake-demo");
            Path changelog = directory.resolve("photos.sql");
            try (DirectoryResourceAccessor resources = new DirectoryResourceAccessor(directory)) {
                Files.writeString(changelog, changelog(template, shards));
                LiquibaseRun.update(connection, resources, "photos.sql", "public", Map.of());
            } finally {
                Files.deleteIfExists(changelog);
                Files.deleteIfExists(directory);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (Exception e) {
            throw e instanceof RuntimeException unchecked ? unchecked : new IllegalStateException(e);
        }
    }

    private static String changelog(String template, List<Integer> shards) {
        StringBuilder changelog = new StringBuilder("--liquibase formatted sql\n");
        for (int shard : shards) {
            changelog.append(template.replace("${shard.schema}", Sharding.schema(shard)));
        }
        return changelog.toString();
    }

    private static String template() throws IOException {
        try (InputStream resource = DemoSchema.class.getResourceAsStream("photos.sql")) {
            if (resource == null) {
                throw new IllegalStateException("photos.sql is not in the jar");
            }
            return new String(resource.readAllBytes(), UTF_8).replaceFirst("--liquibase formatted sql\n", "");
        }
    }
}
