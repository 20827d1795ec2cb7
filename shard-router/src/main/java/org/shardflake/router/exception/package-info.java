/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** What can go wrong on the way to a shard: each exception tells one kind of failure, and whether anything was written. */
@NullMarked
package org.shardflake.router.exception;

import org.jspecify.annotations.NullMarked;
