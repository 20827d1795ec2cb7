/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.deploys;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.shardflake.benchmarks.report.Sizing;

class SizesTest {

    private final Sizes whole = Sizes.of(new Sizing("src/benchmarks", "Something", "no-such-property."));

    /** The base is one of the cases by shards and one of those by servers, and measured once. */
    @Test
    void everyCaseIsThereOnce() {
        assertThat(whole.cases())
                .doesNotHaveDuplicates()
                .hasSize(8)
                .startsWith(whole.base())
                .containsAll(whole.byShards())
                .containsAll(whole.byServers());
    }

    @Test
    void theBaseHasTheMostRounds() {
        assertThat(whole.rounds(whole.base())).isEqualTo(5);
        assertThat(whole.rounds(new Sizes.Case(8192, 2))).isEqualTo(3);
        assertThat(whole.mostServers()).isEqualTo(6);
    }
}
