/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class SizingTest {

    private static final String NUMBER = "sizing-test.number";

    private final Sizing sizing = new Sizing("src/benchmarks", "Something", "sizing-test.");

    @AfterEach
    void forget() {
        System.clearProperty(NUMBER);
    }

    @Test
    void withoutPropertiesItIsAWholeRun() {
        assertThat(sizing.number("number", 5)).isEqualTo(5);
        assertThat(sizing.numbers("number", List.of(1, 10))).containsExactly(1, 10);
        assertThat(sizing.isShort()).isFalse();
    }

    @Test
    void aSmallerNumberMakesItShort() {
        System.setProperty(NUMBER, "4");

        assertThat(sizing.number("number", 5)).isEqualTo(4);
        assertThat(sizing.isShort()).isTrue();
    }

    @Test
    void aGreaterNumberDoesNot() {
        System.setProperty(NUMBER, "6");

        assertThat(sizing.number("number", 5)).isEqualTo(6);
        assertThat(sizing.isShort()).isFalse();
    }

    @Test
    void fewerOrSmallerNumbersMakeItShort() {
        System.setProperty(NUMBER, "1,100");
        assertThat(sizing.numbers("number", List.of(1, 10, 100))).containsExactly(1, 100);
        assertThat(sizing.isShort()).isTrue();

        Sizing another = new Sizing("src/benchmarks", "Something", "sizing-test.");
        System.setProperty(NUMBER, "1,10,99");
        another.numbers("number", List.of(1, 10, 100));
        assertThat(another.isShort()).isTrue();
    }

    @Test
    void refusesWhatCannotBeMeasured() {
        for (String wrong : List.of("0", "", "5,", "-1", "many", "10,0")) {
            System.setProperty(NUMBER, wrong);
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> sizing.numbers("number", List.of(1)))
                    .withMessageContaining(NUMBER);
        }
    }

    @Test
    void refusesLessThanTheLeast() {
        System.setProperty(NUMBER, "99");
        assertThatIllegalArgumentException()
                .isThrownBy(() -> sizing.number("number", 1000, 100))
                .withMessage(NUMBER + " is 99; it has to be 100 at least");

        System.setProperty(NUMBER, "100");
        assertThat(sizing.number("number", 1000, 100)).isEqualTo(100);
    }

    @Test
    void theCommandHasWhatWasGiven() {
        System.setProperty(NUMBER, "4");

        assertThat(sizing.command()).contains("-pl src/benchmarks -am", "-Dbenchmark=Something", " -D" + NUMBER + "=4");
    }
}
