/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.server;

import java.util.stream.Collectors;
import org.shardflake.Server;
import org.shardflake.cli.command.option.CatalogMixin;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code shardflake server names}: prints server names for completion scripts. */
@Command(name = "names", description = "Prints the names of the servers.", hidden = true)
final class ServerNamesCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Mixin
    private CatalogMixin catalog;

    @Override
    public void run() {
        catalog.onlyReads();
        spec.commandLine()
                .getOut()
                .println(catalog.catalog().load().servers().stream()
                        .map(Server::name)
                        .collect(Collectors.joining(" ")));
    }
}
