/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** Databases and poolers for tests. Start with {@link org.shardflake.cluster.PostgresExtension}. */
@NullMarked
package org.shardflake.cluster;

import org.jspecify.annotations.NullMarked;
