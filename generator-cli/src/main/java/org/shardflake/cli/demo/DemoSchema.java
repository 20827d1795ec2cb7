/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.demo;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import org.shardflake.IdLayout;
import org.shardflake.ShardSet;
import org.shardflake.cli.output.Progress;
import org.shardflake.deploy.DeployReport;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.DeployTarget;
import org.shardflake.deploy.SchemaDeployer;

/** Deploys the tables photo and like to every shard, as {@code shardflake schema deploy} does. */
final class DemoSchema {

    private static final String CHANGELOG = "photos.sql";

    private final Progress.Factory progress;

    DemoSchema(Progress.Factory progress) {
        this.progress = progress;
    }

    void deploy(List<DemoServer> servers) throws SQLException, InterruptedException {
        try {
            Path directory = Files.createTempDirectory("shardflake-demo");
            Path changelog = directory.resolve(CHANGELOG);
            try (InputStream resource = DemoSchema.class.getResourceAsStream(CHANGELOG)) {
                if (resource == null) {
                    throw new IllegalStateException(CHANGELOG + " is not in the jar");
                }
                Files.copy(resource, changelog);
                deploy(servers, changelog, DeploySettings.defaults(directory));
            } finally {
                Files.deleteIfExists(changelog);
                Files.deleteIfExists(directory);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void deploy(List<DemoServer> servers, Path changelog, DeploySettings settings)
            throws SQLException, InterruptedException {
        List<DeployTarget> targets = servers.stream()
                .map(server -> new DeployTarget(server.name(), server.url(), ShardSet.of(server.shards())))
                .toList();
        int shards = servers.stream().mapToInt(server -> server.shards().size()).sum();
        try (SchemaDeployer deployer = SchemaDeployer.prepare(changelog, targets, IdLayout.DEFAULT, settings);
                Progress deploying = progress.start("deploying shards", shards)) {
            DeployReport report = deployer.deploy(deploying::advance);
            if (!report.failures().isEmpty()) {
                throw new IllegalStateException(
                        report.failures().iterator().next().toString());
            }
        }
    }
}
