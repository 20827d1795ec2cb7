/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The commands that show the load of a running installation: {@code top} and {@code exporter}. */
@NullMarked
package org.shardflake.cli.command.watch;

import org.jspecify.annotations.NullMarked;
