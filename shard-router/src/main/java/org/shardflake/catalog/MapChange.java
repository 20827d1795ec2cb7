/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.catalog;

import java.time.Instant;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * One change of the shard map, as the catalog's history has it.
 *
 * @param version the map's version after it
 * @param time when it was made
 * @param user who made it, as a PostgreSQL role
 * @param change what was done: {@code initialized}, {@code server added}, {@code server changed}, {@code server removed}
 *     or {@code shard placed}
 * @param shard the shard that was placed
 * @param server the server that the shard was placed on, or that was added, changed or removed
 * @param fromServer where the shard was before
 * @param epoch the shard's epoch after it
 * @param reason why, as given by whoever made it
 */
public record MapChange(
        long version,
        Instant time,
        String user,
        String change,
        OptionalInt shard,
        Optional<String> server,
        Optional<String> fromServer,
        OptionalLong epoch,
        String reason) {}
