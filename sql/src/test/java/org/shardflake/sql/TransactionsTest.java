/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.shardflake.sql.Shards.execute;
import static org.shardflake.sql.Shards.queryLong;
import static org.shardflake.sql.Shards.queryLongs;

import java.io.IOException;
import java.io.StringReader;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.postgresql.PGConnection;
import org.shardflake.cluster.PostgresExtension;

/** The DEFAULT in every kind of transaction and statement that fills a table. */
class TransactionsTest {

    private static final String INSERT = "INSERT INTO shard_0007.photo (uid) VALUES (7) RETURNING id";

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepareOnce("photos", Shards::deployWithPhotos);

    private Connection connection;

    @BeforeEach
    void connect() throws SQLException {
        connection = postgres.database(0).connect();
        execute(connection, "TRUNCATE shard_0007.photo");
    }

    @AfterEach
    void disconnect() throws SQLException {
        connection.close();
    }

    @Test
    void rollbackAndSavepointNeverGiveAnIdBack() throws SQLException {
        connection.setAutoCommit(false);
        long first = queryLong(connection, INSERT);
        Savepoint savepoint = connection.setSavepoint();
        long undone = queryLong(connection, INSERT);
        connection.rollback(savepoint);
        long second = queryLong(connection, INSERT);
        connection.rollback();
        long third = queryLong(connection, INSERT);
        connection.commit();

        assertThat(new long[] {first, undone, second, third}).isSorted().doesNotHaveDuplicates();
        assertThat(queryLongs(connection, "SELECT id FROM shard_0007.photo")).containsExactly(third);
    }

    @Test
    void preparedTransactionKeepsItsIds() throws SQLException {
        connection.setAutoCommit(false);
        execute(connection, "SELECT pg_sleep(0.005)"); // the sequence lags: the cold path, with its lock
        long id = queryLong(connection, INSERT);
        execute(connection, "PREPARE TRANSACTION 'photo'");
        connection.setAutoCommit(true);
        long next;
        try (Connection another = postgres.database(0).connect()) {
            next = queryLong(another, INSERT);
        }
        execute(connection, "COMMIT PREPARED 'photo'");

        assertThat(next).isGreaterThan(id);
        assertThat(queryLongs(connection, "SELECT id FROM shard_0007.photo ORDER BY id"))
                .containsExactly(id, next);
    }

    @Test
    void preparedStatementDrawsAFreshIdEachTime() throws SQLException {
        execute(connection, "PREPARE add_photo AS " + INSERT);
        long[] ids = new long[20];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = queryLong(connection, "EXECUTE add_photo");
        }
        assertThat(ids).isSorted().doesNotHaveDuplicates();

        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO shard_0007.photo (uid) VALUES (?)", new String[] {"id"})) {
            for (int i = 0; i < 1000; i++) {
                insert.setLong(1, 7);
                insert.addBatch();
            }
            insert.executeBatch();
            try (ResultSet keys = insert.getGeneratedKeys()) {
                long last = ids[ids.length - 1];
                while (keys.next()) {
                    assertThat(keys.getLong(1)).isGreaterThan(last);
                    last = keys.getLong(1);
                }
            }
        }
        assertThat(queryLong(connection, "SELECT count(*) FROM shard_0007.photo"))
                .isEqualTo(1020);
    }

    @Test
    void copyFillsTheIds() throws SQLException, IOException {
        long copied = connection
                .unwrap(PGConnection.class)
                .getCopyAPI()
                .copyIn("COPY shard_0007.photo (uid) FROM STDIN", new StringReader("7\n".repeat(50_000)));

        assertThat(copied).isEqualTo(50_000);
        assertThat(queryLong(
                        connection,
                        "SELECT count(DISTINCT id) FROM shard_0007.photo WHERE shardflake.id_shard(id) = 7"))
                .isEqualTo(50_000);
    }

    @Test
    void partitionsOfATableShareItsSequence() throws SQLException {
        execute(
                connection,
                "CREATE TABLE shard_0007.event (id bigint PRIMARY KEY, note text) PARTITION BY RANGE (id)",
                "SELECT shardflake.add_id_sequence('shard_0007.event')",
                // Partitions by time: the bounds are ids.
                "CREATE TABLE shard_0007.event_past PARTITION OF shard_0007.event" + " FOR VALUES FROM (0) TO ("
                        + queryLong(connection, "SELECT shardflake.min_id(now() - interval '1 day')") + ")",
                "CREATE TABLE shard_0007.event_now PARTITION OF shard_0007.event DEFAULT",
                "INSERT INTO shard_0007.event (note) SELECT 'n' FROM generate_series(1, 3000)");

        assertThat(queryLong(connection, "SELECT count(DISTINCT id) FROM shard_0007.event_now"))
                .isEqualTo(3000);
        assertThat(queryLong(
                        connection,
                        "INSERT INTO shard_0007.event_now (note) VALUES ('direct') RETURNING shardflake.id_shard(id)"))
                .isEqualTo(7);
    }

    @Test
    void idsOfOneTransactionAreNotOfOneMoment() throws SQLException {
        connection.setAutoCommit(false);
        long first = queryLong(connection, INSERT);
        execute(connection, "SELECT pg_sleep(0.05)");
        long second = queryLong(connection, INSERT);
        connection.commit();

        assertThat((second >> 23) - (first >> 23)).as("ms between the ids").isGreaterThanOrEqualTo(46);
    }

    /** Why reading "everything above the last id seen" misses rows: the guide tells what to do instead. */
    @Test
    void commitOrderIsNotIdOrder() throws SQLException {
        connection.setAutoCommit(false);
        long early = queryLong(connection, INSERT);
        try (Connection another = postgres.database(0).connect()) {
            long late = queryLong(another, INSERT);
            assertThat(queryLongs(another, "SELECT id FROM shard_0007.photo")).containsExactly(late);
            connection.commit();
            assertThat(early).isLessThan(late);
            assertThat(queryLongs(another, "SELECT id FROM shard_0007.photo WHERE id > " + late))
                    .as("a reader past the late id")
                    .isEmpty();
        }
    }
}
