/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Compares rows between servers, and finds objects that belong to them but do not move with them. */
@NullMarked
package org.shardflake.compare;

import org.jspecify.annotations.NullMarked;
