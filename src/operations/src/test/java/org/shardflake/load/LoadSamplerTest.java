/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.load;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.AccountShards;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.server.ServerUrl;

/** Counters of 4 shards on db1, while db2 has none. */
class LoadSamplerTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    static Path directory;

    private AccountShards shards;
    private LoadSampler sampler;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, 2, 4, directory);
        sampler = new LoadSampler(server -> shards.url(server.name()));
    }

    private ShardMap map() {
        return shards.catalog().load();
    }

    /** By a session that reports what it did at once. */
    private void run(String server, String... statements) throws SQLException {
        try (Connection connection = shards.database(server).connect()) {
            for (String statement : statements) {
                Sql.execute(connection, statement);
            }
            Sql.call(connection, "SELECT pg_stat_force_next_flush()");
        }
    }

    private void fill(int shard, int rows) throws SQLException {
        run(
                "db1",
                String.format(
                        Locale.ROOT,
                        "INSERT INTO shard_%04d.account (uid) SELECT %s FROM generate_series(1, %s)",
                        shard,
                        shard,
                        rows));
    }

    private static ShardCounters counters(LoadSample sample, int shard) {
        return Objects.requireNonNull(sample.shards().get(shard));
    }

    private static ShardRate rate(LoadSample before, LoadSample after, int shard) {
        return Objects.requireNonNull(after.since(before).get(shard));
    }

    /** The rows behind the rates of a shard. */
    private static List<Long> rows(LoadSample before, LoadSample after, int shard) {
        double seconds =
                (counters(after, shard).nanos() - counters(before, shard).nanos()) / 1e9;
        ShardRate rate = rate(before, after, shard);
        return List.of(
                Math.round(rate.inserted() * seconds),
                Math.round(rate.written() * seconds),
                Math.round(rate.read() * seconds));
    }

    @Test
    void twoSamplesGiveTheRatesOfEachShard() throws Exception {
        LoadSample before = sampler.sample(map());
        fill(1, 1000);
        run(
                "db1",
                "UPDATE shard_0001.account SET balance = 1",
                "DELETE FROM shard_0001.account WHERE id = (SELECT min(id) FROM shard_0001.account)",
                "INSERT INTO shard_0002.tag VALUES (1, 'a'), (2, 'b')");
        LoadSample after = sampler.sample(map());

        assertThat(after.problems()).isEmpty();
        assertThat(after.since(before)).containsOnlyKeys(0, 1, 2, 3);
        assertThat(after.since(before).get(0)).isEqualTo(ShardRate.NONE);
        // The update reads all rows, and the delete the one of the index twice.
        assertThat(rows(before, after, 1)).startsWith(1000L, 2001L);
        assertThat(rows(before, after, 1).get(2)).isBetween(1001L, 1002L);
        assertThat(rows(before, after, 2)).containsExactly(2L, 2L, 0L);
        double one = rate(before, after, 1).inserted();
        double both = rate(before, after, 1).plus(rate(before, after, 2)).inserted();
        assertThat(both).isCloseTo(one * 1.002, within(1e-6 * both));
    }

    @Test
    void aResetGivesNoRateUntilTheNextSample() throws Exception {
        fill(1, 10);
        LoadSample before = sampler.sample(map());
        run("db1", "SELECT pg_stat_reset()");
        LoadSample reset = sampler.sample(map());
        assertThat(reset.since(before)).containsOnlyKeys(0, 2, 3);
        assertThat(reset.since(before))
                .allSatisfy((shard, rate) -> assertThat(rate).isEqualTo(ShardRate.NONE));

        fill(1, 10);
        assertThat(rows(reset, sampler.sample(map()), 1)).startsWith(10L);
    }

    @Test
    @Tag("full")
    void aShardThatMovedHasNoRateOfItsCopying() throws Exception {
        fill(1, 5000);
        LoadSample before = sampler.sample(map());
        move("db1", "db2");
        LoadSample moved = sampler.sample(map());
        assertThat(moved.since(before)).containsOnlyKeys(0, 2, 3);
        assertThat(counters(moved, 1).server()).isEqualTo("db2");

        move("db2", "db1");
        assertThat(sampler.sample(map()).since(before)).containsOnlyKeys(0, 2, 3);
        assertThat(sampler.sample(map()).since(moved)).containsOnlyKeys(0, 2, 3);
    }

    private void move(String from, String to) throws InterruptedException {
        Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        Move move = mover.beginOrResume(from, to, ShardSet.of(1), "a test");
        mover.carryOut(move, false);
    }

    @Test
    void aServerThatCannotBeReadIsAProblemAndTheOthersAreSampled() throws Exception {
        move("db1", "db2");
        LoadSample sample = new LoadSampler(server -> server.name().equals("db1")
                        ? ServerUrl.parse("postgresql://postgres@localhost:1/app")
                        : shards.url(server.name()))
                .sample(map());
        assertThat(sample.shards()).containsOnlyKeys(1);
        assertThat(sample.problems()).containsOnlyKeys("db1");
        assertThat(sample.problems().get("db1")).isEqualTo("localhost:1: Connection refused");
    }

    @Test
    void aServerThatCountsNothingIsAProblem() throws Exception {
        run("db1", "ALTER DATABASE %s SET track_counts = off".formatted(database()));
        assertThat(sampler.sample(map()).problems())
                .isEqualTo(Map.of("db1", "track_counts is off, so it counts nothing"));
    }

    private String database() throws SQLException {
        try (Connection connection = shards.database("db1").connect()) {
            return Sql.text(connection, "SELECT quote_ident(current_database())");
        }
    }

    @Test
    void anyRoleMayRead() throws Exception {
        run("db1", "DROP ROLE IF EXISTS load_reader", "CREATE ROLE load_reader LOGIN PASSWORD 'secret' NOSUPERUSER");
        fill(1, 7);
        try {
            AccountShards plain = shards.as("load_reader", "secret");
            LoadSample sample = new LoadSampler(server -> plain.url(server.name())).sample(map());
            assertThat(sample.problems()).isEmpty();
            assertThat(counters(sample, 1).rows().inserted()).isEqualTo(7);
            assertThat(ShardSizes.read(map(), server -> plain.url(server.name()))
                            .bytes(1))
                    .isPositive();
        } finally {
            run("db1", "DROP ROLE load_reader");
        }
    }

    @Test
    void samplingWaitsForNobodyAndNobodyForIt() throws Exception {
        fill(1, 7);
        try (Connection altering = shards.database("db1").connect()) {
            altering.setAutoCommit(false);
            Sql.execute(altering, "LOCK TABLE shard_0001.account IN ACCESS EXCLUSIVE MODE");
            assertThat(counters(sampler.sample(map()), 1).rows().inserted()).isEqualTo(7);
            altering.rollback();
        }
    }
}
