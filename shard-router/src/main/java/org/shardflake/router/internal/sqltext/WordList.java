/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.sqltext;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;

/** A list of words in a file of this package: one a line, with comments after {@code #}. */
final class WordList {

    private WordList() {}

    static Set<String> read(String file) {
        try (InputStream words = WordList.class.getResourceAsStream(file)) {
            return new String(Objects.requireNonNull(words).readAllBytes(), US_ASCII)
                    .lines()
                    .map(line -> line.replaceFirst("#.*", "").strip())
                    .filter(word -> !word.isEmpty())
                    .collect(Collectors.toUnmodifiableSet());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
