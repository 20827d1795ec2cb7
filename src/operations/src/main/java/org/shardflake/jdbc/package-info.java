/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Short SQL on a connection, and waiting for what it asks for: for the packages that work on servers. */
@NullMarked
package org.shardflake.jdbc;

import org.jspecify.annotations.NullMarked;
