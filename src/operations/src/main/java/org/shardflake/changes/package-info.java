/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The change stream: a publication on each server that has the tables of exactly the shards that are there. */
@NullMarked
package org.shardflake.changes;

import org.jspecify.annotations.NullMarked;
