/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.shardflake.sql.Shards.execute;
import static org.shardflake.sql.Shards.queryLong;
import static org.shardflake.sql.Shards.queryString;

import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardflake.cluster.PostgresExtension;

/** Sequences that make no ids, carried from shard 7 to shard 8, which stands for the same shard on another server. */
class SequencePositionsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1)
            .prepareOnce("library", FunctionLibrary::deploy)
            .prepare(
                    connection -> execute(connection, "SELECT shardflake.create_shard(7), shardflake.create_shard(8)"));

    private Connection connection;

    @BeforeEach
    void connect() throws SQLException {
        connection = postgres.database(0).connect();
        execute(connection, "SELECT shardflake.fence_shard(7), shardflake.fence_shard(8)");
    }

    @AfterEach
    void close() throws SQLException {
        execute(connection, "DROP SEQUENCE IF EXISTS shard_0007.ticket, shard_0008.ticket");
        connection.close();
    }

    private void create(String definition, String drawn) throws SQLException {
        execute(
                connection,
                "CREATE SEQUENCE shard_0007.ticket " + definition,
                "CREATE SEQUENCE shard_0008.ticket " + definition,
                drawn);
    }

    private void carry() throws SQLException {
        execute(
                connection,
                "SELECT shardflake.set_sequence_positions(8, array_agg(sequence_name), array_agg(last_value)) FROM shardflake.sequence_positions(7)");
    }

    private long next() throws SQLException {
        return queryLong(connection, "SELECT nextval('shard_0008.ticket')");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "                                  | SELECT setval('shard_0007.ticket', 100)              | 133",
                "INCREMENT 10                      | SELECT setval('shard_0007.ticket', 101)              | 431",
                "INCREMENT -1                      | SELECT setval('shard_0007.ticket', -100)             | -133",
                "CACHE 5                           | SELECT setval('shard_0007.ticket', 100)              | 261",
                "AS smallint                       | SELECT setval('shard_0007.ticket', 32735)            | 32768 - 0",
                "                                  | SELECT 1                                             | 33",
                "START 50                          | SELECT 1                                             | 82",
                "INCREMENT -1                      | SELECT 1                                             | -33",
                "                                  | ALTER SEQUENCE shard_0007.ticket RESTART 5000        | 5032",
                "                                  | SELECT setval('shard_0007.ticket', 5000, false)      | 5032",
                "MAXVALUE 1000 CYCLE               | SELECT setval('shard_0007.ticket', 100)              | 133",
                "MAXVALUE 1000 CYCLE               | SELECT setval('shard_0007.ticket', 990)              | 23",
                "MAXVALUE 1000 CYCLE               | SELECT setval('shard_0007.ticket', 1000)             | 33",
                "MINVALUE 0 MAXVALUE 99 START 7 CYCLE | SELECT setval('shard_0007.ticket', 99, false)     | 31",
                "MINVALUE -1000 INCREMENT -1 CYCLE | SELECT setval('shard_0007.ticket', -990)             | -23",
                "MAXVALUE 7 CYCLE                  | SELECT setval('shard_0007.ticket', 5)                | 6",
                "MAXVALUE 7 CYCLE                  | SELECT setval('shard_0007.ticket', 7)                | 1",
                "MAXVALUE 1000 CYCLE CACHE 3       | SELECT setval('shard_0007.ticket', 990)              | 87",
            })
    void goOnBehindWhatMayStillBeDrawn(String definition, String drawn, String next) throws SQLException {
        create(definition == null ? "" : definition, drawn);

        carry();

        if (next.equals("32768 - 0")) { // the last 32 are the margin, and not one is left over
            assertThatThrownBy(this::next).hasMessageContaining("reached maximum value");
        } else {
            assertThat(next()).isEqualTo(Long.parseLong(next));
        }
    }

    /** At 32740 a smallint has 27 numbers left: they were given up, and the next insert failed. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "AS smallint                             | SELECT setval('shard_0007.ticket', 32740)        | has 27 numbers left: it is at 32740 and ends at 32767",
                "AS smallint INCREMENT -1                | SELECT setval('shard_0007.ticket', -32740)       | has 28 numbers left: it is at -32740 and ends at -32768",
                "MAXVALUE 20                             | SELECT 1                                         | has 20 numbers left: it is at 1 and ends at 20",
                "MAXVALUE 100 CACHE 5                    | SELECT setval('shard_0007.ticket', 50)           | has 50 numbers left: it is at 50 and ends at 100",
                "MAXVALUE 1000                           | SELECT setval('shard_0007.ticket', 1000, false)  | has 1 numbers left: it is at 1000 and ends at 1000",
            })
    void lastNumbersOfASequenceAreNotGivenUp(String definition, String drawn, String found) throws SQLException {
        create(definition, drawn);

        assertThatThrownBy(this::carry)
                .hasMessageContaining("sequence shard_0007.ticket " + found)
                .hasMessageContaining("Give it room on all shards");
    }

    @Test
    void oneThatHasNoNumbersLeftHasNoneAfterwards() throws SQLException {
        create("AS smallint", "SELECT setval('shard_0007.ticket', 32767)");

        carry();

        assertThat(queryString(connection, "SELECT last_value || ' ' || is_called FROM shard_0008.ticket"))
                .isEqualTo("32767 true");
    }

    @Test
    void oneThatCyclesIsCarriedBackAgainWhenItHasGoneRound() throws SQLException {
        create("MAXVALUE 1000 CYCLE", "SELECT setval('shard_0007.ticket', 100), setval('shard_0008.ticket', 900)");

        carry();

        assertThat(next()).isEqualTo(133);
    }
}
