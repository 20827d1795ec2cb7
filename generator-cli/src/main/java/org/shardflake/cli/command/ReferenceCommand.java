/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import picocli.CommandLine.Command;

/** {@code shardflake reference}: tables that every server has alike. */
@Command(
        name = "reference",
        description = {
            "Keeps reference tables: small tables in schema reference, the same on every server, to which rows of all shards may"
                    + " refer. They are written on one server, their home; PostgreSQL's replication carries them to the"
                    + " others, which refuse writes."
        },
        footer = {"", "Example: shardflake reference deploy --changelog db/reference.sql --home db1"})
public final class ReferenceCommand {}
