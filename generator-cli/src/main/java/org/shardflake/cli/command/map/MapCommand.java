/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.map;

import java.util.List;
import org.shardflake.cli.command.option.Subcommands;
import picocli.CommandLine.Command;

/** {@code shardflake map}: shows and changes which server has each shard. */
@Command(
        name = "map",
        description = "Shows and changes the shard map: which server has which shard.",
        footer = {"", "Example: shardflake map locate --uid 31341"})
public final class MapCommand implements Subcommands {

    @Override
    public List<String> names() {
        return List.of("show", "locate", "export", "import", "history");
    }

    @Override
    public Object create(String name) {
        return switch (name) {
            case "show" -> new MapShowCommand();
            case "locate" -> new MapLocateCommand();
            case "export" -> new MapExportCommand();
            case "import" -> new MapImportCommand();
            case "history" -> new MapHistoryCommand();
            default -> throw new IllegalArgumentException("no command map " + name);
        };
    }
}
