/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.shardflake.benchmarks.moves.WholeMove.CutoverLine;

class CutoverLineTest {

    @Test
    void readsACutover() {
        assertThat(CutoverLine.parse("shard 1865 is on db3, after a pause of 12 ms"))
                .contains(new CutoverLine(1865, "db3", 12));
        assertThat(CutoverLine.parse("shard 7 is on db1, after a pause of 4 ms and 2 attempts"))
                .contains(new CutoverLine(7, "db1", 4));
    }

    @Test
    void leavesOtherLinesAlone() {
        assertThat(CutoverLine.parse("copied; catching up with writes since")).isEmpty();
        assertThat(CutoverLine.parse("shard 7: an attempt gave itself up, since the target is behind"))
                .isEmpty();
        assertThat(CutoverLine.parse("")).isEmpty();
    }
}
