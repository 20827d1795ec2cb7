/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.photos;

import org.shardflake.ShardflakeId;

/** A photo with the data that the page shows, including its shard and the shard's server. */
record Photo(ShardflakeId id, String user, String country, String title, long likes, int shard, String server) {}
