/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** Publications, subscriptions and slots of PostgreSQL's logical replication, and what is wrong with them. */
@NullMarked
package org.shardflake.replication;

import org.jspecify.annotations.NullMarked;
