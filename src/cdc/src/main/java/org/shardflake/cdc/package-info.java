/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Reads the changes of all shards, each once and in order, while shards move. */
@NullMarked
package org.shardflake.cdc;

import org.jspecify.annotations.NullMarked;
