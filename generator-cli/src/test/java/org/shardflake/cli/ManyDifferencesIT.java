/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.move.AccountShards;

/** Copies that differ in more rows than the command's memory holds. */
@Tag("full")
class ManyDifferencesIT {

    private static final int ROWS = 150_000;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private AccountShards shards;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.create(postgres, 2, 8, directory);
        shards.execute(
                "db1",
                "INSERT INTO shard_0003.account (uid, balance, note) SELECT 3, n, 'some text' FROM generate_series(1, %s) n"
                        .formatted(ROWS));
    }

    /** In a process of its own, whose heap has room for a part of the keys. */
    private Cli.Result launchInASmallHeap(String... args) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx40m",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                Shardflake.class.getName()));
        command.addAll(List.of(args));
        Path out = directory.resolve("out");
        Path err = directory.resolve("err");
        ProcessBuilder builder =
                new ProcessBuilder(command).redirectOutput(out.toFile()).redirectError(err.toFile());
        builder.environment().putAll(shards.environment());
        Process process = builder.start();
        assertThat(process.waitFor(5, TimeUnit.MINUTES)).isTrue();
        return new Cli.Result(process.exitValue(), Files.readString(out), Files.readString(err));
    }

    @Test
    void areFoundInASmallHeap() throws Exception {
        assertThat(launchInASmallHeap("move", "start", "--shards=3", "--to=db2").exitCode())
                .isZero();
        shards.execute(
                "db2",
                "SET session_replication_role = replica; UPDATE shard_0003.account SET note = upper(note) WHERE balance > 1000");

        Cli.Result verify = launchInASmallHeap("move", "verify", "-o", "json");

        assertThat(verify.exitCode()).as(verify.toString()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(verify.err())
                .containsPattern(
                        "shard 3 differs: shard_0003.account: at least [0-9,]+ rows, among them 1,000 different \\(");
        assertThat(verify.out().split("\"\\([0-9]+\\)", -1)).as("named").hasSizeGreaterThan(1000);
        assertThat(shards.catalogNumber(
                        "SELECT count(*) FROM shardflake_catalog.move_shard WHERE verified = 'different'"))
                .isOne();
        Cli.Result cutover = launchInASmallHeap("move", "cutover");
        assertThat(cutover.exitCode()).as(cutover.toString()).isIn(ExitCodes.PRECONDITION, ExitCodes.VERIFICATION);
        assertThat(shards.catalogNumber(
                        "SELECT count(*) FROM shardflake_catalog.shard WHERE server = 'db2' AND shard = 3"))
                .isZero();
    }
}
