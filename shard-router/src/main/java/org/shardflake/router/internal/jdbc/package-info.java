/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** Wrappers of the driver's JDBC objects, which forward, report or refuse calls. Internal: not for applications, and free to change. */
@NullMarked
package org.shardflake.router.internal.jdbc;

import org.jspecify.annotations.NullMarked;
