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

/** {@code shardflake local status}. */
@Command(
        name = "status",
        description = "Shows the servers of the local cluster.",
        sortOptions = false,
        footer = {"", "Example: shardflake local status -o json"})
final class LocalStatusCommand implements Runnable {

    @Mixin
    private LocalMixin local;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        LocalInstallation installation = local.installation();
        output.print(LocalView.facts(installation), () -> LocalView.text(installation));
    }
}
