/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.deploys;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.shardflake.benchmarks.report.Spread;
import org.shardflake.benchmarks.report.Target;

class ResultsTest {

    private static final Sizes.Case BASE = new Sizes.Case(2000, 2);

    private final Results results = new Results();

    @Test
    void ratiosAreOfTheTimesOfOneRound() {
        results.add(BASE, Step.FIRST, 10, 100);
        results.add(BASE, Step.FIRST, 20, 300);
        results.add(BASE, Step.FIRST, 30, 390);

        assertThat(results.times(BASE, Step.FIRST)).isEqualTo(new Spread(10, 13, 15));
        assertThat(results.deploy(BASE, Step.FIRST)).isEqualTo(new Spread(10, 20, 30));
    }

    @Test
    void whatWasNotMeasuredIsNotMadeUp() {
        results.add(BASE, Step.FIRST, 10, 100);

        assertThatIllegalArgumentException().isThrownBy(() -> results.deploy(BASE, Step.RERUN));
        assertThatIllegalArgumentException().isThrownBy(() -> results.deploy(new Sizes.Case(2000, 3), Step.FIRST));
    }

    @Test
    void aSlowDeploymentMissesEveryGoal() {
        results.add(BASE, Step.FIRST, 20.1, 160);
        results.add(BASE, Step.RERUN, 3.1, 24);
        results.add(BASE, Step.ALTER, 10.1, 80);

        assertThat(results.targets(BASE)).hasSize(6).noneMatch(Target::met);
    }

    @Test
    void aFastOneMeetsThem() {
        results.add(BASE, Step.FIRST, 20, 160);
        results.add(BASE, Step.RERUN, 3, 24);
        results.add(BASE, Step.ALTER, 10, 80);

        assertThat(results.targets(BASE)).hasSize(6).allMatch(Target::met);
    }
}
