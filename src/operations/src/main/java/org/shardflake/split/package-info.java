/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** Splits a server by its physical standby. Start with {@link org.shardflake.split.Splitter}. */
@NullMarked
package org.shardflake.split;

import org.jspecify.annotations.NullMarked;
