/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HexFormat;
import java.util.Random;
import java.util.stream.LongStream;
import org.bouncycastle.crypto.fpe.FPEFF1Engine;
import org.bouncycastle.crypto.params.FPEParameters;
import org.bouncycastle.crypto.params.KeyParameter;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvFileSource;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PublicIdsTest {

    private static final int KEYS = 50;
    private static final int IDS = 200;
    private static final int DIGITS = 63;

    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);

    @ParameterizedTest
    @CsvFileSource(resources = "/vectors/forms.csv", useHeadersInDisplayName = true)
    void writesAndReadsTheSharedVectors(long id, String base32, String shortcode, String key, String publicId) {
        if (id >= 0) {
            PublicIds publicIds = new PublicIds(HexFormat.of().parseHex(key));

            assertThat(publicIds.encode(ShardflakeId.of(id))).isEqualTo(publicId);
            assertThat(publicIds.decode(publicId).value()).isEqualTo(id);
        }
    }

    /** FF1 as others have it, for any radix and length. */
    @ParameterizedTest
    @ValueSource(ints = {16, 24, 32})
    void agreesWithBouncyCastle(int keyLength) {
        for (int i = 0; i < KEYS; i++) {
            byte[] key = new byte[keyLength];
            random.nextBytes(key);
            PublicIds publicIds = new PublicIds(key);
            FPEFF1Engine reference = new FPEFF1Engine();
            reference.init(true, new FPEParameters(new KeyParameter(key), 2, new byte[0]));
            for (int j = 0; j < IDS; j++) {
                ShardflakeId id = ShardflakeId.of(random.nextLong() >>> (1 + random.nextInt(DIGITS)));
                String publicId = publicIds.encode(id);

                assertThat(ShardflakeId.parseBase32(publicId).value())
                        .as("id %s, key %s, seed %s", id, HexFormat.of().formatHex(key), seed)
                        .isEqualTo(encrypt(reference, id.value()));
                assertThat(publicIds.decode(publicId)).isEqualTo(id);
            }
        }
    }

    private static long encrypt(FPEFF1Engine engine, long number) {
        byte[] digits = new byte[DIGITS];
        for (int i = 0; i < DIGITS; i++) {
            digits[i] = (byte) (number >>> (DIGITS - 1 - i) & 1);
        }
        engine.processBlock(digits, 0, DIGITS, digits, 0);
        long encrypted = 0;
        for (byte digit : digits) {
            encrypted = encrypted << 1 | digit;
        }
        return encrypted;
    }

    @Test
    void manyThreadsShareOne() {
        PublicIds shared = new PublicIds(new byte[16]);
        PublicIds own = new PublicIds(new byte[16]);
        String[] expected = LongStream.range(0, 10_000)
                .mapToObj(id -> own.encode(ShardflakeId.of(id)))
                .toArray(String[]::new);

        assertThat(LongStream.range(0, 10_000).parallel().filter(id -> {
                    String publicId = shared.encode(ShardflakeId.of(id));
                    return !publicId.equals(expected[(int) id])
                            || shared.decode(publicId).value() != id;
                }))
                .isEmpty();
    }

    @Test
    void keyIsCopied() {
        byte[] key = new byte[32];
        PublicIds publicIds = new PublicIds(key);
        String before = publicIds.encode(ShardflakeId.of(7));
        key[0] = 1;

        assertThat(publicIds.encode(ShardflakeId.of(7))).isEqualTo(before);
        assertThat(new PublicIds(key).encode(ShardflakeId.of(7))).isNotEqualTo(before);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 15, 17, 33})
    void refusesAKeyThatIsNotOfAes(int length) {
        assertThatThrownBy(() -> new PublicIds(new byte[length]))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("key has %s bytes instead of 16, 24 or 32", length);
    }

    @Test
    void refusesANegativeId() {
        assertThatThrownBy(() -> new PublicIds(new byte[16]).encode(ShardflakeId.of(-1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("id -1 is out of range 0..9223372036854775807, which have a public form");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "0K9HK295MPD2      | it has 12 characters instead of 13",
                "0K9HK295MPD2*     | character 13 is not one of 0-9 and A-Z without U",
                "8000000000000     | it is out of range 0000000000000..7ZZZZZZZZZZZZ"
            })
    void saysWhatIsWrongWithAText(String text, String reason) {
        assertThatThrownBy(() -> new PublicIds(new byte[16]).decode(text))
                .isInstanceOf(NumberFormatException.class)
                .hasMessage("\"%s\" is not a public id: %s", text, reason);
    }
}
