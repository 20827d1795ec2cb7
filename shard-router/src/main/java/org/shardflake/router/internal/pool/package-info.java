/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/**
 * The pools of each server that the router uses, opened with the map and closed when a server leaves it.
 * Internal: not for applications, and free to change.
 */
@NullMarked
package org.shardflake.router.internal.pool;

import org.jspecify.annotations.NullMarked;
