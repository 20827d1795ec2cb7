/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.apiguardian.api.API.Status.EXPERIMENTAL;

import java.util.Arrays;
import java.util.Locale;
import org.apiguardian.api.API;
import org.shardflake.move.exception.MoveException;

/** The phase of a server's split. */
@API(status = EXPERIMENTAL)
public enum SplitPhase {
    /** The standby is still a standby. */
    PREPARING,
    /** The standby may be promoted; the split continues only if it was at the recorded position. */
    PROMOTING,
    /** The promoted standby is a server, refuses writes to every shard, and a move takes the shards over. */
    MOVING;

    static SplitPhase of(String text) {
        return Arrays.stream(values())
                .filter(phase -> phase.toString().equals(text))
                .findFirst()
                .orElseThrow(() -> new MoveException(
                        "the catalog has a split in phase \"%s\", which this shardflake does not know; use a newer one"
                                .formatted(text)));
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
