/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

/** Tables that Shardflake itself has in every shard once they are used. They are changesets, so that moves make them on the target. */
public enum OwnTables {
    /** The values of lookups. */
    LOOKUPS("lookups"),
    /** The statements that {@code shardflake sql --write} has run. */
    RUNS("runs");

    private final String name;

    OwnTables(String name) {
        this.name = name;
    }

    /** The name of their changelog in the history of shards. */
    String history() {
        return "shardflake/%s.sql".formatted(name);
    }

    /** Their changelog, a resource. */
    String file() {
        return "org/shardflake/deploy/%s.sql".formatted(name);
    }
}
