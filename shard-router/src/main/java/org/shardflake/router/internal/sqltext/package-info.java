/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/**
 * Readers of the text of SQL statements: the tables that a statement names, and its effects on the session. Internal:
 * not for applications, and free to change.
 */
@NullMarked
package org.shardflake.router.internal.sqltext;

import org.jspecify.annotations.NullMarked;
