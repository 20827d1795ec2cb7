/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.shardflake.benchmarks.report.Report;

class FleetPageTest {

    private static final Setting SHORT = new Setting(1, 2, 1, 1000);

    @Test
    void saysThatItIsASimulationAndWhatIsAssumed() {
        assertThat(FleetPage.of(SHORT).toMarkdown())
                .contains("**This is a simulation.**", "with the seed 1,", "**Assumed:**", "```math", "**Conclusion:**")
                .doesNotContain("NaN", "n/a", "Infinity");
    }

    /** Without plans, which are the planner's, and take the time. */
    @Test
    void theSameSeedGivesTheSameFigures() {
        assertThat(drawn(SHORT)).isEqualTo(drawn(SHORT)).isNotEqualTo(drawn(new Setting(2, 2, 1, 1000)));
    }

    private static String drawn(Setting setting) {
        Report report = new Report("drawn at random");
        new ImbalancePart(setting).write(report);
        new DrainPart(setting).write(report);
        new ConnectionsPart(setting).write(report);
        new HotShardsPart(setting).write(report);
        return report.toMarkdown();
    }

    @Test
    void saysTimesAndSizesAsPeopleDo() {
        assertThat(Units.time(90)).isEqualTo("90 s");
        assertThat(Units.time(5400)).isEqualTo("90 min");
        assertThat(Units.time(86_400)).isEqualTo("24 h");
        assertThat(Units.time(864_000)).isEqualTo("10 days");
        assertThat(Units.bytes(2e12)).isEqualTo("2 TB");
        assertThat(Units.bytes(250e9)).isEqualTo("250 GB");
        assertThat(Units.percent(0.125)).isEqualTo("12.5 %");
        assertThat(Units.percent(1e-9)).isEqualTo("< 0.0010 %");
        assertThat(Units.row(8192, "a", 0.5)).containsExactly("8,192", "a", "0.500");
    }
}
