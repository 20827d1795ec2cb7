/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.AccountShards;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;

/** The load of shards as an operator sees it: 4 shards on db1, of which 1 and 2 are written all the time, 1 three times as much. */
class LoadCommandsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    static Path directory;

    private final AtomicBoolean ends = new AtomicBoolean();
    private AccountShards shards;
    private CompletableFuture<Void> writing;

    @BeforeEach
    void write() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, 2, 4, directory);
        writing = CompletableFuture.runAsync(() -> Sql.translating(this::keepWriting));
    }

    @AfterEach
    void endWriting() {
        ends.set(true);
        writing.join();
    }

    private void keepWriting() throws SQLException {
        try (Connection connection = shards.database("db1").connect()) {
            while (!ends.get()) {
                Sql.execute(connection, """
                        INSERT INTO shard_0001.account (uid) SELECT 1 FROM generate_series(1, 30);
                        INSERT INTO shard_0002.account (uid) SELECT 2 FROM generate_series(1, 10);
                        SELECT pg_stat_force_next_flush();
                        """);
            }
        }
    }

    private Cli.Result launch(String... args) {
        return Cli.launch(InputStream.nullInputStream(), shards.environment(), args);
    }

    @Test
    void topShowsTheBusiestFirst() {
        Cli.Result top = launch("top", "--every=300ms");
        assertThat(top.exitCode()).as(top.toString()).isZero();
        assertThat(top.err()).isEmpty();
        assertThat(top.out()).matches("""
                [0-9,.]+ rows/s written, [0-9,.]+ inserted, 0 read

                SERVER +SHARD +WRITTEN/S +INSERTED/S +READ/S +BYTES +SHARE
                db1 +1 +[0-9,.]+ +[0-9,.]+ +0 +[0-9.]+ [KM]iB +7[0-9].[0-9] %
                db1 +2 +[0-9,.]+ +[0-9,.]+ +0 +[0-9.]+ [KM]iB +2[0-9].[0-9] %
                """);
    }

    @Test
    void topAsJsonHasALineForEachSample() {
        Cli.Result top = launch("top", "--every=300ms", "--samples=2", "--limit=1", "-o=json");
        assertThat(top.exitCode()).as(top.toString()).isZero();
        assertThat(top.out())
                .matches(
                        "(\\{\"written\":[0-9.]+,\"inserted\":[0-9.]+,\"read\":0.0,\"measured\":4,\"shards\":\\[\\{\"server\":\"db1\",\"shard\":1,[^]]*}],\"problems\":\\{}}\n){2}");
    }

    @Test
    void topBySizeShowsAlsoWhatIsNotWritten() {
        assertThat(launch("top", "--every=300ms", "--by=bytes").out().lines()).hasSize(3 + 4);
    }

    @Test
    @Tag("full")
    void topShowsTheOthersIfAServerIsGone() throws Exception {
        Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        mover.carryOut(mover.beginOrResume("db1", "db2", ShardSet.of(3), "a test"), false);
        shards.catalog().changeServer(new Server("db2", "postgresql://postgres@localhost:1/app"), "a test");

        Cli.Result top = launch("top", "--every=300ms");
        assertThat(top.exitCode()).as(top.toString()).isEqualTo(3);
        assertThat(top.out()).contains("; without 1 shard of unknown rate\n").contains("db1 ");
        assertThat(top.err()).startsWith("warning: no rates for db2: ").contains("Connection refused");

        shards.catalog().changeServer(new Server("db1", "postgresql://postgres@localhost:1/other"), "a test");
        Cli.Result none = launch("top", "--every=300ms");
        assertThat(none.exitCode()).as(none.toString()).isEqualTo(1);
        assertThat(none.err()).contains("no server can be sampled").contains("hint: ");
    }

    @Test
    void topRefusesWhatMakesNoSense() {
        assertThat(launch("top", "--limit=0"))
                .isEqualTo(new Cli.Result(2, "", "error: limit is 0, allowed: 1 or more\n"));
        assertThat(launch("top", "--by=count").exitCode()).isEqualTo(2);
        assertThat(launch("top", "--samples=0").exitCode()).isEqualTo(2);
    }

    @Test
    void theMapShowsTheRatesOfServers() {
        Cli.Result map = launch("map", "show", "--rates", "--over=300ms");
        assertThat(map.exitCode()).as(map.toString()).isZero();
        assertThat(map.out())
                .containsPattern("SERVER +COUNT +WRITTEN/S +READ/S +SHARDS +URL\ndb1 +4 +[0-9,]{2,} +0 +0-3")
                .containsPattern("db2 +0 +- +- +");
        assertThat(launch("map", "show", "--rates", "--over=300ms", "-o=json").out())
                .containsPattern("\"rates\":\\{\"db1\":\\{\"written\":[0-9.]+,.*\"db2\":null}");
    }

    /** A sample does not read both counters at the same moment: a busy server may commit some transactions in between, which are little of 2 s. */
    @Test
    @Tag("full")
    void aPlanByRateMovesWhatIsWritten() {
        Path file = directory.resolve("by-rate.yaml");
        Cli.Result plan = launch("rebalance", "plan", "--by=rate", "--over=2s", "--file=" + file);
        assertThat(plan.exitCode()).as(plan.toString()).isZero();
        assertThat(plan.err()).isEmpty();
        assertThat(plan.out())
                .contains("WRITTEN/S")
                .containsPattern("db1 +4 +3 .* 200 % +(50|150) %\n")
                .containsPattern("db2 +0 +1 .* 0 % +(50|150) %\n")
                .containsPattern("moves 1 shard \\([0-9.]+ [KM]iB to copy\\) of the shard map");

        endWriting();
        Cli.Result apply = launch("rebalance", "apply", file.toString());
        assertThat(apply.exitCode()).as(apply.toString()).isZero();
        ShardMap map = shards.catalog().load();
        assertThat(map.shards(map.server("db2")).size()).isEqualTo(1);
        assertThat(launch("rebalance", "plan", "--by=rate", "--over=1s").out())
                .endsWith("\nnothing to do: there is no load\n");
    }

    @Test
    void aPlanByRateNeedsAllServers() {
        shards.catalog().changeServer(new Server("db1", "postgresql://postgres@localhost:1/other"), "a test");
        Cli.Result plan = launch("rebalance", "plan", "--by=rate", "--over=1s");
        assertThat(plan.exitCode()).isEqualTo(1);
        assertThat(plan.err())
                .contains("cannot measure the load of server db1: ")
                .contains("hint: ");
    }
}
