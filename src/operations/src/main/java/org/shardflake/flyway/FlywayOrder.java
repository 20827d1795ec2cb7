/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.flyway;

/** Flyway's setting {@code outOfOrder}. */
public enum FlywayOrder {
    /** A migration is refused if its version is lower than one that a shard has had. */
    STRICT,
    /** Such a migration is deployed. */
    OUT_OF_ORDER
}
