/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The load of shards according to PostgreSQL's own statistics, and their sizes.
 *
 * <pre>{@code
 * LoadSampler sampler = new LoadSampler(server -> ServerUrl.parse(server.url()));
 * LoadSample before = sampler.sample(map);
 * Thread.sleep(10_000);
 * Map<Integer, ShardRate> rates = sampler.sample(map).since(before);
 * }</pre>
 */
@NullMarked
package org.shardflake.load;

import org.jspecify.annotations.NullMarked;
