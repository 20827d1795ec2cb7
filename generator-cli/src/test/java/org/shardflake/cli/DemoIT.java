/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.shardflake.cli.error.ExitCodes;

/** The demo command on servers of its own, smaller than its default. */
class DemoIT {

    @Test
    void endsWithEveryCheckHolding() {
        Cli.Result demo = Cli.launch("demo", "--shards", "20", "--rows", "1000");

        assertThat(demo.exitCode()).as(demo.err()).isEqualTo(ExitCodes.OK);
        assertThat(demo.out())
                .containsPattern("(?m)^rows +1,000 +ok$")
                .containsPattern("(?m)^duplicate ids +0 +ok$")
                .contains("MOVED 10 SHARDS FROM db1 TO db2 UNDER LOAD")
                .containsPattern("(?m)^rows lost +0 +ok$")
                .containsPattern("(?m)^errors +0 +ok$")
                .containsPattern("(?m)^write pause, median +[0-9]+ ms$")
                .endsWith("Every check holds.\n");
        assertThat(demo.err()).contains("writing rows: 1,000 of 1,000").doesNotContain("INFO");
    }

    @Test
    @Tag("full")
    void jsonIsOneObject() {
        Cli.Result demo = Cli.launch("demo", "--shards", "2", "--rows", "10", "-o", "json");

        assertThat(demo.exitCode()).as(demo.err()).isEqualTo(ExitCodes.OK);
        assertThat(demo.out())
                .startsWith("{\"passed\":true,\"shards\":2,\"rows\":10,\"rowsMissing\":0,\"duplicates\":0,")
                .hasLineCount(1);
    }

    @Test
    void badSizesAreUsageErrors() {
        assertThat(Cli.launch("demo", "--shards", "8193").err())
                .startsWith("error: shards 8193 is out of range 2..8192");
        assertThat(Cli.launch("demo", "--rows", "1"))
                .extracting(Cli.Result::exitCode)
                .isEqualTo(ExitCodes.USAGE);
    }
}
