/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jdbc;

import java.util.Locale;
import org.shardflake.ShardSet;

/** Numbers and shards with their noun, as in "1 row", "24,019 rows", "shard 7" and "shards 7,8". */
public final class Plural {

    private Plural() {}

    /**
     * The number and the noun, with an s unless the number is 1.
     *
     * @param noun in the singular, one that takes an s
     */
    public static String of(long count, String noun) {
        return String.format(Locale.ROOT, "%,d %s%s", count, noun, count == 1 ? "" : "s");
    }

    /** The shards, as in "shard 7" and "shards 0-99". */
    public static String shards(ShardSet shards) {
        return (shards.size() == 1 ? "shard " : "shards ") + shards;
    }

    /** The shards as the subject of a verb, as in "shard 7 is" and "shards 0-99 are". */
    public static String shards(ShardSet shards, String one, String many) {
        return shards(shards) + " " + choose(shards, one, many);
    }

    /** The word for one shard or for several. */
    public static String choose(ShardSet shards, String one, String many) {
        return shards.size() == 1 ? one : many;
    }
}
