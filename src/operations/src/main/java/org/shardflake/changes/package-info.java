/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The change stream: a publication on each server that contains the tables of exactly the shards there. */
@NullMarked
package org.shardflake.changes;

import org.jspecify.annotations.NullMarked;
