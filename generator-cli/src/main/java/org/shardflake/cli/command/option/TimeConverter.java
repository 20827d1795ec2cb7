/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.time.Instant;
import java.time.format.DateTimeParseException;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Parses a moment: UTC milliseconds, or ISO-8601 with a zone. It always fits into milliseconds. */
public final class TimeConverter implements ITypeConverter<Instant> {

    private static final Instant FIRST = Instant.ofEpochMilli(Long.MIN_VALUE);
    private static final Instant LAST = Instant.ofEpochMilli(Long.MAX_VALUE);

    @Override
    public Instant convert(String text) {
        try {
            if (text.matches("-?[0-9]+")) {
                return Instant.ofEpochMilli(Long.parseLong(text));
            }
            Instant time = Instant.parse(text);
            return time.isBefore(FIRST) || time.isAfter(LAST) ? refuse(text) : time;
        } catch (NumberFormatException | DateTimeParseException e) {
            return refuse(text);
        }
    }

    private static Instant refuse(String text) {
        throw new TypeConversionException(
                "'%s' is neither UTC milliseconds nor an ISO-8601 instant such as 2026-01-31T12:00:00Z"
                        .formatted(text));
    }
}
