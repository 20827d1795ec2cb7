/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import org.shardflake.catalog.LookupDefinition;

/**
 * The state of a lookup, with the progress of its backfill.
 *
 * @param filledShards how many shards the latest backfill has read to the end
 * @param claimed how many rows it found or made findable
 * @param refused how many rows it could not make findable
 */
public record LookupStatus(LookupDefinition lookup, int shards, int filledShards, long claimed, long refused) {}
