/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.nio.file.Path;
import org.shardflake.cli.local.LocalInstallation;
import picocli.CommandLine.Option;

/** The option that chooses a local cluster. */
public final class LocalMixin {

    static final String DIRECTORY = ".shardflake";

    @Option(
            names = "--local",
            paramLabel = "DIRECTORY",
            defaultValue = DIRECTORY,
            description = "Directory of the local cluster (default: ${DEFAULT-VALUE}).")
    private Path directory;

    /** The directory as it was given. */
    public Path directory() {
        return directory;
    }

    public LocalInstallation installation() {
        return LocalInstallation.in(directory);
    }
}
