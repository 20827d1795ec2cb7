/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/**
 * The lexer of SQL that the router and the engines share. Internal: not for applications, and free to change.
 */
@NullMarked
package org.shardflake.server.internal.sqltext;

import org.jspecify.annotations.NullMarked;
