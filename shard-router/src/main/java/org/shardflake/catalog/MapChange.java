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
 * One change of the shard map, as recorded in the catalog's history.
 *
 * @param version the map's version after the change
 * @param time when the change was made
 * @param user who made it, as a PostgreSQL role
 * @param change what was done: {@code initialized}, {@code server added}, {@code server changed}, {@code server removed}
 *     or {@code shard placed}
 * @param shard the shard that was placed
 * @param server the server that the shard was placed on, or that was added, changed or removed
 * @param fromServer where the shard was before
 * @param epoch the shard's epoch after the change
 * @param reason the reason given for the change
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
