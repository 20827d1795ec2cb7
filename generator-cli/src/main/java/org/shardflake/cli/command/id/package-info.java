/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The commands {@code id}, which need no server. */
@NullMarked
package org.shardflake.cli.command.id;

import org.jspecify.annotations.NullMarked;
