/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/**
 * JDBC objects around those of the driver, which pass calls on, report them or refuse some. Internal: not for
 * applications, and free to change.
 */
@NullMarked
package org.shardflake.router.internal.jdbc;

import org.jspecify.annotations.NullMarked;
