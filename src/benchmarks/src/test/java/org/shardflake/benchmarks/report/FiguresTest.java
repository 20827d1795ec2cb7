/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class FiguresTest {

    @Test
    void writesThreeDigitsThatCount() {
        assertThat(Figures.number(0)).isEqualTo("0");
        assertThat(Figures.number(0.81449)).isEqualTo("0.814");
        assertThat(Figures.number(0.0123)).isEqualTo("0.0123");
        assertThat(Figures.number(1.2345)).isEqualTo("1.23");
        assertThat(Figures.number(12.345)).isEqualTo("12.3");
        assertThat(Figures.number(1234567.8)).isEqualTo("1,234,568");
        assertThat(Figures.number(7)).isEqualTo("7");
        assertThat(Figures.number(3.2e-9)).isEqualTo("3.20e-09");
        assertThat(Figures.number(Double.NaN)).isEqualTo("n/a");
    }
}
