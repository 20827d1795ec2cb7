/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Lookups: rows of all shards, found by a value. {@link org.shardflake.lookup.LookupTables} makes, fills, checks and drops them; the router
 * reads and writes them.
 */
@NullMarked
package org.shardflake.lookup;

import org.jspecify.annotations.NullMarked;
