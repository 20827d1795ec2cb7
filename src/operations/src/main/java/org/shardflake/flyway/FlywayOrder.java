/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.flyway;

/** The values of Flyway's setting {@code outOfOrder}. */
public enum FlywayOrder {
    /** Migrations with a lower version than one that a shard has had are refused. */
    STRICT,
    /** Migrations with a lower version than one that a shard has had are deployed. */
    OUT_OF_ORDER
}
