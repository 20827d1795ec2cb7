/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Ids as attributes of JPA entities: {@link org.shardflake.jpa.ShardflakeIdConverter}. Needs {@code
 * jakarta.persistence:jakarta.persistence-api}.
 */
@NullMarked
package org.shardflake.jpa;

import org.jspecify.annotations.NullMarked;
