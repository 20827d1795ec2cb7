/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.sql;

import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import org.shardflake.cli.output.RowsWriter;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/** The option that chooses a format for any number of rows. */
final class RowFormatMixin {

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FORMAT",
            defaultValue = "table",
            converter = Converter.class,
            completionCandidates = Names.class,
            description = "table, json (an array, a row on each line) or csv (default: ${DEFAULT-VALUE}).")
    private RowsWriter.Format format;

    RowsWriter.Format format() {
        return format;
    }

    static final class Names implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return List.of("table", "json", "csv").iterator();
        }
    }

    static final class Converter implements ITypeConverter<RowsWriter.Format> {
        @Override
        public RowsWriter.Format convert(String text) {
            if (text.equalsIgnoreCase("yaml")) { // As in settings; JSON is YAML, too.
                return RowsWriter.Format.JSON;
            }
            try {
                return RowsWriter.Format.valueOf(text.toUpperCase(Locale.ROOT));
            } catch (IllegalArgumentException e) {
                throw new TypeConversionException("'%s' is not one of table, json, csv".formatted(text));
            }
        }
    }
}
