/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Reaching a PostgreSQL server, and drawing ids from it. */
@NullMarked
package org.shardflake.cli.server;

import org.jspecify.annotations.NullMarked;
