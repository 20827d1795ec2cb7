/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The commands: each parses, calls the package that does the work, and prints. The package of a noun has its commands; options that
 * several nouns share are in {@code option}.
 */
@NullMarked
package org.shardflake.cli.command;

import org.jspecify.annotations.NullMarked;
