/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.cdc;

import java.util.Map;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.changes.ChangeStream;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.OutputMixin;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code shardflake cdc drop}. */
@Command(
        name = "drop",
        description =
                "Removes publication shardflake_cdc from every server, with the slots shardflake_cdc_NAME of its readers, which must have ended.",
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:it is gone",
            "1:a server or the catalog cannot be reached, or failed; run the same command again",
            "2:the command line is wrong, or not confirmed",
            "4:no server has it, or a reader is connected; nothing was changed"
        },
        footer = {"", "Example: shardflake cdc drop --yes"})
final class CdcDropCommand implements Runnable {

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private CdcMixin cdc;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        confirm.require(
                "drop the change stream with all slots of its readers",
                Advice.of("%s shows them", CliCommand.CDC_STATUS));
        cdc.stream().drop();
        output.print(Map.of("dropped", ChangeStream.PUBLICATION), () -> "dropped the change stream");
    }
}
