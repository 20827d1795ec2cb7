/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.shardflake.cli.Cli.Result;
import picocli.CommandLine.Help.Ansi;

class IdDecodeTest {

    private static final String TABLE = """
            ID                    TIME                      SHARD  SEQUENCE  SCHEMA
            11637205501278089     2011-01-17T01:21:03Z      1341   905       shard_1341
            """;

    @Test
    void showsATable() {
        assertThat(Cli.launch("id", "decode", "11637205501278089", "--epoch", "1293840000000"))
                .isEqualTo(new Result(0, TABLE, ""));
    }

    @Test
    void takesTheEpochAsIsoTime() {
        assertThat(Cli.launch("id", "decode", "--epoch=2011-01-01T00:00:00Z", "11637205501278089"))
                .isEqualTo(new Result(0, TABLE, ""));
    }

    @Test
    void showsJsonOneObjectALine() {
        assertThat(Cli.launch("id", "decode", "11637205501278089", "7", "--epoch", "1293840000000", "-o", "json"))
                .isEqualTo(new Result(0, """
                                {"id":"11637205501278089","time":"2011-01-17T01:21:03Z","timeMillis":1295227263000,"shard":1341,"sequence":905,"schema":"shard_1341"}
                                {"id":"7","time":"2011-01-01T00:00:00Z","timeMillis":1293840000000,"shard":0,"sequence":7,"schema":"shard_0000"}
                                """, ""));
    }

    @Test
    void showsYaml() {
        assertThat(Cli.launch("id", "decode", "7", "908540701891980503", "--epoch", "1314220021721", "-o", "yaml"))
                .isEqualTo(new Result(0, """
                                - id: "7"
                                  time: "2011-08-24T21:07:01.721Z"
                                  timeMillis: 1314220021721
                                  shard: 0
                                  sequence: 7
                                  schema: "shard_0000"
                                - id: "908540701891980503"
                                  time: "2015-01-29T10:15:13.321Z"
                                  timeMillis: 1422526513321
                                  shard: 4187
                                  sequence: 215
                                  schema: "shard_4187"
                                """, ""));
    }

    @Test
    void readsStandardInputWithoutArguments() {
        assertThat(Cli.launchWithInput("\n  5\r\n\n6", "id", "decode")).isEqualTo(new Result(0, """
                                ID                    TIME                      SHARD  SEQUENCE  SCHEMA
                                5                     2025-01-01T00:00:00Z      0      5         shard_0000
                                6                     2025-01-01T00:00:00Z      0      6         shard_0000
                                """, ""));
    }

    @Test
    void readsStandardInputWhereADashStands() {
        Result result = Cli.launchWithInput("5\n", "id", "decode", "-o", "json", "4", "-", "6");

        assertThat(result.out().lines().map(line -> line.substring(0, 9)))
                .containsExactly("{\"id\":\"4\"", "{\"id\":\"5\"", "{\"id\":\"6\"");
    }

    @Test
    void carriesOnPastABadLine() {
        assertThat(Cli.launchWithInput("x\n5\n\n18446744073709551616\n6\n", "id", "decode"))
                .isEqualTo(new Result(1, """
                                ID                    TIME                      SHARD  SEQUENCE  SCHEMA
                                5                     2025-01-01T00:00:00Z      0      5         shard_0000
                                6                     2025-01-01T00:00:00Z      0      6         shard_0000
                                """, """
                                error: line 1: "x" is not an id: character 1 is not a digit
                                error: line 4: "18446744073709551616" is not an id: it is out of range -9223372036854775808..18446744073709551615
                                """));
    }

    @Test
    void carriesOnPastABadArgument() {
        assertThat(Cli.launch("id", "decode", "5", "", "1e6")).isEqualTo(new Result(2, """
                                ID                    TIME                      SHARD  SEQUENCE  SCHEMA
                                5                     2025-01-01T00:00:00Z      0      5         shard_0000
                                """, """
                                error: argument 2: "" is not an id: it is empty
                                error: argument 3: "1e6" is not an id: character 2 is not a digit
                                """));
    }

    @Test
    void decodesIdsWithTheTopBitSet() {
        assertThat(Cli.launch("id", "decode", "-8388608", "18446744073709551615", "--epoch", "1314220021721"))
                .isEqualTo(new Result(0, """
                                ID                    TIME                      SHARD  SEQUENCE  SCHEMA
                                -8388608              2081-04-30T12:54:37.272Z  0      0         shard_0000
                                -1                    2081-04-30T12:54:37.272Z  8191   1023      shard_8191
                                """, ""));
    }

    @Test
    void doesNotTakeAMistypedOptionForAnId() {
        assertThat(Cli.launch("id", "decode", "--epch", "5")).isEqualTo(new Result(2, "", """
                                error: unknown option --epch
                                hint: did you mean --epoch?
                                """));
    }

    @Test
    void printsNothingForNoIds() {
        assertThat(Cli.launchWithInput("\n \n", "id", "decode")).isEqualTo(new Result(0, "", ""));
    }

    @Test
    void decodesMoreThanItBuffers() {
        String input = LongStream.range(0, 100_000).mapToObj(Long::toString).collect(Collectors.joining("\n"));

        Result result = Cli.launchWithInput(input, "id", "decode", "-o", "json");

        assertThat(result.out().lines()).hasSize(100_000).last().asString().startsWith("{\"id\":\"99999\",");
        assertThat(result.err()).isEmpty();
    }

    @Test
    void answersEachLineOfASlowInputAtOnce() throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (PipedOutputStream typing = new PipedOutputStream()) {
            PipedInputStream in = new PipedInputStream(typing);
            CompletableFuture<Integer> run = CompletableFuture.supplyAsync(() -> Shardflake.run(
                    new String[] {"id", "decode", "-o", "json"}, in, out, System.err, Map.of(), Ansi.OFF));
            typing.write("5\n".getBytes(UTF_8));
            typing.flush();

            Awaitility.await()
                    .untilAsserted(() -> assertThat(out.toString(UTF_8)).endsWith("}\n"));
            assertThat(run).isNotDone();

            typing.close();
            assertThat(run.get(10, TimeUnit.SECONDS)).isZero();
        }
    }

    @Test
    void saysWhyItCouldNotRead() {
        assertThat(Cli.launch(new PipedInputStream(), Map.of(), "id", "decode", "5", "-"))
                .isEqualTo(new Result(1, """
                                ID                    TIME                      SHARD  SEQUENCE  SCHEMA
                                5                     2025-01-01T00:00:00Z      0      5         shard_0000
                                """, "error: cannot read standard input: Pipe not connected\n"));
    }

    @Test
    void failsWhenItsOutputIsLost() {
        ByteArrayOutputStream err = new ByteArrayOutputStream();

        int exitCode = runInto("No space left on device", err);

        assertThat(err.toString(UTF_8)).isEqualTo("error: cannot write to standard output: No space left on device\n");
        assertThat(exitCode).isEqualTo(1);
    }

    @Test
    void endsQuietlyWhenNobodyReadsOn() {
        ByteArrayOutputStream err = new ByteArrayOutputStream();

        int exitCode = runInto("Broken pipe", err);

        assertThat(err.toString(UTF_8)).isEmpty();
        assertThat(exitCode).isEqualTo(141);
    }

    private static int runInto(String failure, OutputStream err) {
        OutputStream failing = new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                throw new IOException(failure);
            }
        };
        return Shardflake.run(
                new String[] {"id", "decode", "5"}, InputStream.nullInputStream(), failing, err, Map.of(), Ansi.OFF);
    }
}
