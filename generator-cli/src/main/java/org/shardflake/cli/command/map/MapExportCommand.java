/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.map;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardMap;
import org.shardflake.catalog.ShardMapFile;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.FileFailure;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake map export}: writes the shard map to a file. */
@Command(
        name = "export",
        description = "Writes the shard map as YAML, to keep, to edit and import, or to route by without a catalog.",
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:the catalog cannot be reached, or the file cannot be written",
            "2:the command line is wrong",
            "4:there is no catalog"
        },
        footer = {"", "Example: shardflake map export --file map.yaml"})
final class MapExportCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--file",
            paramLabel = "FILE",
            description = "File to write atomically, replacing an existing one (default: standard output).")
    private @Nullable Path file;

    @Mixin
    private CatalogMixin catalog;

    @Override
    public void run() {
        catalog.onlyReads();
        if (file != null && Files.isDirectory(file)) {
            throw CliException.usage("%s is a directory; --file names a file".formatted(file));
        }
        ShardMap map = catalog.catalog().load();
        PrintWriter out = spec.commandLine().getOut();
        if (file == null) {
            out.print(ShardMapFile.format(map));
            return;
        }
        try {
            ShardMapFile.write(map, file);
        } catch (IOException e) {
            throw FileFailure.explain("write", file.toString(), e);
        }
        out.printf("exported version %s to %s%n", map.version(), file);
    }
}
