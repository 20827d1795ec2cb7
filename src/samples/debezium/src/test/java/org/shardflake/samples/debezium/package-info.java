/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
/** Debezium reads all servers, in engines of its own and in Kafka Connect. */
@NullMarked
package org.shardflake.samples.debezium;

import org.jspecify.annotations.NullMarked;
