/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.shardflake.sql.Shards.queryLong;
import static org.shardflake.sql.Shards.queryString;

import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardflake.cluster.PostgresExtension;

class IdFunctionsTest {

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepareOnce("library", FunctionLibrary::deploy);

    private static Connection connection;

    @BeforeAll
    static void connect() throws SQLException {
        connection = postgres.database(0).connect();
        Shards.execute(connection, "SET TimeZone = 'UTC'", "SET DateStyle = 'ISO'");
    }

    @AfterAll
    static void disconnect() throws SQLException {
        connection.close();
    }

    /** ms 1387263000, shard 31341 mod 2000 and sequence 5001 mod 1024, the worked example of Instagram's article. */
    @Test
    void workedExampleRoundTrips() throws SQLException {
        assertThat(queryLong(
                        connection,
                        "SELECT shardflake.compose_id(1387263000::bigint * 1024 + 5001 % 1024, 31341 % 2000)"))
                .isEqualTo(11637205501278089L);
        assertThat(queryString(
                        connection,
                        "SELECT concat_ws(' ', shardflake.id_timestamp(id), shardflake.id_shard(id), shardflake.id_sequence(id))"
                                + " FROM (VALUES (11637205501278089)) AS example (id)"))
                .isEqualTo("2025-01-17 01:21:03+00 1341 905");
    }

    @ParameterizedTest
    @CsvSource({
        "0, 2025-01-01 00:00:00+00, 0, 0",
        "1, 2025-01-01 00:00:00+00, 0, 1",
        "1023, 2025-01-01 00:00:00+00, 0, 1023",
        "1024, 2025-01-01 00:00:00+00, 1, 0",
        "8387584, 2025-01-01 00:00:00+00, 8191, 0",
        "8388607, 2025-01-01 00:00:00+00, 8191, 1023",
        "8388608, 2025-01-01 00:00:00.001+00, 0, 0",
        "9223372036854775807, 2059-11-04 19:53:47.775+00, 8191, 1023",
        "-9223372036854775808, 2059-11-04 19:53:47.776+00, 0, 0",
        "-1, 2094-09-07 15:47:35.551+00, 8191, 1023"
    })
    void everyBoundaryDecodes(String id, String time, int shard, int sequence) throws SQLException {
        assertThat(queryString(
                        connection,
                        "SELECT concat_ws(',', shardflake.id_timestamp(id), shardflake.id_shard(id), shardflake.id_sequence(id))"
                                + " FROM (SELECT '" + id + "'::bigint AS id) AS given"))
                .isEqualTo(time + "," + shard + "," + sequence);
    }

    @ParameterizedTest
    @CsvSource({
        "2025-01-01 00:00:00Z, 0, 8388607",
        "2025-01-01 00:00:00.001999Z, 8388608, 16777215",
        "2025-01-17 02:21:03+01, 11637205499904000, 11637205508292607",
        "2059-11-04 19:53:47.775Z, 9223372036846387200, 9223372036854775807",
        "2059-11-04 19:53:47.776Z, 9223372036846387200, 9223372036854775807",
        "infinity, 9223372036846387200, 9223372036854775807",
        "2024-12-31 23:59:59.999Z, 0, -1",
        "-infinity, 0, -1"
    })
    void boundsOfAMillisecondTakeInEveryShard(String time, long min, long max) throws SQLException {
        assertThat(queryLong(connection, "SELECT shardflake.min_id('" + time + "')"))
                .isEqualTo(min);
        assertThat(queryLong(connection, "SELECT shardflake.max_id('" + time + "')"))
                .isEqualTo(max);
    }

    @Test
    void boundsServeAnIndexSearchByTime() throws SQLException {
        Shards.execute(
                connection,
                "CREATE TABLE public.photo (id bigint PRIMARY KEY)",
                "INSERT INTO public.photo SELECT shardflake.min_id('2026-01-01 00:00Z') + n * 8388608::bigint FROM generate_series(0, 100000) n",
                "ANALYZE public.photo");

        String search =
                " public.photo WHERE id BETWEEN shardflake.min_id('2026-01-01 00:00:01Z') AND shardflake.max_id('2026-01-01 00:00:01.999Z')";
        assertThat(queryLong(connection, "SELECT count(*) FROM" + search)).isEqualTo(1000);
        assertThat(queryString(connection, "EXPLAIN SELECT id FROM" + search)).startsWith("Index Only Scan");
    }

    @Test
    void nullGivesNull() throws SQLException {
        assertThat(queryString(
                        connection,
                        "SELECT coalesce(shardflake.id_timestamp(NULL)::text, shardflake.id_shard(NULL)::text,"
                                + " shardflake.id_sequence(NULL)::text, shardflake.min_id(NULL)::text, shardflake.max_id(NULL)::text,"
                                + " shardflake.shard_schema(NULL))"))
                .isNull();
    }
}
