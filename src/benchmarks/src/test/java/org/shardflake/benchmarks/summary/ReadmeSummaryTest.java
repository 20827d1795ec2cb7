/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.summary;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReadmeSummaryTest {

    private static final String README = "before\n<!-- benchmarks -->\nold\n<!-- end of benchmarks -->\nafter\n";

    @TempDir
    Path pages;

    @BeforeEach
    void writePages() throws IOException {
        Files.writeString(pages.resolve("ids.md"), """
                # Ids

                ## Goals

                | What | Goal | Measured | Met |
                | --- | --- | --- | --- |
                | size of the index, beside uuidv7() | at most 0.75 | 0.71 | yes |
                | inserts | at least 0.90 | 0.80 (0.70 to 0.90) | **no** |

                | Another |
                | --- |
                | table |
                """);
        Files.writeString(pages.resolve("router.md"), """
                # The router beside its peers

                ## Goals

                | What | Goal | Measured | Met |
                | --- | --- | --- | --- |
                | router with JDBC, start to the first row, faster than ShardingSphere-JDBC | at least 20 | 15 | **no** |
                | router with JDBC, insert, 1 thread, beside bare JDBC | at least 0.970 | 1.00 | yes |
                | router with JDBC, insert, 16 threads, beside bare JDBC | at least 0.970 | 1.01 | yes |
                | router with JDBC, insert, 16 threads, beside ShardingSphere-JDBC | at least 1.50 | 3.00 | yes |
                | router with jOOQ, insert, 16 threads, beside bare JDBC | at least 0.970 | 0.9 | **no** |
                """);
    }

    @Test
    void putsTheGoalsOfAllPagesBetweenTheComments() throws IOException {
        ReadmeSummary summary = new ReadmeSummary(pages);

        assertThat(summary.missing()).containsExactly("moves", "deploys");
        assertThat(summary.into(README)).isEqualTo("""
                before
                <!-- benchmarks -->
                | What | Measured | Goal | Page |
                |---|---|---|---|
                | size of the index, beside uuidv7() | 0.71 | at most 0.75 | [ids](src/docs/benchmarks/ids.md) |
                | inserts | 0.80 (0.70 to 0.90) | at least 0.90, **missed** | [ids](src/docs/benchmarks/ids.md) |
                | router with JDBC, start to the first row, faster than ShardingSphere-JDBC | 15 | at least 20, **missed** | [router](src/docs/benchmarks/router.md) |
                | router with JDBC, insert, 16 threads, beside bare JDBC | 1.01 | at least 0.970 | [router](src/docs/benchmarks/router.md) |
                | router with JDBC, insert, 16 threads, beside ShardingSphere-JDBC | 3.00 | at least 1.50 | [router](src/docs/benchmarks/router.md) |

                ![Single-row inserts over 8 connections](src/docs/benchmarks/ids-inserts.svg)

                <!-- end of benchmarks -->
                after
                """);
    }

    @Test
    void madeTwiceIsTheSame() throws IOException {
        ReadmeSummary summary = new ReadmeSummary(pages);

        assertThat(summary.into(summary.into(README))).isEqualTo(summary.into(README));
    }

    @Test
    void refusesAReadmeWithoutTheComments() throws IOException {
        ReadmeSummary summary = new ReadmeSummary(pages);

        assertThatIllegalArgumentException()
                .isThrownBy(() -> summary.into("before"))
                .withMessageContaining("<!-- benchmarks -->");
    }

    @Test
    void refusesAPageWithoutItsTable() throws IOException {
        Files.writeString(pages.resolve("ids.md"), "# Ids\n");

        assertThatIllegalArgumentException()
                .isThrownBy(() -> new ReadmeSummary(pages))
                .withMessageContaining("## Goals");
    }
}
