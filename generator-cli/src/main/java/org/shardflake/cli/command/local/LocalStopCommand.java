/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.local;

import org.shardflake.cli.command.option.LocalMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.local.LocalInstallation;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code shardflake local stop}. */
@Command(
        name = "stop",
        description = {
            "Stops the servers of the local cluster. Their data stays in its directory; remove that to discard it."
        },
        sortOptions = false,
        footer = {"", "Example: shardflake local stop"})
final class LocalStopCommand implements Runnable {

    @Mixin
    private LocalMixin local;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        LocalInstallation installation = local.installation();
        installation.stop();
        output.print(LocalView.facts(installation), () -> LocalView.text(installation));
    }
}
