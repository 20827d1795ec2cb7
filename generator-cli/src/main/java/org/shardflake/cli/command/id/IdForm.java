/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.id;

import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import org.shardflake.ShardflakeId;
import org.shardflake.cli.command.option.IdKeyMixin;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A text form of an id. */
enum IdForm {
    DECIMAL,
    BASE32,
    SHORTCODE,
    PUBLIC;

    /**
     * Parses a text in this form.
     *
     * @throws NumberFormatException if the text is not an id
     */
    ShardflakeId read(String text, IdKeyMixin key) {
        return switch (this) {
            case DECIMAL -> ShardflakeId.parse(text);
            case BASE32 -> ShardflakeId.parseBase32(text);
            case SHORTCODE -> ShardflakeId.parseShortcode(text);
            case PUBLIC -> key.publicIds().decode(text);
        };
    }

    /**
     * Writes an id in this form.
     *
     * @throws IllegalArgumentException if the id has no such form
     */
    String write(ShardflakeId id, IdKeyMixin key) {
        return switch (this) {
            case DECIMAL -> id.toString();
            case BASE32 -> id.toBase32();
            case SHORTCODE -> id.toShortcode();
            case PUBLIC -> key.publicIds().encode(id);
        };
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }

    static final class Names implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return List.of("decimal", "base32", "shortcode", "public").iterator();
        }
    }

    static final class Converter implements ITypeConverter<IdForm> {
        @Override
        public IdForm convert(String text) {
            try {
                return valueOf(text.toUpperCase(Locale.ROOT));
            } catch (IllegalArgumentException e) {
                throw new TypeConversionException(
                        "'%s' is not one of decimal, base32, shortcode, public".formatted(text));
            }
        }
    }
}
