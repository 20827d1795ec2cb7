/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.reference;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.OutputMixin;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code shardflake reference delete}: deletes a row on all servers. */
@Command(
        name = "delete",
        description = {
            "Deletes a row of a reference table on all servers in one moment, unless a row of a shard refers to it on any of them.",
            "Needs all servers. If interrupted, run the same command again: it finishes, or restores the row where it was deleted."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:no server has the row",
            "1:a server or the catalog cannot be reached, or failed",
            "2:the command line is wrong, there is no such table or key, or it was not confirmed",
            "4:there is no such row, or a row of a shard refers to it; every server has it as before"
        },
        footer = {"", "Example: shardflake reference delete country IT"})
final class ReferenceDeleteCommand implements Runnable {

    @Parameters(index = "0", paramLabel = "TABLE", description = "The table, such as country.")
    private String table;

    @Parameters(
            index = "1..*",
            arity = "1..*",
            paramLabel = "KEY",
            description = "The value of its primary key, or one value for each of its columns.")
    private List<String> key;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        confirm.require(
                "delete row %s of %s on all servers".formatted(String.join(" ", key), table),
                "a row that shards refer to is not deleted");
        catalog.installation().referenceTables(catalog.catalog().load()).delete(table, key);
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("table", table);
        facts.put("key", key);
        output.print(facts, () -> "deleted row %s of %s on all servers".formatted(String.join(" ", key), table));
    }
}
