/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Shorthand for SQL on a connection, and polling, for the packages that work on servers. */
@NullMarked
package org.shardflake.jdbc;

import org.jspecify.annotations.NullMarked;
