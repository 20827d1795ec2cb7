/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ShardSetTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "7                | 7",
                "0-3              | 0,1,2,3",
                "0-8/4            | 0,4,8",
                "0-9/4            | 0,4,8",
                "5-5              | 5",
                "3,1,2,2          | 1,2,3",
                "' 1 , 8191 '     | 1,8191",
            })
    void readsShardsRangesAndSteps(String text, String shards) {
        assertThat(ShardSet.parse(text).stream())
                .containsExactlyElementsOf(IntStream.of(numbers(shards)).boxed().toList());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "1,2              | 1,2",
                "1,2,3            | 1-3",
                "0,2,4,6          | 0-6/2",
                "0,1,2,1341       | 0-2,1341",
                "1,3,5,6,7        | 1-5/2,6,7",
            })
    void writesRunsShort(String shards, String text) {
        assertThat(ShardSet.of(numbers(shards))).hasToString(text);
    }

    @Test
    void writesTheOddHalfOfTwoThousandInOneWord() {
        assertThat(ShardSet.of(IntStream.range(0, 1000).map(i -> 2 * i + 1).toArray()))
                .hasToString("1-1999/2");
    }

    @RepeatedTest(100)
    void readsBackWhatItWrites(RepetitionInfo repetition) {
        Random random = new Random(repetition.getCurrentRepetition());
        int bound = 1 + random.nextInt(random.nextBoolean() ? 30 : 8192);
        ShardSet set = ShardSet.of(
                random.ints(1 + random.nextInt(300), 0, bound).distinct().toArray());

        assertThat(ShardSet.parse(set.toString())).isEqualTo(set);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "''      | \"\" is not a list of shards; write it as 7, 0-99 or 0-1998/2, separated by commas",
                "1,,2    | \"\" is not a list of shards; write it as 7, 0-99 or 0-1998/2, separated by commas",
                "a       | \"a\" is not a list of shards; write it as 7, 0-99 or 0-1998/2, separated by commas",
                "-1      | \"-1\" is not a list of shards; write it as 7, 0-99 or 0-1998/2, separated by commas",
                "9-1     | \"9-1\" holds no shard; write ranges upwards, with a step of at least 1",
                "1-9/0   | \"1-9/0\" holds no shard; write ranges upwards, with a step of at least 1",
                "8192    | shard 8192 is out of range 0..8191",
                "0-9999  | shard 9999 is out of range 0..8191",
            })
    void refusesWhatIsNoListOfShards(String text, String reason) {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ShardSet.parse(text))
                .withMessage(reason);
    }

    @Test
    void refusesAShardThatAnInstallationLacks() {
        assertThat(ShardSet.parse("0-19/5,19", 20)).isEqualTo(ShardSet.of(0, 5, 10, 15, 19));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> ShardSet.parse("0-9999", 20))
                .withMessage("shard 9999 is out of range 0..19");
    }

    private static int[] numbers(String text) {
        return Arrays.stream(text.split(",")).mapToInt(Integer::parseInt).toArray();
    }

    @Test
    void andKeepsWhatIsInBoth() {
        ShardSet some = ShardSet.parse("0-9");

        assertThat(some.and(ShardSet.parse("8-20"))).isEqualTo(ShardSet.of(8, 9));
        assertThat(some.and(ShardSet.of(4000))).isEqualTo(ShardSet.of());
        assertThat(some).isEqualTo(ShardSet.parse("0-9"));
    }
}
