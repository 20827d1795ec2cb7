/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.restorepoint;

import java.util.List;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.restore.RestorePoint;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code shardflake restore-point list}. */
@Command(
        name = "list",
        description = "Lists the restore points that the catalog knows, the newest first.",
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "4:there is no catalog, or it is older than restore points"
        },
        footer = {"", "Example: shardflake restore-point list -o json"})
final class RestorePointListCommand implements Runnable {

    @Mixin
    private RestorePointMixin points;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        points.onlyReads();
        points.catalog().load(); // Fails if the database has no catalog.
        List<RestorePoint> all = points.points().list();
        output.print(all.stream().map(RestorePointView::facts).toList(), () -> RestorePointView.table(all));
    }
}
