/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.cdc;

import java.util.List;
import org.shardflake.changes.ChangeStreamStatus;
import org.shardflake.cli.command.option.OutputMixin;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code shardflake cdc create}. */
@Command(
        name = "create",
        description = {
            "Creates publication shardflake_cdc on every server, with the tables of the shards that are there. If it exists, adds missing tables and removes surplus ones.",
            "Writers do not wait. Readers may begin when it is done, each with a slot shardflake_cdc_NAME on every server."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:every server publishes the shards that the map gives it",
            "1:a server or the catalog cannot be reached, or failed; run the same command again",
            "2:the command line is wrong",
            "3:locks were in the way; run the same command again",
            "4:a server cannot publish all changes: an older function library, a table without a primary key, or wal_level; nothing was changed"
        },
        footer = {"", "Example: shardflake cdc create"})
final class CdcCreateCommand implements Runnable {

    @Mixin
    private CdcMixin cdc;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        List<ChangeStreamStatus> all = cdc.stream().create();
        output.print(all.stream().map(CdcView::facts).toList(), () -> CdcView.table(all));
    }
}
