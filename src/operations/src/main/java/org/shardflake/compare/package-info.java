/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Whether rows on one server are the same as on another. */
@NullMarked
package org.shardflake.compare;

import org.jspecify.annotations.NullMarked;
