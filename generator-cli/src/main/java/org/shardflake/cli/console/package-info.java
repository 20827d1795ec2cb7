/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The console: a web page for operators. Begin with {@link org.shardflake.cli.console.Console}. */
@NullMarked
package org.shardflake.cli.console;

import org.jspecify.annotations.NullMarked;
