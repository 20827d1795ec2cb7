/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/**
 * Pooled sessions on one server: lent for a shard, watched while they are used, and given back as they were.
 * Internal: not for applications, and free to change.
 */
@NullMarked
package org.shardflake.router.internal.session;

import org.jspecify.annotations.NullMarked;
