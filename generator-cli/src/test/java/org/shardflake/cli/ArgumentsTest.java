/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.shardflake.cli.error.CliException;

class ArgumentsTest {

    private static List<byte[]> raw(String... words) {
        return List.of(words).stream().map(word -> word.getBytes(UTF_8)).toList();
    }

    @Test
    void whatTheLocaleHasReplacedIsReadAgain() {
        String[] decoded = {"--key", "Z??rich", "\uFFFD\uFFFD", "", "why?"};

        assertThat(Arguments.decode(decoded, raw("java", "-jar", "x", "--key", "Z\u00fcrich", "\u00fc", "", "why?")))
                .containsExactly("--key", "Z\u00fcrich", "\u00fc", "", "why?");
    }

    @Test
    void bytesThatAreNotUtf8AreRefused() {
        List<byte[]> latin = List.of("java".getBytes(UTF_8), "Z\u00fcrich".getBytes(ISO_8859_1));

        assertThatExceptionOfType(CliException.class)
                .isThrownBy(() -> Arguments.decode(new String[] {"Z?rich"}, latin))
                .withMessage("word 1 of the command line is not UTF-8: Z\uFFFDrich");
        assertThatExceptionOfType(CliException.class)
                .isThrownBy(() -> Arguments.decode(new String[] {"Z\uFFFDrich"}, null))
                .withMessage("word 1 of the command line is not UTF-8: Z\uFFFDrich");
    }
}
