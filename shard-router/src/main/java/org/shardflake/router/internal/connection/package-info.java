/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/**
 * The connections to one server, and the choice among them by shard.
 * Internal: not for applications, and free to change.
 */
@NullMarked
package org.shardflake.router.internal.connection;

import org.jspecify.annotations.NullMarked;
