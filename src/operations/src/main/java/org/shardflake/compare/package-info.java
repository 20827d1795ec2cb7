/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Compares rows between servers. */
@NullMarked
package org.shardflake.compare;

import org.jspecify.annotations.NullMarked;
