/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.lookup;

import java.util.List;
import org.shardflake.cli.command.option.Subcommands;
import picocli.CommandLine.Command;

/** {@code shardflake lookup}: manages lookups, which find rows of all shards by a value. */
@Command(
        name = "lookup",
        description = {
            "Keeps lookups, by which the router finds rows of all shards by a value, such as accounts by their e-mail address. In a unique"
                    + " lookup a value has one row in all shards."
        },
        footer = {"", "Example: shardflake lookup create account.email --unique"})
public final class LookupCommand implements Subcommands {

    @Override
    public List<String> names() {
        return List.of("create", "list", "backfill", "verify", "drop");
    }

    @Override
    public Object create(String name) {
        return switch (name) {
            case "create" -> new LookupCreateCommand();
            case "list" -> new LookupListCommand();
            case "backfill" -> new LookupBackfillCommand();
            case "verify" -> new LookupVerifyCommand();
            case "drop" -> new LookupDropCommand();
            default -> throw new IllegalArgumentException("no command lookup " + name);
        };
    }
}
