/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import picocli.CommandLine.Command;

/** {@code shardflake map}: shows and changes which server has which shard. */
@Command(
        name = "map",
        description = "Shows and changes the shard map: which server has which shard.",
        footer = {"", "Example: shardflake map locate --uid 31341"})
public final class MapCommand {}
