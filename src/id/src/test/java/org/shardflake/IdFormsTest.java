/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.CsvSource;

class IdFormsTest {

    private static final int CASES = 100_000;

    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);

    @ParameterizedTest
    @CsvFileSource(resources = "/vectors/forms.csv", useHeadersInDisplayName = true)
    void writesAndReadsTheSharedVectors(long id, String base32, String shortcode) {
        assertThat(ShardflakeId.of(id).toBase32()).isEqualTo(base32);
        assertThat(ShardflakeId.parseBase32(base32).value()).isEqualTo(id);
        assertThat(ShardflakeId.of(id).toShortcode()).isEqualTo(shortcode);
        assertThat(ShardflakeId.parseShortcode(shortcode).value()).isEqualTo(id);
    }

    @Test
    void readsWhatItWritesForAnyId() {
        random.longs(CASES)
                .mapToObj(bits -> ShardflakeId.of(bits >>> random.nextInt(64)))
                .forEach(id -> {
                    assertThat(ShardflakeId.parseBase32(id.toBase32()))
                            .as("seed %s", seed)
                            .isEqualTo(id);
                    assertThat(ShardflakeId.parseShortcode(id.toShortcode()))
                            .as("seed %s", seed)
                            .isEqualTo(id);
                });
    }

    @Test
    void base32SortsLikeTheUnsignedNumber() {
        List<Long> ids = random.longs(CASES).boxed().toList();

        assertThat(ids.stream()
                        .map(ShardflakeId::of)
                        .map(ShardflakeId::toBase32)
                        .sorted())
                .as("seed %s", seed)
                .containsExactlyElementsOf(ids.stream()
                        .sorted(Long::compareUnsigned)
                        .map(ShardflakeId::of)
                        .map(ShardflakeId::toBase32)
                        .toList());
    }

    @Test
    void base32IsReadInLowerCaseAndWithTheLettersThatLookLikeDigits() {
        assertThat(ShardflakeId.parseBase32("00aaqz8619xw9").value()).isEqualTo(11637205501278089L);
        assertThat(ShardflakeId.parseBase32("oOAAQZ86i9XW9").value()).isEqualTo(11637205501278089L);
        assertThat(ShardflakeId.parseBase32("00AAQZ86l9XW9")).isEqualTo(ShardflakeId.parseBase32("00AAQZ86L9XW9"));
        assertThat(ShardflakeId.parseBase32("00AAQZ86I9XW9").toBase32()).isEqualTo("00AAQZ8619XW9");
    }

    /** Where upper case of i is not I. */
    @Test
    void base32IsReadAlikeInEveryLocale() {
        Locale before = Locale.getDefault();
        Locale.setDefault(Locale.forLanguageTag("tr"));
        try {
            assertThat(ShardflakeId.parseBase32("000000000000i").value()).isEqualTo(1);
        } finally {
            Locale.setDefault(before);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "''                | it has 0 characters instead of 13",
                "00AAQZ8619XW      | it has 12 characters instead of 13",
                "00AAQZ8619XW90    | it has 14 characters instead of 13",
                "00AAQ-Z8619XW     | character 6 is not one of 0-9 and A-Z without U",
                "00AAQZ8619XWU     | character 13 is not one of 0-9 and A-Z without U",
                "00AAQZ8619XWé     | character 13 is not one of 0-9 and A-Z without U",
                "G000000000000     | it is out of range 0000000000000..FZZZZZZZZZZZZ"
            })
    void saysWhatIsWrongWithBase32(String text, String reason) {
        assertThatThrownBy(() -> ShardflakeId.parseBase32(text))
                .isInstanceOf(NumberFormatException.class)
                .hasMessage("\"%s\" is not an id in base32: %s", text, reason);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "''                | it has 0 characters instead of 1 to 11",
                "pV_oMFPeJ000      | it has 12 characters instead of 1 to 11",
                "pV+oMFPeJ         | character 3 is not one of A-Z, a-z, 0-9, - and _",
                "pV_oMFPeJ=        | character 10 is not one of A-Z, a-z, 0-9, - and _",
                "Q__________       | it is out of range A..P__________",
                "ApV_oMFPeJ        | it begins with A, a zero, which is left out"
            })
    void saysWhatIsWrongWithAShortcode(String text, String reason) {
        assertThatThrownBy(() -> ShardflakeId.parseShortcode(text))
                .isInstanceOf(NumberFormatException.class)
                .hasMessage("\"%s\" is not a shortcode: %s", text, reason);
    }
}
