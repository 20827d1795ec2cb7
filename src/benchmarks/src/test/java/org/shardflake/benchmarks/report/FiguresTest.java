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

    @Test
    void keepsTicksShort() {
        assertThat(Figures.tick(0)).isEqualTo("0");
        assertThat(Figures.tick(0.5)).isEqualTo("0.5");
        assertThat(Figures.tick(0.30000000000000004)).isEqualTo("0.3");
        assertThat(Figures.tick(100)).isEqualTo("100");
        assertThat(Figures.tick(2000)).isEqualTo("2000");
        assertThat(Figures.tick(20_000)).isEqualTo("20 k");
        assertThat(Figures.tick(1_500_000)).isEqualTo("1.5 M");
        assertThat(Figures.tick(1e-12)).isEqualTo("1e-12");
        assertThat(Figures.tick(2e-5)).isEqualTo("2e-5");
        assertThat(Figures.tick(1e16)).isEqualTo("1e16");
    }
}
