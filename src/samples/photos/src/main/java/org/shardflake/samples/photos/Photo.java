/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.photos;

import org.shardflake.ShardflakeId;

/** A photo with what the page shows of it: also the shard that it is in, and the server of that. */
record Photo(ShardflakeId id, String user, String country, String title, long likes, int shard, String server) {}
