/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jooq;

import java.io.Serial;
import org.jooq.impl.AbstractConverter;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeId;

/**
 * A {@code bigint} column as {@link ShardflakeId}; null stays null.
 *
 * <p>For generated code, name it in a forced type of the generator, with {@code userType}
 * {@code org.shardflake.ShardflakeId} and the columns' names. Otherwise convert a field where it is used:
 * {@code PHOTO.ID.convert(new ShardflakeIdConverter())}.
 *
 * <p>Thread-safe.
 */
public final class ShardflakeIdConverter extends AbstractConverter<Long, ShardflakeId> {

    @Serial
    private static final long serialVersionUID = 1L;

    public ShardflakeIdConverter() {
        super(Long.class, ShardflakeId.class);
    }

    @Override
    public @Nullable ShardflakeId from(@Nullable Long value) {
        return value == null ? null : ShardflakeId.of(value);
    }

    @Override
    public @Nullable Long to(@Nullable ShardflakeId id) {
        return id == null ? null : id.value();
    }
}
