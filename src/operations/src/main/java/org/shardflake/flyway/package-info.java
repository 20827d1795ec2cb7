/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Flyway's SQL migrations: a directory of files that are named, ordered, filled in and checked as in Flyway.
 *
 * <p>{@link org.shardflake.flyway.FlywayDirectory} reads one. {@code org.shardflake.deploy} deploys what it has to shards; Flyway itself
 * is not used.
 */
@NullMarked
package org.shardflake.flyway;

import org.jspecify.annotations.NullMarked;
