/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads {@code 500ms}, {@code 10s} or {@code 5m}. */
public final class DurationConverter implements ITypeConverter<Duration> {

    private static final Pattern FORM = Pattern.compile("(?<number>\\d{1,9})(?<unit>ms|s|m)");

    @Override
    public Duration convert(String text) {
        Matcher duration = FORM.matcher(text);
        if (!duration.matches()) {
            throw new TypeConversionException("'%s' is not a duration such as 500ms, 10s or 5m".formatted(text));
        }
        long number = Long.parseLong(duration.group("number"));
        return switch (duration.group("unit")) {
            case "ms" -> Duration.ofMillis(number);
            case "s" -> Duration.ofSeconds(number);
            default -> Duration.ofMinutes(number);
        };
    }
}
