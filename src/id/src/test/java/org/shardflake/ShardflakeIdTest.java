/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ShardflakeIdTest {

    @Test
    void readsItsFields() {
        ShardflakeId id = ShardflakeId.parse("11637205501278089");

        assertThat(id).isEqualTo(ShardflakeId.of(11_637_205_501_278_089L)).hasToString("11637205501278089");
        assertThat(id.elapsedMillis()).isEqualTo(1_387_263_000L);
        assertThat(id.shard()).isEqualTo(1341);
        assertThat(id.sequence()).isEqualTo(905);
        assertThat(id.time(new IdLayout(1_293_840_000_000L))).isEqualTo("2011-01-17T01:21:03Z");
    }

    @ParameterizedTest
    @CsvSource({
        "0,                    0",
        "-0,                   0",
        "007,                  7",
        "-1,                   -1",
        "9223372036854775799,  9223372036854775799",
        "9223372036854775807,  9223372036854775807",
        "9223372036854775808,  -9223372036854775808",
        "-9223372036854775808, -9223372036854775808",
        "18446744073709551615, -1",
        "018446744073709551615, -1",
    })
    void parsesEvery64BitNumber(String text, long value) {
        assertThat(ShardflakeId.parse(text).value()).isEqualTo(value);
    }

    @Test
    void parsesWhatPostgresPrintsAndItsUnsignedForm() {
        SplittableRandom random = new SplittableRandom(7);
        for (int i = 0; i < 100_000; i++) {
            long value = random.nextLong() >>> random.nextInt(64);

            assertThat(ShardflakeId.parse(Long.toString(value)).value()).isEqualTo(value);
            assertThat(ShardflakeId.parse(Long.toUnsignedString(value)).value()).isEqualTo(value);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "18446744073709551616",
                "18446744073709551620",
                "-9223372036854775809",
                "-18446744073709551615",
                "99999999999999999999",
                "184467440737095516150",
                "100000000000000000000000000000000000000"
            })
    void refusesWhatDoesNotFit64Bits(String text) {
        assertThatExceptionOfType(NumberFormatException.class)
                .isThrownBy(() -> ShardflakeId.parse(text))
                .withMessage(
                        "\"%s\" is not an id: it is out of range -9223372036854775808..18446744073709551615", text);
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '`',
            value = {
                "``,      `\"\" is not an id: it is empty`",
                "-,       `\"-\" is not an id: it has no digits`",
                "12x4,    `\"12x4\" is not an id: character 3 is not a digit`",
                "+5,      `\"+5\" is not an id: character 1 is not a digit`",
                "1.5,     `\"1.5\" is not an id: character 2 is not a digit`",
                "--1,     `\"--1\" is not an id: character 2 is not a digit`",
                "` 1`,    `\" 1\" is not an id: character 1 is not a digit`",
                "0x2A,    `\"0x2A\" is not an id: character 2 is not a digit`",
                "\u0661,  `\"\u0661\" is not an id: character 1 is not a digit`",
                "99999999999999999999999x, `\"99999999999999999999999x\" is not an id: character 24 is not a digit`",
            })
    void refusesWhatIsNoNumber(String text, String message) {
        assertThatExceptionOfType(NumberFormatException.class)
                .isThrownBy(() -> ShardflakeId.parse(text))
                .withMessage(message);
    }

    @Test
    void quotesForeignTextHarmlessly() {
        assertThatExceptionOfType(NumberFormatException.class)
                .isThrownBy(() -> ShardflakeId.parse("\u001b[2J" + "x".repeat(1000)))
                .withMessage("\"\\u001b[2J" + "x".repeat(36) + "...\" is not an id: character 1 is not a digit");
    }

    @Test
    void sortsAsPostgresDoes() {
        assertThat(Stream.of(7, -1, 0, Long.MAX_VALUE, Long.MIN_VALUE)
                        .map(number -> ShardflakeId.of(number.longValue()))
                        .sorted())
                .extracting(ShardflakeId::value)
                .containsExactly(Long.MIN_VALUE, -1L, 0L, 7L, Long.MAX_VALUE);
    }
}
