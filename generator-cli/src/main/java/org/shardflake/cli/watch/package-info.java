/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The HTTP servers: metrics of an installation, and what they share with the console. */
@NullMarked
package org.shardflake.cli.watch;

import org.jspecify.annotations.NullMarked;
