/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import picocli.CommandLine.Command;

/** {@code shardflake server}: manages the servers that shards can be placed on. */
@Command(
        name = "server",
        description = "Adds, lists, changes, drains and removes the servers of the shard map.",
        footer = {"", "Example: shardflake server add db3 postgresql://app@db3/app"})
public final class ServerCommand {}
