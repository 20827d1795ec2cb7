/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** The names of an enum in lower case as an option's choices, for completion and for parsing. */
public abstract class EnumNames<E extends Enum<E>> implements Iterable<String>, ITypeConverter<E> {

    private final Class<E> type;

    public EnumNames(Class<E> type) {
        this.type = type;
    }

    private List<String> names() {
        return Arrays.stream(type.getEnumConstants())
                .map(value -> value.name().toLowerCase(Locale.ROOT))
                .toList();
    }

    @Override
    public Iterator<String> iterator() {
        return names().iterator();
    }

    @Override
    public E convert(String text) {
        if (!names().contains(text)) {
            throw new TypeConversionException("'%s' is not one of %s".formatted(text, String.join(", ", names())));
        }
        return Enum.valueOf(type, text.toUpperCase(Locale.ROOT));
    }
}
