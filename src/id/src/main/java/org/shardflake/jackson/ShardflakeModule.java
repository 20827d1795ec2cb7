/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jackson;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.KeyDeserializer;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.deser.std.StdScalarDeserializer;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.StdScalarSerializer;
import java.io.IOException;
import java.io.Serial;
import java.math.BigInteger;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeId;

/**
 * The JSON form of {@link ShardflakeId} for Jackson 2: a string with its decimal number, also for keys of maps.
 *
 * <pre>{@code
 * ObjectMapper mapper = JsonMapper.builder().addModule(new ShardflakeModule()).build();
 * }</pre>
 *
 * <p>A string, because ids exceed the 2<sup>53</sup> up to which all readers agree on a JSON number (RFC 8259, section
 * 6). Numbers are read as well, but only whole ones up to 2<sup>53</sup>-1: a larger one may have been rounded before
 * it was sent, to the id of another row, so it is refused.
 *
 * <p>Jackson finds the module by itself with {@code findAndAddModules}.
 */
public final class ShardflakeModule extends SimpleModule {

    @Serial
    private static final long serialVersionUID = 1L;

    public ShardflakeModule() {
        super(ShardflakeModule.class.getName());
        addSerializer(new IdSerializer());
        addKeySerializer(ShardflakeId.class, new IdKeySerializer());
        addDeserializer(ShardflakeId.class, new IdDeserializer());
        addKeyDeserializer(ShardflakeId.class, new IdKeyDeserializer());
    }

    private static final class IdSerializer extends StdScalarSerializer<ShardflakeId> {
        @Serial
        private static final long serialVersionUID = 1L;

        IdSerializer() {
            super(ShardflakeId.class);
        }

        @Override
        public void serialize(ShardflakeId id, JsonGenerator json, SerializerProvider provider) throws IOException {
            json.writeString(id.toString());
        }
    }

    private static final class IdKeySerializer extends StdScalarSerializer<ShardflakeId> {
        @Serial
        private static final long serialVersionUID = 1L;

        IdKeySerializer() {
            super(ShardflakeId.class);
        }

        @Override
        public void serialize(ShardflakeId id, JsonGenerator json, SerializerProvider provider) throws IOException {
            json.writeFieldName(id.toString());
        }
    }

    private static final class IdDeserializer extends StdScalarDeserializer<ShardflakeId> {
        @Serial
        private static final long serialVersionUID = 1L;

        IdDeserializer() {
            super(ShardflakeId.class);
        }

        @Override
        public @Nullable ShardflakeId deserialize(JsonParser json, DeserializationContext context) throws IOException {
            if (json.hasToken(JsonToken.VALUE_STRING)) {
                return parse(json.getText(), context);
            }
            if (json.hasToken(JsonToken.VALUE_NUMBER_INT)) {
                return exact(json.getBigIntegerValue(), context);
            }
            if (json.hasToken(JsonToken.VALUE_NUMBER_FLOAT)) {
                return (ShardflakeId)
                        context.handleWeirdStringValue(handledType(), json.getText(), IdNumbers.NOT_WHOLE);
            }
            return (ShardflakeId) context.handleUnexpectedToken(handledType(), json);
        }

        private @Nullable ShardflakeId exact(BigInteger number, DeserializationContext context) throws IOException {
            if (IdNumbers.isExact(number)) {
                return ShardflakeId.of(number.longValue());
            }
            return (ShardflakeId) context.handleWeirdNumberValue(handledType(), number, IdNumbers.ROUNDED);
        }

        private @Nullable ShardflakeId parse(String text, DeserializationContext context) throws IOException {
            try {
                return ShardflakeId.parse(text);
            } catch (NumberFormatException e) {
                return (ShardflakeId) context.handleWeirdStringValue(handledType(), text, "%s", e.getMessage());
            }
        }
    }

    private static final class IdKeyDeserializer extends KeyDeserializer {
        @Override
        public @Nullable Object deserializeKey(String key, DeserializationContext context) throws IOException {
            try {
                return ShardflakeId.parse(key);
            } catch (NumberFormatException e) {
                return context.handleWeirdKey(ShardflakeId.class, key, "%s", e.getMessage());
            }
        }
    }
}
