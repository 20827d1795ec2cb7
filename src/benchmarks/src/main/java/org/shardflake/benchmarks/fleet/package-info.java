/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** A simulated fleet of servers: what grows, fills up or runs out where no one machine can be measured. */
@NullMarked
package org.shardflake.benchmarks.fleet;

import org.jspecify.annotations.NullMarked;
