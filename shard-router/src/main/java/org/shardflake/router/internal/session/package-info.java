/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/**
 * Pooled sessions on one server: leased for a shard, watched while in use, and reset on return. Internal: not for applications, and free to
 * change.
 */
@NullMarked
package org.shardflake.router.internal.session;

import org.jspecify.annotations.NullMarked;
