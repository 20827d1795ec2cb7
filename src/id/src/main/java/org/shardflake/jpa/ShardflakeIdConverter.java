/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jpa;

import jakarta.persistence.AttributeConverter;
import jakarta.persistence.Converter;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeId;

/**
 * Maps attributes of type {@link ShardflakeId} to {@code bigint} columns; null stays null.
 *
 * <p>List it in the persistence unit like an entity, and it converts all such attributes automatically; or set it on
 * one attribute, with {@code @Convert(converter = ShardflakeIdConverter.class)}. JPA converts no attribute marked
 * {@code @Id}: keep a {@code Long} there, and wrap it in the accessor.
 *
 * <p>Thread-safe.
 */
@Converter(autoApply = true)
public final class ShardflakeIdConverter implements AttributeConverter<ShardflakeId, Long> {

    @Override
    public @Nullable Long convertToDatabaseColumn(@Nullable ShardflakeId id) {
        return id == null ? null : id.value();
    }

    @Override
    public @Nullable ShardflakeId convertToEntityAttribute(@Nullable Long value) {
        return value == null ? null : ShardflakeId.of(value);
    }
}
