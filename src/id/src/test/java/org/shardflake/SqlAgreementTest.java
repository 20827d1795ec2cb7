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
import java.sql.Statement;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.sql.FunctionLibrary;

/** The id in Java and the id in SQL are the same, for random ids and random fields. */
class SqlAgreementTest {

    private static final int CASES = 10_000;
    private static final long EPOCH = 1_293_840_000_000L;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1).prepare(SqlAgreementTest::deploy);

    private static final IdLayout LAYOUT = new IdLayout(EPOCH);

    private static Connection connection;

    private static void deploy(Connection connection) throws SQLException {
        FunctionLibrary.deploy(connection, EPOCH);
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE EXTENSION pgcrypto");
        }
    }

    private final long seed = System.nanoTime();
    private final Random random = new Random(seed);

    @BeforeAll
    static void connect() throws SQLException {
        connection = postgres.database(0).connect();
    }

    @AfterAll
    static void disconnect() throws SQLException {
        connection.close();
    }

    @Test
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
                            .as("id %s, seed %s", id, seed)
                            .containsExactly(row.getLong(2), row.getLong(3), row.getLong(4));
                    rows++;
                }
                assertThat(rows).isEqualTo(CASES);
            }
        }
    }

    @Test
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
                            .as("time %s, seed %s", time, seed)
                            .containsExactly(row.getLong(4), row.getLong(5), row.getLong(6));
                    rows++;
                }
                assertThat(rows).isEqualTo(CASES);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1970-01-01T00:00:00Z",
                "2010-12-31T23:59:59.999999Z",
                "2011-01-01T00:00:00.000999Z",
                "2011-01-01T00:00:00.001Z",
                "2026-11-20T12:00:00.123456Z",
                "2045-11-03T19:53:47.775999Z",
                "2045-11-03T19:53:47.776Z",
                "9999-12-31T23:59:59.999999Z"
            })
    void bothBoundAnyTimeAlike(Instant time) throws SQLException {
        String sql = "SELECT shardflake.min_id(time), shardflake.max_id(time) FROM CAST(? AS timestamptz) time";
        try (PreparedStatement bounds = connection.prepareStatement(sql)) {
            bounds.setString(1, time.toString());
            try (ResultSet row = bounds.executeQuery()) {
                row.next();
                assertThat(new long[] {LAYOUT.minId(time), LAYOUT.maxId(time)})
                        .containsExactly(row.getLong(1), row.getLong(2));
            }
        }
    }

    @Test
    void bothWriteAndReadTheFormsOfAnyIdAlike() throws SQLException {
        Long[] ids = random.longs(CASES).boxed().toArray(Long[]::new);
        String sql = """
                SELECT id, base32, shortcode, shardflake.base32_to_id(base32), shardflake.shortcode_to_id(shortcode)
                  FROM unnest(?::bigint[]) id, shardflake.id_to_base32(id) base32, shardflake.id_to_shortcode(id) shortcode""";
        try (PreparedStatement forms = connection.prepareStatement(sql)) {
            forms.setArray(1, connection.createArrayOf("bigint", ids));
            try (ResultSet row = forms.executeQuery()) {
                int rows = 0;
                while (row.next()) {
                    ShardflakeId id = ShardflakeId.of(row.getLong(1));
                    assertThat(List.of(id.toBase32(), id.toShortcode(), id.value(), id.value()))
                            .as("id %s, seed %s", id, seed)
                            .containsExactly(row.getString(2), row.getString(3), row.getLong(4), row.getLong(5));
                    rows++;
                }
                assertThat(rows).isEqualTo(CASES);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {16, 24, 32})
    void bothWriteAndReadPublicIdsAlike(int keyLength) throws SQLException {
        byte[] key = new byte[keyLength];
        random.nextBytes(key);
        PublicIds publicIds = new PublicIds(key);
        Long[] ids = random.longs(CASES / 10, 0, Long.MAX_VALUE).boxed().toArray(Long[]::new);
        String sql = """
                SELECT id, public_id, shardflake.public_to_id(public_id, key)
                  FROM unnest(?::bigint[]) id, CAST(? AS bytea) key, shardflake.id_to_public(id, key) public_id""";
        try (PreparedStatement forms = connection.prepareStatement(sql)) {
            forms.setArray(1, connection.createArrayOf("bigint", ids));
            forms.setBytes(2, key);
            try (ResultSet row = forms.executeQuery()) {
                int rows = 0;
                while (row.next()) {
                    ShardflakeId id = ShardflakeId.of(row.getLong(1));
                    assertThat(publicIds.encode(id))
                            .as("id %s, seed %s", id, seed)
                            .isEqualTo(row.getString(2));
                    assertThat(publicIds.decode(row.getString(2))).isEqualTo(ShardflakeId.of(row.getLong(3)));
                    rows++;
                }
                assertThat(rows).isEqualTo(ids.length);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 7, 42, 999, 1341, 8191})
    void bothNameASchemaAlike(int shard) throws SQLException {
        try (PreparedStatement name = connection.prepareStatement("SELECT shardflake.shard_schema(?)")) {
            name.setInt(1, shard);
            try (ResultSet row = name.executeQuery()) {
                row.next();
                assertThat(Sharding.schema(shard)).isEqualTo(row.getString(1));
            }
        }
    }

    private Integer[] integers(int max) {
        return Stream.generate(() -> random.nextInt(max + 1)).limit(CASES).toArray(Integer[]::new);
    }
}
