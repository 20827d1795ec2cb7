/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.catalog;

import java.time.Instant;

/**
 * The version of a catalog's shard map, and when it was last changed. The version alone does not: after a failover or restore that loses
 * changes, another map can reach the same version.
 *
 * @param version as in the shard map
 * @param changedAt when the map reached this version, by the catalog's clock
 */
public record MapRevision(long version, Instant changedAt) {}
