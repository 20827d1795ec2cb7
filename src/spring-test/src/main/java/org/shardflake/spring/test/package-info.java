/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/** Tests of Spring applications: {@link org.shardflake.spring.test.ShardflakeTest} and, for Docker, a container. */
@NullMarked
package org.shardflake.spring.test;

import org.jspecify.annotations.NullMarked;
