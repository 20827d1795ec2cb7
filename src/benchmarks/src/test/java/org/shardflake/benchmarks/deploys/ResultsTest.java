/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.deploys;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.shardflake.benchmarks.deploys.DeployComparison.Results;
import org.shardflake.benchmarks.deploys.DeployComparison.Results.Step;
import org.shardflake.benchmarks.report.Interval;
import org.shardflake.benchmarks.report.Target;

class ResultsTest {

    private final Results results = new Results();

    @Test
    void ratiosAreOfTheTimesOfOneRound() {
        results.add(Step.FIRST, 10, 100);
        results.add(Step.FIRST, 20, 300);
        results.add(Step.FIRST, 30, 390);

        assertThat(results.times(Step.FIRST)).isEqualTo(new Interval(10, 13, 15));
        assertThat(results.deploy(Step.FIRST)).isEqualTo(new Interval(10, 20, 30));
    }

    @Test
    void whatWasNotMeasuredIsNotMadeUp() {
        results.add(Step.FIRST, 10, 100);

        assertThatIllegalArgumentException().isThrownBy(() -> results.deploy(Step.RERUN));
    }

    @Test
    void aSlowDeploymentMissesEveryGoal() {
        results.add(Step.FIRST, 20.1, 160);
        results.add(Step.RERUN, 3.1, 24);
        results.add(Step.ALTER, 10.1, 80);

        assertThat(results.targets(2000)).hasSize(6).noneMatch(Target::met);
    }

    @Test
    void aFastOneMeetsThem() {
        results.add(Step.FIRST, 20, 160);
        results.add(Step.RERUN, 3, 24);
        results.add(Step.ALTER, 10, 80);

        assertThat(results.targets(2000)).hasSize(6).allMatch(Target::met);
    }
}
