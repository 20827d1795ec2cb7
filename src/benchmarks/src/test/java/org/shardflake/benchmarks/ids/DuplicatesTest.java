/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.shardflake.benchmarks.ids.IdCandidate.JavaCandidate;
import org.shardflake.scheme.GeneratorSettings;

class DuplicatesTest {

    @Test
    void countsWhatWasThereBefore() {
        assertThat(Duplicates.count(List.of())).isZero();
        assertThat(Duplicates.count(List.of(3L, 1L, 2L))).isZero();
        assertThat(Duplicates.count(List.of(3L, 1L, 3L, 1L, 3L))).isEqualTo(3);
        assertThat(Duplicates.count(List.of("b", "a", "b"))).isEqualTo(1);
    }

    /** Sixteen processes of a machine have the same hardware. */
    @Test
    void findsThemWhereAllGeneratorsHaveOneNumber() throws Exception {
        JavaCandidate snowflake = (JavaCandidate) candidate("snowflake-java");
        GeneratorSettings settings = GeneratorSettings.DEFAULT
                .withClock(() -> Instant.ofEpochSecond(2_000_000_000))
                .withWorker(7);

        assertThat(Duplicates.inJava(snowflake, settings, 1600)).isEqualTo(new Duplicates.Outcome(1600, 1500));
        assertThat(Duplicates.inJavaNumbered(snowflake, settings, 1600)).isEqualTo(new Duplicates.Outcome(1600, 0));
    }

    static IdCandidate candidate(String name) {
        return Candidates.all().stream()
                .filter(candidate -> candidate.name().equals(name))
                .findFirst()
                .orElseThrow();
    }
}
