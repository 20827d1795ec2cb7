/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.shardflake.scheme.Schemes;

class CandidatesTest {

    private final List<IdCandidate> all = Candidates.all();

    @Test
    void everySchemeTakesPart() {
        assertThat(all)
                .extracting(IdCandidate::name)
                .containsAll(Schemes.names())
                .doesNotHaveDuplicates();
    }

    @Test
    void eachHasATableOfItsOwn() {
        assertThat(all)
                .extracting(IdCandidate::table)
                .doesNotHaveDuplicates()
                .allMatch(name -> name.matches("[a-z0-9_.]+"));
    }

    @Test
    void oneWhoseIdsComeOneByOneMakesFewer() {
        IdSizes sizes = new IdSizes(5, 11, 200_000, 1_000_000, 3_200_000, 16_000, 500, 1000);

        assertThat(DuplicatesTest.candidate("serial").limit(sizes)).isEqualTo(sizes);
        assertThat(DuplicatesTest.candidate("uniqueid").limit(sizes))
                .isEqualTo(new IdSizes(5, 11, 40_000, 200_000, 3_200_000, 16_000, 500, 1000));
        assertThat(DuplicatesTest.candidate("tickets").limit(sizes))
                .isEqualTo(new IdSizes(5, 11, 3200, 3200, 16_000, 16_000, 500, 1000));
    }
}
