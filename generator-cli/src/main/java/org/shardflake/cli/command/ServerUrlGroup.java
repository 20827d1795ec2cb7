/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The URL of a server that is added or changed, after its name or as an option: nobody has to know which command takes which. */
final class ServerUrlGroup {

    @Parameters(
            index = "1",
            arity = "1",
            paramLabel = "URL",
            description = "The server's URL, postgresql://user@host:port/database, without a password.")
    private @Nullable String argument;

    @Option(names = "--url", paramLabel = "URL", description = "The same.")
    private @Nullable String option;

    String url() {
        return String.valueOf(option == null ? argument : option);
    }
}
