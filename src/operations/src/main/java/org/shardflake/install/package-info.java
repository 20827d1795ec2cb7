/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Sets an installation up: the function library on every server, the catalog, the first shard map, and the schema of its shards.
 *
 * <p>{@link org.shardflake.install.Installation} is the way in:
 *
 * <pre>{@code
 * ShardMap map = ShardMap.initial(new Sharding(2000), IdLayout.DEFAULT, servers, Spread.CONTIGUOUS);
 * Installation installation = Installation.at(ServerUrl.parse("postgresql://app@db1/app"));
 * installation.create(map, "the first servers");
 * installation.add(new Server("db3", "postgresql://app@db3/app"), "more room");
 * }</pre>
 */
@NullMarked
package org.shardflake.install;

import org.jspecify.annotations.NullMarked;
