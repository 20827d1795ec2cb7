/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** Debezium's embedded engines read all servers. */
@NullMarked
package org.shardflake.samples.debezium;

import org.jspecify.annotations.NullMarked;
