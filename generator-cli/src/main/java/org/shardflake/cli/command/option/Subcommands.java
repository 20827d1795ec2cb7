/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.util.List;

/** Creates a command's subcommands one by one, so that a class is loaded only when its command is called. */
public interface Subcommands {

    /** The names of the subcommands, in the order of the help. */
    List<String> names();

    /**
     * Creates a subcommand.
     *
     * @throws IllegalArgumentException if it has no subcommand of this name
     */
    Object create(String name);
}
