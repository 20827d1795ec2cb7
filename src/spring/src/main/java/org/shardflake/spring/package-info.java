/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Shardflake in a Spring Boot application: {@link org.shardflake.spring.OnShard} together with {@code @Transactional}, and {@link
 * org.shardflake.spring.ShardTemplate}.
 */
@NullMarked
package org.shardflake.spring;

import org.jspecify.annotations.NullMarked;
