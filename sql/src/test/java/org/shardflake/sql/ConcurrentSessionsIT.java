/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.shardflake.sql.Shards.execute;
import static org.shardflake.sql.Shards.queryLong;
import static org.shardflake.sql.Shards.queryLongs;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cluster.PostgresExtension;

/** The same load on next_id and on the function that Instagram published in 2012, which repeats ids. */
class ConcurrentSessionsIT {

    private static final int SESSIONS = 16;
    private static final int[] ROWS = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 20, 20, 20, 20, 20, 890};

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepareOnce("photos", Shards::deployWithPhotos);

    @BeforeAll
    static void createPublishedFunction() throws SQLException {
        try (Connection connection = postgres.database(0).connect()) {
            execute(
                    connection,
                    "CREATE SCHEMA published",
                    "CREATE SEQUENCE published.table_id_seq",
                    """
                    CREATE FUNCTION published.next_id(OUT result bigint) AS $$
                    DECLARE
                        our_epoch bigint := 1314220021721;
                        seq_id bigint;
                        now_millis bigint;
                        shard_id int := 7;
                    BEGIN
                        SELECT nextval('published.table_id_seq') % 1024 INTO seq_id;
                        SELECT FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) INTO now_millis;
                        result := (now_millis - our_epoch) << 23;
                        result := result | (shard_id << 10);
                        result := result | (seq_id);
                    END;
                    $$ LANGUAGE plpgsql""",
                    // No primary key, or its errors would hide how many ids repeat.
                    "CREATE TABLE published.photo (id bigint NOT NULL DEFAULT published.next_id(), uid bigint NOT NULL)");
        }
    }

    @Test
    void neverRepeatsWherePublishedFunctionDoes() throws Exception {
        neverRepeats(20);
    }

    @Test
    @Tag("full")
    void neverRepeatsInAMillionIdsWherePublishedFunctionDoes() throws Exception {
        neverRepeats(100);
    }

    private static void neverRepeats(int rounds) throws Exception {
        int count = SESSIONS * rounds * 1000;
        List<IdLog> published = load("published.photo", "published.next_id()", rounds);
        System.out.printf(
                "%,d ids from %s sessions: %,d duplicates from the published function%n",
                count, SESSIONS, IdLog.duplicates(IdLog.sorted(published)));

        List<IdLog> ours = load("shard_0007.photo", "shard_0007.next_id('shard_0007.photo_id_seq')", rounds);
        ours.forEach(IdLog::assertIncreasing);
        long[] sorted = IdLog.sorted(ours);
        System.out.printf(
                "%,d ids from %s sessions: %,d duplicates from shardflake.next_id%n",
                count, SESSIONS, IdLog.duplicates(sorted));
        assertThat(sorted).hasSize(count);
        assertThat(Arrays.stream(sorted)).allMatch(id -> (id >> 10 & 8191) == 7);
        assertThat(IdLog.duplicates(sorted)).as("duplicates").isZero();
    }

    /** Single calls and statements of many rows, mixed, in every session. */
    private static List<IdLog> load(String table, String call, int rounds) throws Exception {
        return Sessions.run(postgres.database(0), SESSIONS, (session, connection) -> {
            IdLog log = new IdLog();
            for (int round = 0; round < rounds; round++) {
                for (int rows : ROWS) {
                    if (rows == 1) {
                        log.add(queryLong(connection, "SELECT " + call));
                    } else {
                        log.addAll(queryLongs(
                                connection,
                                "INSERT INTO " + table + " (uid) SELECT n FROM generate_series(1, " + rows
                                        + ") n RETURNING id"));
                    }
                }
            }
            return log;
        });
    }
}
