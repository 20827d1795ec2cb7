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
                | time per id, beside uuidv7() | at most 1.20 | 1.30 (1.10 to 1.50) | **no** |
                | time per id, beside another | at most 0.450 | 0.370 (0.2 to 0.5) | yes |
                | single-row inserts over 1 connection, beside bigserial | at least 0.900 | 0.850 | **no** |
                | duplicates in all trials | 0 | 0 | yes |

                | Another |
                | --- |
                | table |
                """);
        Files.writeString(pages.resolve("router.md"), """
                # The router beside its peers

                ## Goals

                | What | Goal | Measured | Met |
                | --- | --- | --- | --- |
                | start to the first row, Shardflake with JDBC beside bare JDBC | at most 1.10 | 1.24 | **no** |
                | router with JDBC, insert, 1 thread, beside bare JDBC | at least 0.970 | 1.00 (0.9 to 1.1) | yes |
                | router with JDBC, insert, 16 threads, beside bare JDBC | at least 0.970 | 1.01 | yes |
                | router with JDBC, insert, 16 threads, beside ShardingSphere-JDBC | at least 1.50 | 3.00 | yes |
                | router with jOOQ, insert, 16 threads, beside ShardingSphere-JDBC | at least 1.50 | 1.20 | **no** |
                | router with jOOQ, insert, 16 threads, beside bare jOOQ | at least 0.970 | 0.9 | **no** |
                """);
        Files.writeString(pages.resolve("moves.md"), """
                ## Goals

                | What | Goal | Measured | Met |
                | --- | --- | --- | --- |
                | whole move, times as fast as dump and restore | at least 1 | 1.01 | yes |
                | write pause of a cutover, p50 | at most 30 ms | 28.6 ms | yes |
                | transactions that failed | 0 | 0 | yes |
                """);
        Files.writeString(pages.resolve("deploys.md"), """
                ## Goals

                | What | Goal | Measured | Met |
                | --- | --- | --- | --- |
                | rerun, 2,000 shards, times as fast as a loop of Liquibase | at least 8 | 7.9 | **no** |
                """);
    }

    @Test
    void saysTheWorstAndTheBestOfEachKind() throws IOException {
        ReadmeSummary summary = new ReadmeSummary(pages);

        assertThat(summary.into(README)).isEqualTo("""
                before
                <!-- benchmarks -->
                | What | Worst | Best | Goal | Page |
                |---|---|---|---|---|
                | time per id, beside others | 1.30 (1.10 to 1.50), beside uuidv7() | 0.370 (0.2 to 0.5), beside another | at most 1.20, at most 0.450; **1 of 2 missed** | [ids](ids.md) |
                | inserts, beside bigserial | 0.850 |  | at least 0.900; **missed** | [ids](ids.md) |
                | duplicate ids in all trials | 0 |  | 0 | [ids](ids.md) |
                | router with JDBC, beside bare JDBC | 1.00 (0.9 to 1.1), insert, 1 thread | 1.01, insert, 16 threads | at least 0.970 | [router](router.md) |
                | router with jOOQ, beside bare jOOQ; of many shards, beside bare JDBC | 0.9 |  | at least 0.970; **missed** | [router](router.md) |
                | router, beside ShardingSphere-JDBC | 1.20, jOOQ, insert, 16 threads | 3.00, JDBC, insert, 16 threads | at least 1.50; **1 of 2 missed** | [router](router.md) |
                | move, times as fast as dump and restore | 1.01 |  | at least 1 | [moves](moves.md) |
                | write pause of a cutover | 28.6 ms |  | at most 30 ms | [moves](moves.md) |
                | writes failed, lost or doubled in moves | 0 |  | 0 | [moves](moves.md) |
                | deployment, times as fast as a loop of Liquibase | 7.9 |  | at least 8; **missed** | [deploys](deploys.md) |
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
