/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.shardflake.benchmarks.ids.Results.Goals;

class GoalsTest {

    /** Its function would be all that one could wish, if its ids did not repeat. */
    @Test
    void onlyDuplicatesKeepInstagramsFunctionOut() {
        IdCandidate instagram = DuplicatesTest.candidate("instagram");

        assertThat(Goals.hasAll(instagram.facts(), 0)).isTrue();
        assertThat(Goals.hasAll(instagram.facts(), 1)).isFalse();
    }

    @Test
    void noOtherHasAllWithoutDuplicates() {
        assertThat(Candidates.all().stream()
                        .filter(candidate -> Goals.hasAll(candidate.facts(), 0))
                        .map(IdCandidate::name))
                .containsExactly("shardflake", "instagram");
    }
}
