/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Assesses how an existing database would be sharded: by which key, where each table would go, what stands in the way, and which share of its
 * statements could be sent to one shard. {@link org.shardflake.assess.Assessor} is the way in. Only reads.
 */
@NullMarked
package org.shardflake.assess;

import org.jspecify.annotations.NullMarked;
