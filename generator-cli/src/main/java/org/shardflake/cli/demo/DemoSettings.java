/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.demo;

/**
 * The size of the demo.
 *
 * @param shards logical shards, spread over the servers round robin
 * @param rows rows to write, half of them photos and half of them likes
 */
public record DemoSettings(int shards, int rows) {

    static final int SERVERS = 2;
    static final int THREADS_PER_SERVER = 2;

    /** Refuses settings that cannot work or would show nothing. */
    public DemoSettings {
        if (shards < SERVERS || shards > 8192) {
            throw new IllegalArgumentException("shards %s is out of range %s..8192".formatted(shards, SERVERS));
        }
        if (rows < 2 || rows > 10_000_000) {
            throw new IllegalArgumentException("rows %s is out of range 2..10000000".formatted(rows));
        }
    }
}
