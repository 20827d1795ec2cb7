/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.reference;

import org.shardflake.ShardMap;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.output.OutputFormat;
import org.shardflake.reference.ReferenceTables.Adopted;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code shardflake reference adopt}: fills a reference table with the rows of a table that each shard has. */
@Command(
        name = "adopt",
        description = {
            "Gives a reference table the rows of the table of the same name that each shard has, if all shards have the same rows."
                    + " Deploy the reference table first, with the same columns.",
            "Changes nothing in the shards. Prints a changeset for their changelog that points their foreign keys at the reference table and drops their own table, unless its rows have changed since."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:the reference table has the shards' rows",
            "1:a server or the catalog cannot be reached, or failed",
            "2:the command line is wrong, or there is no such reference table",
            "4:a shard has no such table, or one with other columns",
            "5:not all shards have the same rows, or the reference table has others"
        },
        footer = {"", "Example: shardflake reference adopt country >> db/shards.sql"})
final class ReferenceAdoptCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "TABLE", description = "The table, such as country.")
    private String table;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        ShardMap map = catalog.catalog().load();
        Adopted adopted = catalog.installation().referenceTables(map).adopt(table, map);
        if (output.format() == OutputFormat.TABLE) {
            spec.commandLine().getErr().println(ReferenceView.text(adopted));
        }
        output.printSql(ReferenceView.facts(adopted), adopted::changeSet);
    }
}
