/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The schemes for ids side by side, in tables of one PostgreSQL server. {@link org.shardflake.benchmarks.ids.IdComparison} runs the
 * comparison.
 */
@NullMarked
package org.shardflake.benchmarks.ids;

import org.jspecify.annotations.NullMarked;
