/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import picocli.CommandLine.Command;

/** {@code shardflake schema}: manages the tables of all shards. */
@Command(
        name = "schema",
        description = "Deploys the application's tables to every shard, rolls changes back, and compares the shards.",
        footer = {"", "Example: shardflake schema deploy --changelog db/app.xml"})
public final class SchemaCommand {}
