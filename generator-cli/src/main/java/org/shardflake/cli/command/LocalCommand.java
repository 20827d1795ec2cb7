/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import picocli.CommandLine.Command;

/** {@code shardflake local}: servers for trying everything. */
@Command(
        name = "local",
        description = {
            "Runs embedded PostgreSQL servers that last, with an installation to try every command on. Needs nothing"
                    + " installed.",
            "Commands run in the same directory find its catalog."
        },
        footer = {"", "Example: shardflake local start"})
public final class LocalCommand {}
