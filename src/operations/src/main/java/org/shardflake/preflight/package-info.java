/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** The checks before a move: what servers, schemas and roles must have, and what to do if they lack it. */
@NullMarked
package org.shardflake.preflight;

import org.jspecify.annotations.NullMarked;
