/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.time.Instant;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * A shard of a move.
 *
 * @param server its server in the shard map
 * @param epoch its epoch in the shard map
 * @param mark the server that took it over may open it once its stream has this mark
 * @param bytes copied so far, of the size of its tables on the source; when all is copied, those that were sent
 * @param bytesAt when that many were
 * @param rows copied so far
 * @param pauseMillis how long it refused writes at its last cutover
 * @param switchedAt when it was last cut over
 */
public record MoveShard(
        int shard,
        ShardPhase phase,
        String server,
        long epoch,
        OptionalLong mark,
        long bytes,
        Optional<Instant> bytesAt,
        long rows,
        Verified verified,
        OptionalDouble pauseMillis,
        Optional<Instant> switchedAt) {}
