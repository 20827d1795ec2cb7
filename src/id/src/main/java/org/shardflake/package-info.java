/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The Shardflake id as a Java value, and the shard of an id or a sharding key.
 *
 * <p>Begin with {@link org.shardflake.ShardflakeId} to take an id apart, {@link org.shardflake.IdLayout} to give its
 * time a meaning, and {@link org.shardflake.Sharding} to find the shard of a uid. This package needs nothing but the
 * JDK.
 */
@NullMarked
package org.shardflake;

import org.jspecify.annotations.NullMarked;
