/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.catalog;

import java.time.Instant;

/**
 * Which shard map a catalog has. Versions alone do not tell: a failover or restore that loses changes goes back, and comes to
 * the same version again with another map.
 *
 * @param version as in the shard map
 * @param changedAt when the map came to this version, by the catalog's clock
 */
public record MapRevision(long version, Instant changedAt) {}
