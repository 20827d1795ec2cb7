/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.apiguardian.api.API.Status.EXPERIMENTAL;

import java.util.Optional;
import org.apiguardian.api.API;
import org.shardflake.ShardSet;

/**
 * An unfinished split of a server by its standby.
 *
 * @param move the number of the move that takes the shards over, from phase {@link SplitPhase#MOVING} on
 * @param tag the move's
 * @param source the server that is split
 * @param target what its standby is called as a server
 * @param targetUrl the standby's URL, without a password
 * @param shards those that the standby takes over
 * @param standbySlot the source's physical slot from which the standby streamed, if that is known; empty for none
 * @param position where the standby stood when it was promoted, if it was
 */
@API(status = EXPERIMENTAL)
public record Split(
        long move,
        String tag,
        String source,
        String target,
        String targetUrl,
        ShardSet shards,
        SplitPhase phase,
        Optional<String> standbySlot,
        Optional<SplitPosition> position) {}
