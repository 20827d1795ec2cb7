/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The commands {@code gateway}. */
@NullMarked
package org.shardflake.cli.command.gateway;

import org.jspecify.annotations.NullMarked;
