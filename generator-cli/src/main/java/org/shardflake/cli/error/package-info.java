/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** The ways a command ends: an exit code, and an error with a hint. */
@NullMarked
package org.shardflake.cli.error;

import org.jspecify.annotations.NullMarked;
