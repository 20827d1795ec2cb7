/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.split;

import static org.apiguardian.api.API.Status.EXPERIMENTAL;

import java.util.Locale;
import org.apiguardian.api.API;

/** The points, each right after an event, at which a split can be interrupted before its move begins; tests stop the tool or a server there. */
@API(status = EXPERIMENTAL)
public enum SplitStep {
    /** The split is recorded in the catalog. */
    RECORDED,
    /** The source has the publication and the slot. */
    SLOT_CREATED,
    /** The standby has replayed beyond the start of the slot. */
    REPLAYED,
    /** The standby receives nothing more from its primary. */
    CUT_OFF,
    /** The catalog has the position at which the standby stopped. */
    POSITIONED,
    /** The standby is a primary. */
    PROMOTED,
    /** The server refuses writes to all shards. */
    CLOSED,
    /** The new server and the move of its shards are in the catalog. */
    MOVE_RECORDED,
    /** A copy of a shard that stayed on the source was removed. */
    COPY_DROPPED;

    @Override
    public String toString() {
        return name().replace('_', ' ').toLowerCase(Locale.ROOT);
    }
}
