/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/**
 * PostgreSQL servers with logical replication, for the demo, development and tests: embedded, in containers, or given
 * by URL. Start with {@link org.shardflake.cluster.PostgresCluster}.
 */
@NullMarked
package org.shardflake.cluster;

import org.jspecify.annotations.NullMarked;
