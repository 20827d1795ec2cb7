/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.cdc;

import java.util.List;
import java.util.concurrent.Callable;
import org.shardflake.changes.ChangeStreamStatus;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code shardflake cdc status}. */
@Command(
        name = "status",
        description =
                "Shows whether each server publishes the changes of the shards that are there, and the slots of readers.",
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:every server does, or none has the publication",
            "1:a server or the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "4:there is no catalog",
            "5:a server does not, or a reader's slot is lost"
        },
        footer = {"", "Example: shardflake cdc status -o json"})
final class CdcStatusCommand implements Callable<Integer> {

    @Mixin
    private CdcMixin cdc;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() {
        List<ChangeStreamStatus> all = cdc.stream().status();
        output.print(all.stream().map(CdcView::facts).toList(), () -> CdcView.table(all));
        boolean isNone = all.stream().noneMatch(ChangeStreamStatus::isThere);
        boolean isRight = all.stream()
                .allMatch(status -> (isNone || status.isCurrent())
                        && status.readers().stream().noneMatch(ChangeStreamStatus.Reader::isLost));
        return isRight ? ExitCodes.OK : ExitCodes.VERIFICATION;
    }
}
