/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.io.Serial;
import org.shardflake.ShardflakeId;
import org.springframework.core.convert.converter.Converter;

/** Converts ids from requests and rows, and back. Classes, since Spring looks for their type arguments. */
final class IdConverters {

    private IdConverters() {}

    static final class FromText implements Converter<String, ShardflakeId> {
        @Override
        public ShardflakeId convert(String text) {
            try {
                return ShardflakeId.parse(text);
            } catch (NumberFormatException e) {
                throw new NotAnIdException(e);
            }
        }
    }

    /** Marks the failures that {@link NotAnIdAdvice} answers. */
    static final class NotAnIdException extends IllegalArgumentException {

        @Serial
        private static final long serialVersionUID = 1L;

        NotAnIdException(NumberFormatException cause) {
            super(cause.getMessage(), cause);
        }
    }

    static final class ToText implements Converter<ShardflakeId, String> {
        @Override
        public String convert(ShardflakeId id) {
            return id.toString();
        }
    }

    static final class FromNumber implements Converter<Long, ShardflakeId> {
        @Override
        public ShardflakeId convert(Long value) {
            return ShardflakeId.of(value);
        }
    }
}
