/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.reference;

import java.util.List;
import org.shardflake.cli.command.option.Subcommands;
import picocli.CommandLine.Command;

/** {@code shardflake reference}: manages tables that are the same on every server. */
@Command(
        name = "reference",
        description = {
            "Keeps reference tables: small tables in schema reference, the same on every server, to which rows of all shards may"
                    + " refer. They are written on one server, their home; PostgreSQL's replication carries them to the"
                    + " others, which refuse writes."
        },
        footer = {"", "Example: shardflake reference deploy --changelog db/reference.sql --home db1"})
public final class ReferenceCommand implements Subcommands {

    @Override
    public List<String> names() {
        return List.of("deploy", "status", "delete", "move", "adopt", "repair");
    }

    @Override
    public Object create(String name) {
        return switch (name) {
            case "deploy" -> new ReferenceDeployCommand();
            case "status" -> new ReferenceStatusCommand();
            case "delete" -> new ReferenceDeleteCommand();
            case "move" -> new ReferenceMoveCommand();
            case "adopt" -> new ReferenceAdoptCommand();
            case "repair" -> new ReferenceRepairCommand();
            default -> throw new IllegalArgumentException("no command reference " + name);
        };
    }
}
