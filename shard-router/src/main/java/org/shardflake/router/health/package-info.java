/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** The state of a router, of its pools and of the servers that it knows, for health checks and metrics. */
@NullMarked
package org.shardflake.router.health;

import org.jspecify.annotations.NullMarked;
