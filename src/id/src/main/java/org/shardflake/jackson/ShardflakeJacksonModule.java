/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jackson;

import java.io.Serial;
import java.math.BigInteger;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeId;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.databind.DeserializationContext;
import tools.jackson.databind.KeyDeserializer;
import tools.jackson.databind.SerializationContext;
import tools.jackson.databind.deser.std.StdScalarDeserializer;
import tools.jackson.databind.module.SimpleModule;
import tools.jackson.databind.ser.std.StdScalarSerializer;

/**
 * The JSON form of {@link ShardflakeId} for Jackson 3, the same as {@link ShardflakeModule}'s for Jackson 2: a string; numbers are read only if
 * they cannot have been rounded.
 *
 * <pre>{@code
 * JsonMapper mapper = JsonMapper.builder().addModule(new ShardflakeJacksonModule()).build();
 * }</pre>
 *
 * <p>Jackson finds the module by itself with {@code findAndAddModules}.
 */
public final class ShardflakeJacksonModule extends SimpleModule {

    @Serial
    private static final long serialVersionUID = 1L;

    public ShardflakeJacksonModule() {
        super(ShardflakeJacksonModule.class.getName());
        addSerializer(new IdSerializer());
        addKeySerializer(ShardflakeId.class, new IdKeySerializer());
        addDeserializer(ShardflakeId.class, new IdDeserializer());
        addKeyDeserializer(ShardflakeId.class, new IdKeyDeserializer());
    }

    private static final class IdSerializer extends StdScalarSerializer<ShardflakeId> {
        IdSerializer() {
            super(ShardflakeId.class);
        }

        @Override
        public void serialize(ShardflakeId id, JsonGenerator json, SerializationContext context) {
            json.writeString(id.toString());
        }
    }

    private static final class IdKeySerializer extends StdScalarSerializer<ShardflakeId> {
        IdKeySerializer() {
            super(ShardflakeId.class);
        }

        @Override
        public void serialize(ShardflakeId id, JsonGenerator json, SerializationContext context) {
            json.writeName(id.toString());
        }
    }

    private static final class IdDeserializer extends StdScalarDeserializer<ShardflakeId> {
        IdDeserializer() {
            super(ShardflakeId.class);
        }

        @Override
        public @Nullable ShardflakeId deserialize(JsonParser json, DeserializationContext context) {
            if (json.hasToken(JsonToken.VALUE_STRING)) {
                return parse(json.getString(), context);
            }
            if (json.hasToken(JsonToken.VALUE_NUMBER_INT)) {
                return exact(json.getBigIntegerValue(), context);
            }
            if (json.hasToken(JsonToken.VALUE_NUMBER_FLOAT)) {
                return (ShardflakeId)
                        context.handleWeirdStringValue(handledType(), json.getString(), IdNumbers.NOT_WHOLE);
            }
            return (ShardflakeId) context.handleUnexpectedToken(getValueType(context), json);
        }

        private @Nullable ShardflakeId exact(BigInteger number, DeserializationContext context) {
            if (IdNumbers.isExact(number)) {
                return ShardflakeId.of(number.longValue());
            }
            return (ShardflakeId) context.handleWeirdNumberValue(handledType(), number, IdNumbers.ROUNDED);
        }

        private @Nullable ShardflakeId parse(String text, DeserializationContext context) {
            try {
                return ShardflakeId.parse(text);
            } catch (NumberFormatException e) {
                return (ShardflakeId) context.handleWeirdStringValue(handledType(), text, "%s", e.getMessage());
            }
        }
    }

    private static final class IdKeyDeserializer extends KeyDeserializer {
        @Override
        public @Nullable Object deserializeKey(String key, DeserializationContext context) {
            try {
                return ShardflakeId.parse(key);
            } catch (NumberFormatException e) {
                return context.handleWeirdKey(ShardflakeId.class, key, "%s", e.getMessage());
            }
        }
    }
}
