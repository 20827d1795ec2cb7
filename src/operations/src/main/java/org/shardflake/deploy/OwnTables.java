/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

/**
 * The tables that Shardflake itself creates in every shard when they are needed. They are changesets, so that moves make them on the target.
 */
public enum OwnTables {
    /** The values of lookups. */
    LOOKUPS("lookups"),
    /** The statements that {@code shardflake sql --write} has run. */
    RUNS("runs");

    private final String name;

    OwnTables(String name) {
        this.name = name;
    }

    /** The name of the tables' changelog in the history of shards. */
    String history() {
        return "shardflake/%s.sql".formatted(name);
    }

    /** The tables' changelog, a resource. */
    String file() {
        return "org/shardflake/deploy/%s.sql".formatted(name);
    }
}
