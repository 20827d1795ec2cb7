/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The commands {@code reference}. */
@NullMarked
package org.shardflake.cli.command.reference;

import org.jspecify.annotations.NullMarked;
