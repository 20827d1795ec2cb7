/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Instant;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class WritersTest {

    private static Map<String, Object> status() {
        Map<String, Object> server = new LinkedHashMap<>();
        server.put("name", "db1");
        server.put("tags", List.of("a", "b"));
        Map<String, Object> status = new LinkedHashMap<>();
        status.put("servers", List.of(server, Map.of("name", "db2")));
        status.put("none", List.of());
        status.put("catalog", null);
        status.put("epoch", 1);
        status.put("open", true);
        return status;
    }

    @Test
    void aNarrowTerminalDoesNotShowTheLeastImportantColumns() {
        TableWriter table = new TableWriter("MOVE", "SINCE", "BYTES", "LAG").mayLeaveOut("SINCE", "BYTES");
        table.row(3, "2026-11-22T10:00:00Z", "1.0 of 2.0 MiB", "12 ms");

        assertThat(table.fit(49)).isEqualTo("""
                MOVE  SINCE                 BYTES           LAG
                3     2026-11-22T10:00:00Z  1.0 of 2.0 MiB  12 ms
                """);
        assertThat(table.fit(48)).isEqualTo("""
                MOVE  BYTES           LAG
                3     1.0 of 2.0 MiB  12 ms
                (--wide shows SINCE, too)
                """);
        assertThat(table.fit(20)).isEqualTo("""
                MOVE  LAG
                3     12 ms
                (--wide shows SINCE,
                BYTES, too)
                """);
    }

    @Test
    void aNarrowTerminalShowsTheLastColumnWhileItCanBeWrapped() {
        TableWriter table = new TableWriter("TIME", "CHANGE", "REASON").mayLeaveOut("REASON");
        table.row("2026-11-22T10:00:00Z", "shard placed", "rows were copied by move 3");

        assertThat(table.fit(56)).isEqualTo("""
                TIME                  CHANGE        REASON
                2026-11-22T10:00:00Z  shard placed  rows were copied by
                                                    move 3
                """);
        assertThat(table.fit(40)).isEqualTo("""
                TIME                  CHANGE
                2026-11-22T10:00:00Z  shard placed
                (--wide shows REASON, too)
                """);
    }

    @Test
    void aNarrowTerminalWrapsTheLastColumn() {
        TableWriter table = new TableWriter("SERVER", "FOUND")
                .row("db1", "lacks shards 0-999, which the shard map gives it")
                .row("db2", "postgresql://app@a-host-with-a-long-name/app");

        assertThat(table.fit(30)).isEqualTo("""
                SERVER  FOUND
                db1     lacks shards 0-999,
                        which the shard map
                        gives it
                db2     postgresql://app@a-hos
                        t-with-a-long-name/app
                """);
    }

    @Test
    void aTextTakesThePlaceOfTheOneBefore() {
        StringWriter out = new StringWriter();
        Redraw redraw = new Redraw(new PrintWriter(out), true);
        redraw.show("1\na long line\n3\n4\n", new TerminalSize(10, 5));
        redraw.show("5", new TerminalSize(10, 5));

        assertThat(out).hasToString("1\u001b[K\na long line\u001b[K\n3\u001b[K\n\u001b[J\u001b[4A5\u001b[K\n\u001b[J");
    }

    @Test
    void writesJsonOnOneLine() {
        assertThat(JsonWriter.write(status()))
                .isEqualTo("{\"servers\":[{\"name\":\"db1\",\"tags\":[\"a\",\"b\"]},{\"name\":\"db2\"}],"
                        + "\"none\":[],\"catalog\":null,\"epoch\":1,\"open\":true}");
    }

    @Test
    void writesYamlInBlocks() {
        assertThat(YamlWriter.write(status())).isEqualTo("""
                        servers:
                          - name: "db1"
                            tags:
                              - "a"
                              - "b"
                          - name: "db2"
                        none: []
                        catalog: null
                        epoch: 1
                        open: true
                        """);
    }

    @Test
    void escapesStrings() {
        assertThat(JsonWriter.write("say \"hi\"\\\n\r\t\u0000\u001b \u00e9"))
                .isEqualTo("\"say \\\"hi\\\"\\\\\\n\\r\\t\\u0000\\u001B \u00e9\"");
    }

    @Test
    void alignsTables() {
        assertThat(new TableWriter("SERVER", "SHARDS")
                        .row("db1", 1000)
                        .row("a-long-name", 7)
                        .toString())
                .isEqualTo("""
                        SERVER       SHARDS
                        db1          1000
                        a-long-name  7
                        """);
    }

    @Test
    void refusesARowOfAnotherLength() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new TableWriter("A", "B").row(1))
                .withMessage("1 values for 2 columns");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1970-01-01T00:00:00Z",
                "2011-01-17T01:21:03Z",
                "2024-02-29T23:59:59.999Z",
                "2025-01-01T00:00:00.001Z",
                "2025-01-01T00:00:00.120Z",
                "9999-12-31T23:59:59.100Z"
            })
    void writesTimesAsInstantDoes(Instant time) {
        assertThat(IsoTime.append(new StringBuilder(), time.toEpochMilli())).hasToString(time.toString());
    }

    @Test
    void writesAnyTimeAsInstantDoes() {
        SplittableRandom random = new SplittableRandom(1);
        long[] times = random.longs(
                        100_000, 0, Instant.parse("9999-12-31T23:59:59.999Z").toEpochMilli())
                .toArray();

        assertThat(Arrays.stream(times))
                .allSatisfy(time -> assertThat(IsoTime.append(new StringBuilder(), time))
                        .hasToString(Instant.ofEpochMilli(time).toString()));
    }
}
