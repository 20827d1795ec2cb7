/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.util.Iterator;
import java.util.List;
import org.shardflake.Spread;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Parses the initial layout of shards. */
public final class SpreadConverter implements ITypeConverter<Spread> {

    /** The values that completion offers. */
    public static final class Names implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return List.of("contiguous", "round-robin").iterator();
        }
    }

    @Override
    public Spread convert(String text) {
        return switch (text) {
            case "contiguous" -> Spread.CONTIGUOUS;
            case "round-robin" -> Spread.ROUND_ROBIN;
            default -> throw new TypeConversionException("'%s' is not one of contiguous, round-robin".formatted(text));
        };
    }
}
