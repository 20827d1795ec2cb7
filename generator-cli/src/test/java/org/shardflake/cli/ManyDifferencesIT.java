/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
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

/** Rows that differ, or are copied, and are more than the command's memory holds. */
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
    }

    private void insertAccounts() throws SQLException {
        shards.execute(
                "db1",
                "INSERT INTO shard_0003.account (uid, balance, note) SELECT 3, n, 'some text' FROM generate_series(1, %s) n"
                        .formatted(ROWS));
    }

    /** In a process of its own, whose heap has room for a part of the keys. */
    private Cli.Result launchInASmallHeap(String... args) throws Exception {
        return launch("40m", args);
    }

    private Cli.Result launch(String heap, String... args) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx" + heap,
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
        insertAccounts();
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

    /** Claims that no row's shard knows are looked at again, as a transaction may be about to commit. */
    @Test
    void ofALookupAreFoundInASmallHeap() throws Exception {
        insertAccounts();
        assertThat(launchInASmallHeap("lookup", "create", "account.note").exitCode())
                .isZero();
        shards.execute("db1", """
                INSERT INTO shard_0004.shardflake_lookup (lookup, value, member, held_by_uid, held_by_id, token, state)
                SELECT 1, 'value ' || n, '', n, n, gen_random_uuid(), 'held' FROM generate_series(1, 3000) n
                """);

        Cli.Result verify = launchInASmallHeap("lookup", "verify", "account.note", "-o", "json");

        assertThat(verify.exitCode()).as(verify.toString()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(verify.out()).contains("\"differing\":" + (ROWS + 3000) + ",");
        assertThat(verify.out().split(" has not claimed its value | knows nothing of it", -1))
                .as("named")
                .hasSize(1001);
    }

    /** Copies and compares rows of 50 MB in a heap of 256 MB, with every command that carries rows between servers. */
    @Test
    void rowsOfAnySizeAreCopiedAndCompared() throws Exception {
        String table = "(id bigint PRIMARY KEY, uid bigint NOT NULL, body bytea);";
        Path changelog = Files.writeString(
                directory.resolve("doc.sql"),
                "--liquibase formatted sql\n--changeset ann:doc\nCREATE TABLE doc " + table);
        succeed("schema", "deploy", "--changelog=" + changelog, "--search-path=" + directory);
        String rows =
                "SELECT n, 3, convert_to(repeat('x', CASE WHEN n < 5 THEN 50000000 ELSE 1000000 END), 'UTF8') FROM generate_series(1, 24) n";
        shards.executeInCatalog("CREATE SCHEMA old; CREATE TABLE old.doc " + table + "INSERT INTO old.doc " + rows);
        Path reference = Files.writeString(
                directory.resolve("reference.sql"),
                "--liquibase formatted sql\n--changeset ann:page\nCREATE TABLE page " + table + "INSERT INTO page "
                        + rows);
        String old = shards.catalogUrl().toString();

        succeed("adopt", "run", "--table=old.doc", "--key=uid", "--from=" + old);
        succeed("adopt", "run", "--table=old.doc", "--key=uid", "--finish", "--yes", "--from=" + old);
        succeed("lookup", "create", "doc.body", "--hashed");
        assertThat(launch("256m", "lookup", "verify", "doc.body").out()).contains("24 differences");
        succeed("reference", "deploy", "--home=db1", "--changelog=" + reference, "--search-path=" + directory);
        shards.execute("db2", "SET session_replication_role = replica; UPDATE reference.page SET uid = 4");
        succeed("reference", "repair");
        succeed("move", "start", "--shards=3", "--to=db2");
        succeed("move", "verify");
        shards.execute(
                "db2",
                "SET session_replication_role = replica; UPDATE shard_0003.doc SET body = body || 'y' WHERE id < 10");
        assertThat(launch("256m", "move", "verify").exitCode()).isEqualTo(ExitCodes.VERIFICATION);
    }

    private void succeed(String... args) throws Exception {
        Cli.Result result = launch("256m", args);
        assertThat(result.exitCode()).as(List.of(args) + ": " + result).isZero();
    }
}
