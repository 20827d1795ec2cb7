/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/**
 * The shard map and the lookups as a router keeps them, and the news of them from the catalog. Internal: not for applications, and free to
 * change.
 */
@NullMarked
package org.shardflake.router.internal.map;

import org.jspecify.annotations.NullMarked;
