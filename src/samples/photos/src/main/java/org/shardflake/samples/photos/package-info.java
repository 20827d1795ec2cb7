/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** A sample: users post photos, like them, and see the newest of all, while shards move between servers. */
@NullMarked
package org.shardflake.samples.photos;

import org.jspecify.annotations.NullMarked;
