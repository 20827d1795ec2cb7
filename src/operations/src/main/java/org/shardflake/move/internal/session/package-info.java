/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** A move's sessions on its two servers, which can be stopped, and the queries and changes made in them. Internal: not for applications. */
@NullMarked
package org.shardflake.move.internal.session;

import org.jspecify.annotations.NullMarked;
