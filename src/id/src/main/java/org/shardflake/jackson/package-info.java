/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Ids in JSON, as strings: register a {@link org.shardflake.jackson.ShardflakeJacksonModule} with Jackson 3's mapper, or a {@link
 * org.shardflake.jackson.ShardflakeModule} with Jackson 2's. Needs {@code jackson-databind} of either.
 */
@NullMarked
package org.shardflake.jackson;

import org.jspecify.annotations.NullMarked;
