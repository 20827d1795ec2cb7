/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Comparator;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What public ids show of ids whose neighbourhood is known: nothing that statistics find.
 *
 * <p>Keys and ids are fixed, so a test that passes always passes. Each bound is one that a truly random permutation under a
 * random key would break once in a million times: the quantile 1 - 10<sup>-6</sup> of chi-square by the approximation of
 * Wilson and Hilferty, and of the normal distribution on both sides.
 */
class PublicIdsRandomnessTest {

    private static final int BITS = 63;
    private static final int CELLS = 256;

    private static final double CHI_SQUARE_63 = 131.8;
    private static final double CHI_SQUARE_255 = 377.3;
    private static final double CHI_SQUARE_63_BY_63 = 4407.1;
    private static final double CHI_SQUARE_128_BY_63 = 8682.2;
    private static final double NORMAL = 4.892;

    private static final int STEPS = 1 << 16;
    private static final long FIRST = 499335931086511104L;

    /** Of a sequence, of the shards of a millisecond, and of the milliseconds of a shard. */
    private static final long SEQUENCE = 1;

    private static final long SHARD = 1 << 10;
    private static final long MILLISECOND = 1 << 23;

    private final Random random = new Random(20250101);
    private final byte[] key = randomKey();
    private final PublicIds publicIds = new PublicIds(key);

    private byte[] randomKey() {
        byte[] bytes = new byte[16];
        random.nextBytes(bytes);
        return bytes;
    }

    private static long permuted(PublicIds publicIds, long id) {
        return ShardflakeId.parseBase32(publicIds.encode(ShardflakeId.of(id))).value();
    }

    private long[] walk(long step) {
        return LongStream.range(0, STEPS)
                .map(i -> permuted(publicIds, FIRST + i * step))
                .toArray();
    }

    @ParameterizedTest
    @ValueSource(longs = {SEQUENCE, SHARD, MILLISECOND})
    void eachBitOfNeighboursIsAsOftenOneAsZero(long step) {
        long[] ones = new long[BITS];
        for (long permuted : walk(step)) {
            count(ones, permuted);
        }

        assertThat(chiSquareOfHalves(ones, STEPS)).isLessThan(CHI_SQUARE_63);
    }

    @ParameterizedTest
    @ValueSource(longs = {SEQUENCE, SHARD, MILLISECOND})
    void neighboursFallAnywhere(long step) {
        for (int shift : new int[] {0, 10, 23, 31, 32, BITS - 8}) {
            long[] cells = new long[CELLS];
            for (long permuted : walk(step)) {
                cells[(int) (permuted >>> shift) & CELLS - 1]++;
            }
            double expected = (double) STEPS / CELLS;

            assertThat(Arrays.stream(cells)
                            .mapToDouble(n -> (n - expected) * (n - expected) / expected)
                            .sum())
                    .as("bits from %s", shift)
                    .isLessThan(CHI_SQUARE_255);
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {SEQUENCE, SHARD, MILLISECOND})
    void orderOfNeighboursIsLost(long step) {
        long[] walk = walk(step);
        long ascents =
                IntStream.range(1, STEPS).filter(i -> walk[i - 1] < walk[i]).count();

        // Of a random permutation of n: mean (n - 1) / 2, variance (n + 1) / 12.
        assertThat((ascents - (STEPS - 1) / 2.0) / Math.sqrt((STEPS + 1) / 12.0))
                .isBetween(-NORMAL, NORMAL);
        assertThat(spearman(walk) * Math.sqrt(STEPS - 1)).isBetween(-NORMAL, NORMAL);
    }

    /** Spearman's rank correlation between places and values; its variance is 1 / (n - 1). */
    private static double spearman(long[] values) {
        int[] byValue = IntStream.range(0, values.length)
                .boxed()
                .sorted(Comparator.comparingLong(i -> values[i]))
                .mapToInt(Integer::intValue)
                .toArray();
        double squares = 0;
        for (int rank = 0; rank < byValue.length; rank++) {
            double difference = rank - byValue[rank];
            squares += difference * difference;
        }
        double n = values.length;
        return 1 - 6 * squares / (n * (n * n - 1));
    }

    @ParameterizedTest
    @ValueSource(longs = {SEQUENCE, SHARD, MILLISECOND})
    void noTwoNeighboursCollide(long step) {
        assertThat(Arrays.stream(walk(step)).distinct().count()).isEqualTo(STEPS);
    }

    @Test
    void eachBitOfAnIdChangesHalfOfThePublicId() {
        int ids = 1000;
        long[][] changes = new long[BITS][BITS];
        for (int i = 0; i < ids; i++) {
            long id = random.nextLong() >>> 1;
            long permuted = permuted(publicIds, id);
            for (int bit = 0; bit < BITS; bit++) {
                count(changes[bit], permuted ^ permuted(publicIds, id ^ (1L << bit)));
            }
        }

        assertThat(sumOfChiSquares(changes, ids)).isLessThan(CHI_SQUARE_63_BY_63);
    }

    @Test
    void eachBitOfTheKeyChangesHalfOfThePublicId() {
        int ids = 1000;
        int keyBits = key.length * Byte.SIZE;
        long[][] changes = new long[keyBits][BITS];
        for (int bit = 0; bit < keyBits; bit++) {
            byte[] changedKey = key.clone();
            changedKey[bit / Byte.SIZE] ^= (byte) (1 << bit % Byte.SIZE);
            PublicIds changed = new PublicIds(changedKey);
            for (int i = 0; i < ids; i++) {
                long id = random.nextLong() >>> 1;
                count(changes[bit], permuted(publicIds, id) ^ permuted(changed, id));
            }
        }

        assertThat(sumOfChiSquares(changes, ids)).isLessThan(CHI_SQUARE_128_BY_63);
    }

    private static void count(long[] ones, long number) {
        for (int bit = 0; bit < BITS; bit++) {
            ones[bit] += number >>> bit & 1;
        }
    }

    private static double sumOfChiSquares(long[][] ones, int trials) {
        return Arrays.stream(ones)
                .mapToDouble(row -> chiSquareOfHalves(row, trials))
                .sum();
    }

    /** How far counts are from half of the trials: a degree of freedom each. */
    private static double chiSquareOfHalves(long[] ones, int trials) {
        return Arrays.stream(ones)
                .mapToDouble(n -> (n - trials / 2.0) * (n - trials / 2.0) / (trials / 4.0))
                .sum();
    }
}
