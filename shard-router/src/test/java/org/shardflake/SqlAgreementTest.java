/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
<<<<<<< HEAD
import java.util.Random;
import java.util.stream.Stream;
=======
import java.util.SplittableRandom;
import java.util.stream.LongStream;
>>>>>>> ids
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
<<<<<<< HEAD
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.sql.FunctionLibrary;

/** The id in Java and the id in SQL are the same, for random ids and random fields. */
class SqlAgreementTest {

    private static final int CASES = 10_000;
    private static final long EPOCH = 1_293_840_000_000L;

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepare(connection -> FunctionLibrary.deploy(connection, EPOCH));

    private static final IdLayout LAYOUT = new IdLayout(EPOCH);

    private static Connection connection;

    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);

=======
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.sql.FunctionLibrary;

/** The database and this library read and make the same ids. */
class SqlAgreementTest {

    private static final int IDS = 10_000;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1).prepare(FunctionLibrary::deploy);

    private static Connection connection;

>>>>>>> ids
    @BeforeAll
    static void connect() throws SQLException {
        connection = postgres.database(0).connect();
    }

    @AfterAll
    static void disconnect() throws SQLException {
        connection.close();
    }

    @Test
<<<<<<< HEAD
    void bothDecodeAnyIdAlike() throws SQLException {
        Long[] ids = random.longs(CASES).boxed().toArray(Long[]::new);
        String sql = """
                SELECT id, (extract(epoch FROM shardflake.id_timestamp(id)) * 1000)::bigint,
                       shardflake.id_shard(id), shardflake.id_sequence(id)
                  FROM unnest(?::bigint[]) id""";
        try (PreparedStatement decode = connection.prepareStatement(sql)) {
            decode.setArray(1, connection.createArrayOf("bigint", ids));
            try (ResultSet row = decode.executeQuery()) {
                int rows = 0;
                while (row.next()) {
                    long id = row.getLong(1);
                    assertThat(new long[] {LAYOUT.timeMillis(id), IdLayout.shard(id), IdLayout.sequence(id)})
                            .as("id %d, seed %d", id, seed)
                            .containsExactly(row.getLong(2), row.getLong(3), row.getLong(4));
                    rows++;
                }
                assertThat(rows).isEqualTo(CASES);
=======
    void bothReadTheSameFields() throws SQLException {
        LongStream ids = LongStream.concat(
                new SplittableRandom(42).longs(IDS),
                LongStream.of(0, 1, -1, Long.MIN_VALUE, Long.MAX_VALUE, 11_637_205_501_278_089L));
        String sql = """
                SELECT id, round(extract(epoch FROM shardflake.id_timestamp(id)) * 1000)::bigint AS millis,
                       shardflake.id_shard(id) AS shard, shardflake.id_sequence(id) AS sequence, id::text AS text
                  FROM unnest(?::bigint[]) AS given (id)
                """;
        try (PreparedStatement query = connection.prepareStatement(sql)) {
            query.setObject(1, ids.toArray());
            try (ResultSet row = query.executeQuery()) {
                int rows = 0;
                for (; row.next(); rows++) {
                    long id = row.getLong("id");
                    assertThat(row.getLong("millis")).isEqualTo(IdLayout.DEFAULT.timeMillis(id));
                    assertThat(row.getInt("shard")).isEqualTo(IdLayout.shard(id));
                    assertThat(row.getInt("sequence")).isEqualTo(IdLayout.sequence(id));
                    assertThat(row.getString("text"))
                            .isEqualTo(ShardflakeId.of(id).toString());
                    assertThat(ShardflakeId.parse(row.getString("text")).value())
                            .isEqualTo(id);
                }
                assertThat(rows).isEqualTo(IDS + 6);
>>>>>>> ids
            }
        }
    }

    @Test
<<<<<<< HEAD
    void bothEncodeAnyFieldsAlike() throws SQLException {
        Long[] times = random.longs(CASES, EPOCH, EPOCH + IdLayout.MAX_ELAPSED_MILLIS + 1)
                .boxed()
                .toArray(Long[]::new);
        Integer[] shards = integers(IdLayout.MAX_SHARD);
        Integer[] sequences = integers(IdLayout.MAX_SEQUENCE);
        String sql = """
                SELECT time, shard, sequence,
                       shardflake.compose_id((time - shardflake.epoch_ms()) * 1024 + sequence, shard),
                       shardflake.min_id(to_timestamp(time / 1000.0::double precision)),
                       shardflake.max_id(to_timestamp(time / 1000.0::double precision))
                  FROM unnest(?::bigint[], ?::integer[], ?::integer[]) AS fields (time, shard, sequence)""";
        try (PreparedStatement encode = connection.prepareStatement(sql)) {
            encode.setArray(1, connection.createArrayOf("bigint", times));
            encode.setArray(2, connection.createArrayOf("integer", shards));
            encode.setArray(3, connection.createArrayOf("integer", sequences));
            try (ResultSet row = encode.executeQuery()) {
                int rows = 0;
                while (row.next()) {
                    long id = LAYOUT.encode(row.getLong(1), row.getInt(2), row.getInt(3));
                    Instant time = Instant.ofEpochMilli(row.getLong(1));
                    assertThat(new long[] {id, LAYOUT.minId(time), LAYOUT.maxId(time)})
                            .as("time %s, seed %d", time, seed)
                            .containsExactly(row.getLong(4), row.getLong(5), row.getLong(6));
                    rows++;
                }
                assertThat(rows).isEqualTo(CASES);
=======
    void bothMakeTheSameIds() throws SQLException {
        SplittableRandom random = new SplittableRandom(43);
        String sql = "SELECT shardflake.compose_id(?::bigint * 1024 + ?, ?)";
        try (PreparedStatement query = connection.prepareStatement(sql)) {
            for (int i = 0; i < IDS; i++) {
                long elapsed = random.nextLong(IdLayout.MAX_ELAPSED_MILLIS + 1);
                int shard = random.nextInt(IdLayout.MAX_SHARD + 1);
                int sequence = random.nextInt(IdLayout.MAX_SEQUENCE + 1);
                query.setLong(1, elapsed);
                query.setInt(2, sequence);
                query.setInt(3, shard);
                assertThat(single(query))
                        .isEqualTo(IdLayout.DEFAULT.encode(IdLayout.DEFAULT.epochMillis() + elapsed, shard, sequence));
>>>>>>> ids
            }
        }
    }

<<<<<<< HEAD
    private Integer[] integers(int max) {
        return Stream.generate(() -> random.nextInt(max + 1)).limit(CASES).toArray(Integer[]::new);
=======
    @ParameterizedTest
    @ValueSource(
            strings = {
                "1970-01-01T00:00:00Z",
                "2024-12-31T23:59:59.999999Z",
                "2025-01-01T00:00:00Z",
                "2025-01-01T00:00:00.000999Z",
                "2025-01-01T00:00:00.001Z",
                "2026-11-20T12:00:00.123456Z",
                "2059-11-04T19:53:47.775999Z",
                "2059-11-04T19:53:47.776Z",
                "9999-12-31T23:59:59.999999Z"
            })
    void bothGiveTheSameBounds(Instant time) throws SQLException {
        assertThat(bound("min_id", time)).isEqualTo(IdLayout.DEFAULT.minId(time));
        assertThat(bound("max_id", time)).isEqualTo(IdLayout.DEFAULT.maxId(time));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 7, 42, 1341, 8191})
    void bothNameTheSameSchema(int shard) throws SQLException {
        try (PreparedStatement query = connection.prepareStatement("SELECT shardflake.shard_schema(?)")) {
            query.setInt(1, shard);
            try (ResultSet row = query.executeQuery()) {
                row.next();
                assertThat(row.getString(1)).isEqualTo(Sharding.schema(shard));
            }
        }
    }

    private static long bound(String function, Instant time) throws SQLException {
        String sql = "SELECT shardflake.%s(?::timestamptz)".formatted(function);
        try (PreparedStatement query = connection.prepareStatement(sql)) {
            query.setString(1, time.toString());
            return single(query);
        }
    }

    private static long single(PreparedStatement query) throws SQLException {
        try (ResultSet row = query.executeQuery()) {
            row.next();
            return row.getLong(1);
        }
>>>>>>> ids
    }
}
