/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** What many shards on a server cost. */
@NullMarked
package org.shardflake.benchmarks.growth;

import org.jspecify.annotations.NullMarked;
