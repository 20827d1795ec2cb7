/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Reference tables: small tables that every server has, and that are written on one of them. {@link org.shardflake.reference.ReferenceTables}
 * is the way in.
 */
@NullMarked
package org.shardflake.reference;

import org.jspecify.annotations.NullMarked;
