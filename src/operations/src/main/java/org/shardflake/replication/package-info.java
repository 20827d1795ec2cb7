/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** PostgreSQL's logical replication: publications, subscriptions and slots, and problems with them. */
@NullMarked
package org.shardflake.replication;

import org.jspecify.annotations.NullMarked;
