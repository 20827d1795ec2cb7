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
import org.shardflake.cli.output.Progress;
import org.shardflake.deploy.DeployReport;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.install.Installation;

/** Deploys the tables photo and like to every shard, as {@code shardflake schema deploy} does. */
final class DemoSchema {

    private static final String CHANGELOG = "photos.sql";

    private final Progress.Factory progress;

    DemoSchema(Progress.Factory progress) {
        this.progress = progress;
    }

    void deploy(Installation installation, int shards) throws InterruptedException {
        try {
            Path directory = Files.createTempDirectory("shardflake-demo");
            Path changelog = directory.resolve(CHANGELOG);
            try (InputStream resource = DemoSchema.class.getResourceAsStream(CHANGELOG)) {
                if (resource == null) {
                    throw new IllegalStateException(CHANGELOG + " is not in the jar");
                }
                Files.copy(resource, changelog);
                deploy(installation, shards, changelog, DeploySettings.defaults(directory));
            } finally {
                Files.deleteIfExists(changelog);
                Files.deleteIfExists(directory);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void deploy(Installation installation, int shards, Path changelog, DeploySettings settings)
            throws InterruptedException {
        try (Progress deploying = progress.start("deploying shards", shards)) {
            DeployReport report = installation.deploy(changelog, settings, deploying::advance);
            if (!report.failures().isEmpty()) {
                throw new IllegalStateException(
                        report.failures().iterator().next().toString());
            }
        }
    }
}
