/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads a number of bytes: 500000, 64kB, 20MB, 1GB, each unit 1024 times the one before, as PostgreSQL reads them. */
public final class BytesConverter implements ITypeConverter<Long> {

    private static final Pattern BYTES = Pattern.compile("([0-9]{1,12})(b|kb|mb|gb)?");

    @Override
    public Long convert(String text) {
        Matcher matcher = BYTES.matcher(text.toLowerCase(Locale.ROOT));
        if (!matcher.matches()) {
            throw new TypeConversionException(
                    "'%s' is not a number of bytes such as 500000, 64kB or 20MB".formatted(text));
        }
        String unit = matcher.group(2);
        int shift = unit == null ? 0 : 10 * "bkmg".indexOf(unit.charAt(0));
        return Math.multiplyExact(Long.parseLong(matcher.group(1)), 1L << shift);
    }
}
