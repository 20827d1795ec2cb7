/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** Trino over the servers of the shards. */
@NullMarked
package org.shardflake.samples.trino;

import org.jspecify.annotations.NullMarked;
