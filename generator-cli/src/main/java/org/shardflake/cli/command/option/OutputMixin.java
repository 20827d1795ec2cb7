/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.option;

import java.io.PrintWriter;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.output.JsonWriter;
import org.shardflake.cli.output.OutputFormat;
import org.shardflake.cli.output.Redraw;
import org.shardflake.cli.output.TerminalSize;
import org.shardflake.cli.output.Visible;
import org.shardflake.cli.output.YamlWriter;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** The options that choose the output format. */
public final class OutputMixin {

    @Spec(Spec.Target.MIXEE)
    private CommandSpec command;

    @Option(
            names = {"-o", "--output"},
            paramLabel = "FORMAT",
            defaultValue = "table",
            converter = FormatConverter.class,
            completionCandidates = FormatNames.class,
            description = "table, json or yaml (default: ${DEFAULT-VALUE}).")
    private OutputFormat format;

    @SuppressWarnings("UnusedMethod") // picocli calls it
    @Option(names = "--wide", description = "All columns of tables, also on a terminal that is too narrow for them.")
    private void wide(boolean wide) {
        if (wide) {
            TerminalSize.ignore();
        }
    }

    public OutputFormat format() {
        return format;
    }

    /** Prints one result: its facts (a map or a list of maps) as JSON or YAML, or else the text for people. */
    public void print(Object facts, Supplier<String> table) {
        PrintWriter out = command.commandLine().getOut();
        switch (format) {
            case TABLE -> out.println(Visible.lines(table.get().stripTrailing()));
            case JSON -> out.println(JsonWriter.write(facts));
            case YAML -> out.print(YamlWriter.write(facts));
        }
    }

    /**
     * Prints SQL to be run.
     *
     * @throws CliException if it contains what is shown in another form, which would be other SQL
     */
    public void printSql(Object facts, Supplier<String> sql) {
        print(facts, () -> {
            String text = sql.get();
            if (!Visible.lines(text).equals(text)) {
                throw new CliException(
                        Kind.PRECONDITION,
                        "the SQL has a name with control characters, which are shown and not printed: %s"
                                .formatted(text.lines()
                                        .filter(line -> !Visible.lines(line).equals(line))
                                        .findFirst()
                                        .orElse("")),
                        "take it from -o json, where they are escapes");
            }
            return text;
        });
    }

    /** Prints like {@link #print}, repeatedly: on a terminal, each table replaces the previous one. */
    public void printAgain(Redraw redraw, Object facts, Supplier<String> table) {
        if (format == OutputFormat.TABLE) {
            redraw.show(Visible.lines(table.get()));
        } else {
            print(facts, table);
            command.commandLine().getOut().flush();
        }
    }

    static final class FormatNames implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return List.of("table", "json", "yaml").iterator();
        }
    }

    static final class FormatConverter implements ITypeConverter<OutputFormat> {
        @Override
        public OutputFormat convert(String text) {
            try {
                return OutputFormat.valueOf(text.toUpperCase(Locale.ROOT));
            } catch (IllegalArgumentException e) {
                throw new TypeConversionException("'%s' is not one of table, json, yaml".formatted(text));
            }
        }
    }
}
