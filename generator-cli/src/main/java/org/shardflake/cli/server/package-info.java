/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Connects to PostgreSQL servers and draws ids from them. */
@NullMarked
package org.shardflake.cli.server;

import org.jspecify.annotations.NullMarked;
