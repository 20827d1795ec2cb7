/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import java.io.Serial;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The next step in words, with the commands that it mentions. It stands wherever a plain sentence can. */
public final class Advice implements CharSequence, Serializable {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String words;
    private final List<Object> values;
    private final String text;

    @SuppressWarnings("AnnotateFormatMethod") // which would need another library
    private Advice(String words, List<Object> values) {
        this.words = words;
        this.values = values;
        this.text = words.formatted(values.toArray());
    }

    /**
     * Advice that contains commands.
     *
     * @param words as for {@link String#format}
     * @param values what the words are formatted with; commands among them, and those of other advice, can be read back
     */
    public static Advice of(String words, Object... values) {
        return new Advice(words, Arrays.stream(values).map(Advice::kept).toList());
    }

    /** A value that can be serialized, and formatted like the given one. */
    private static Object kept(Object value) {
        return value instanceof CliCommand || value instanceof Advice || value instanceof Number
                ? value
                : String.valueOf(value);
    }

    /** Plain text as advice without commands; {@link Advice} is returned unchanged. */
    public static Advice of(CharSequence text) {
        return text instanceof Advice advice ? advice : new Advice("%s", List.of(text.toString()));
    }

    /** The commands in the order of the words. */
    public List<CliCommand> commands() {
        return values.stream()
                .flatMap(value -> value instanceof CliCommand command
                        ? Stream.of(command)
                        : value instanceof Advice advice ? advice.commands().stream() : Stream.empty())
                .toList();
    }

    /** This advice with other commands in place of its own. */
    public Advice with(UnaryOperator<CliCommand> change) {
        List<Object> others = new ArrayList<>();
        for (Object value : values) {
            others.add(
                    value instanceof CliCommand command
                            ? change.apply(command)
                            : value instanceof Advice advice ? advice.with(change) : value);
        }
        return new Advice(words, List.copyOf(others));
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
        return other instanceof Advice advice
                && text.equals(advice.text)
                && commands().equals(advice.commands());
    }

    @Override
    public int hashCode() {
        return Objects.hash(text, commands());
    }

    /** The words, with each command in the form for a terminal. */
    @Override
    public String toString() {
        return text;
    }
}
