/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The commands {@code schema}. */
@NullMarked
package org.shardflake.cli.command.schema;

import org.jspecify.annotations.NullMarked;
