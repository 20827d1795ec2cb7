/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Ids in JSON, as strings: register an {@link org.shardflake.jackson.ShardflakeModule} with Jackson 2's mapper. Needs
 * {@code com.fasterxml.jackson.core:jackson-databind}.
 */
@NullMarked
package org.shardflake.jackson;

import org.jspecify.annotations.NullMarked;
