/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

/** The initial layout of shards over servers. */
public enum Spread {

    /** Neighbouring shards are together: with 2000 shards on two servers, 0 to 999 are on the first and the rest on the second. */
    CONTIGUOUS {
        @Override
        int server(int shard, int shards, int servers) {
            return (int) ((long) shard * servers / shards);
        }
    },

    /** Shards are on servers in turn: with two servers, even shards are on the first and odd ones on the second. */
    ROUND_ROBIN {
        @Override
        int server(int shard, int shards, int servers) {
            return shard % servers;
        }
    };

    /** The position of a shard's server in the list of servers. */
    abstract int server(int shard, int shards, int servers);
}
