/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.watch;

import org.shardflake.cli.command.option.EnumNames;
import org.shardflake.load.ShardRate;

/** The order in which shards are listed. */
enum TopBy {
    WRITTEN,
    INSERTED,
    READ,
    BYTES;

    double of(ShardRate rate, long bytes) {
        return switch (this) {
            case WRITTEN -> rate.written();
            case INSERTED -> rate.inserted();
            case READ -> rate.read();
            case BYTES -> bytes;
        };
    }

    static final class Names extends EnumNames<TopBy> {
        Names() {
            super(TopBy.class);
        }
    }
}
