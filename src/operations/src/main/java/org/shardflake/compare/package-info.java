/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Compares rows between servers, and finds what belongs to them and is missing. */
@NullMarked
package org.shardflake.compare;

import org.jspecify.annotations.NullMarked;
