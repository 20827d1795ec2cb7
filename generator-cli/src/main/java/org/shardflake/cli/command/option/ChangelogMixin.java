/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options that name a changelog. */
public final class ChangelogMixin {

    @Option(
            names = "--changelog",
            paramLabel = "FILE",
            required = true,
            description = "The changelog: XML, YAML, JSON or formatted SQL, written as for one schema.")
    private Path changelog;

    @Option(
            names = "--search-path",
            paramLabel = "DIR",
            description = "Directory to search for the changelog's includes (default: the working directory if the"
                    + " changelog is below it, otherwise the changelog's own).")
    private @Nullable Path searchPath;

    public Path file() {
        return changelog;
    }

    public Path searchPath() {
        return searchPath != null ? searchPath : searchPath(changelog);
    }

    /** The usual directory to search for a changelog's includes. */
    public static Path searchPath(Path changelog) {
        Path absolute = changelog.toAbsolutePath().normalize();
        Path directory = absolute.getParent();
        if (directory == null || absolute.startsWith(Path.of("").toAbsolutePath())) {
            return Path.of("");
        }
        return directory;
    }
}
