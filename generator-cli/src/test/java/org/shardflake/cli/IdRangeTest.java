/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.shardflake.cli.Cli.Result;

class IdRangeTest {

    @Test
    void showsTheIdsAndTheCondition() {
        assertThat(Cli.launch("id", "range", "--from", "2026-01-01T00:00:00Z", "--to", "2026-01-31T23:59:59.999Z"))
                .isEqualTo(new Result(0, """
                                MIN ID              MAX ID
                                264543141888000000  287011189555199999

                                WHERE id BETWEEN 264543141888000000 AND 287011189555199999
                                """, ""));
    }

    @Test
    void coversTheWholeMillisecondOfBothEnds() {
        assertThat(Cli.launch(
                        "id", "range", "--from", "2025-01-01T00:00:00.0019Z", "--to", "1735689600001", "-o", "json"))
                .isEqualTo(new Result(
                        2, "", "error: --from 2025-01-01T00:00:00.001900Z is after --to 2025-01-01T00:00:00.001Z\n"));
        assertThat(Cli.launch(
                        "id", "range", "--from", "1735689600001", "--to", "2025-01-01T00:00:00.0019Z", "-o", "json"))
                .isEqualTo(new Result(0, """
                                {"from":"2025-01-01T00:00:00.001Z","to":"2025-01-01T00:00:00.001Z","minId":"8388608","maxId":"16777215"}
                                """, ""));
    }

    @Test
    void reachesFromTheFirstToTheLastId() {
        assertThat(Cli.launch("id", "range", "--from", "0", "--to", "9999-12-31T00:00:00Z", "-o", "yaml"))
                .isEqualTo(new Result(0, """
                                from: "1970-01-01T00:00:00Z"
                                to: "9999-12-31T00:00:00Z"
                                minId: "0"
                                maxId: "9223372036854775807"
                                """, ""));
    }

    @Test
    void refusesARangeWithoutAnId() {
        assertThat(Cli.launch("id", "range", "--from", "2024-01-01T00:00:00Z", "--to", "2024-12-31T23:59:59.999Z"))
                .isEqualTo(new Result(2, "", """
                                error: no id has a time in 2024-01-01T00:00:00Z..2024-12-31T23:59:59.999Z; ids hold times 2025-01-01T00:00:00Z..2059-11-04T19:53:47.775Z
                                """));
    }
}
