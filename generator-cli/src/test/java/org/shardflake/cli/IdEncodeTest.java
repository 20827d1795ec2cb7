/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardflake.cli.Cli.Result;

class IdEncodeTest {

    @ParameterizedTest
    @CsvSource({"1295227263000", "2011-01-17T01:21:03Z", "2011-01-17T02:21:03.000999+01:00"})
    void printsTheId(String time) {
        assertThat(Cli.launch(
                        "id",
                        "encode",
                        "--time",
                        time,
                        "--shard",
                        "1341",
                        "--sequence",
                        "905",
                        "--epoch",
                        "1293840000000"))
                .isEqualTo(new Result(0, "11637205501278089\n", ""));
    }

    @Test
    void printsJson() {
        assertThat(Cli.launch(
                        "id",
                        "encode",
                        "--time",
                        "2025-01-01T00:00:00.001Z",
                        "--shard=7",
                        "--sequence=3",
                        "-o",
                        "json"))
                .isEqualTo(new Result(0, """
                                {"id":"8395779","time":"2025-01-01T00:00:00.001Z","timeMillis":1735689600001,"shard":7,"sequence":3,"schema":"shard_0007"}
                                """, ""));
    }

    @Test
    void printsYaml() {
        assertThat(Cli.launch("id", "encode", "--time", "1735689600000", "--shard=7", "--sequence=3", "-o", "yaml"))
                .isEqualTo(new Result(0, """
                                id: "7171"
                                time: "2025-01-01T00:00:00Z"
                                timeMillis: 1735689600000
                                shard: 7
                                sequence: 3
                                schema: "shard_0007"
                                """, ""));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "2026-01-01T00:00:00Z | 9000 | 0    | shard 9000 is out of range 0..8191",
                "2026-01-01T00:00:00Z | -1   | 0    | shard -1 is out of range 0..8191",
                "2026-01-01T00:00:00Z | 7    | 1024 | sequence 1024 is out of range 0..1023",
                "2024-12-31T23:59:59.999Z | 7 | 0 | time 2024-12-31T23:59:59.999Z is before the epoch 2025-01-01T00:00:00Z; ids hold times 2025-01-01T00:00:00Z..2059-11-04T19:53:47.775Z",
                "2059-11-04T19:53:47.776Z | 7 | 0 | time 2059-11-04T19:53:47.776Z is after 2059-11-04T19:53:47.775Z, when ids of this epoch run out; ids hold times 2025-01-01T00:00:00Z..2059-11-04T19:53:47.775Z",
            })
    void refusesAFieldOutOfRange(String time, String shard, String sequence, String message) {
        assertThat(Cli.launch("id", "encode", "--time", time, "--shard=" + shard, "--sequence=" + sequence))
                .isEqualTo(new Result(2, "", "error: " + message + "\n"));
    }

    @ParameterizedTest
    @CsvSource({"2026-01-31", "yesterday", "99999999999999999999", "+1000000000-12-31T23:59:59Z", "''"})
    void refusesWhatIsNoTime(String time) {
        assertThat(Cli.launch("id", "encode", "--time", time, "--shard=7", "--sequence=0"))
                .isEqualTo(new Result(2, "", """
                                error: --time: '%s' is neither UTC milliseconds nor an ISO-8601 instant such as 2026-01-31T12:00:00Z
                                hint: see shardflake id encode --help
                                """.formatted(time)));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "-1 | epoch -1 is out of range 0..8639999999999, UTC milliseconds (1970-01-01T00:00:00Z..2243-10-16T23:59:59.999Z)",
                "2025-01-01T00:00:00.0001Z | epoch 2025-01-01T00:00:00.000100Z is not a whole millisecond"
            })
    void refusesAnEpochThatNoInstallationHas(String epoch, String message) {
        assertThat(Cli.launch("id", "encode", "--epoch=" + epoch, "--time=1", "--shard=7", "--sequence=0"))
                .isEqualTo(new Result(2, "", "error: " + message + "\n"));
    }

    @Test
    void namesWhatIsMissing() {
        assertThat(Cli.launch("id", "encode", "--time", "1735689600000")).isEqualTo(new Result(2, "", """
                                error: missing: --shard N, --sequence N
                                hint: see shardflake id encode --help
                                """));
    }
}
