/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import java.io.Serial;
import java.io.Serializable;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The next step in words, with the commands that it mentions. It stands wherever a plain sentence can. */
public final class Advice implements CharSequence, Serializable {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String text;
    private final List<CliCommand> commands;

    private Advice(String text, List<CliCommand> commands) {
        this.text = text;
        this.commands = commands;
    }

    /**
     * Advice that contains commands.
     *
     * @param words as for {@link String#format}
     * @param values what the words are formatted with; commands among them, and those of other advice, can be read back
     */
    @SuppressWarnings("AnnotateFormatMethod") // which would need another library
    public static Advice of(String words, Object... values) {
        List<CliCommand> commands = Arrays.stream(values)
                .flatMap(value -> value instanceof CliCommand command
                        ? Stream.of(command)
                        : value instanceof Advice advice ? advice.commands.stream() : Stream.empty())
                .toList();
        return new Advice(words.formatted(values), commands);
    }

    /** Plain text as advice without commands; {@link Advice} is returned unchanged. */
    public static Advice of(CharSequence text) {
        return text instanceof Advice advice ? advice : new Advice(text.toString(), List.of());
    }

    /** The commands in the order of the words. */
    public List<CliCommand> commands() {
        return commands;
    }

    @Override
    public int length() {
        return text.length();
    }

    @Override
    public char charAt(int index) {
        return text.charAt(index);
    }

    @Override
    public CharSequence subSequence(int start, int end) {
        return text.subSequence(start, end);
    }

    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof Advice advice && text.equals(advice.text) && commands.equals(advice.commands);
    }

    @Override
    public int hashCode() {
        return Objects.hash(text, commands);
    }

    /** The words, with each command in the form for a terminal. */
    @Override
    public String toString() {
        return text;
    }
}
