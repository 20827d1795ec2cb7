/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.shardflake.sql.Shards.execute;
import static org.shardflake.sql.Shards.queryLongs;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cluster.PostgresExtension;

/** Fences raised and lifted again and again while sessions draw ids, and others draw raw numbers. */
class FencedIdsIT {

    private static final int DRAWERS = 4;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1)
            .prepareOnce("photos", Shards::deployWithPhotos)
            .prepare(connection -> execute(connection, "SELECT shardflake.add_fence('shard_0007.photo')"));

    private final AtomicBoolean done = new AtomicBoolean();
    private final Map<String, Integer> refusals = new ConcurrentHashMap<>();

    @Test
    void everyRefusalIsOfTheFenceAndNoIdComesTwice() throws Exception {
        fencesAndDraws(200);
    }

    @Test
    @Tag("full")
    void everyRefusalOfAThousandFencesIsOfTheFenceAndNoIdComesTwice() throws Exception {
        fencesAndDraws(1000);
    }

    private void fencesAndDraws(int fences) throws Exception {
        List<IdLog> logs = Sessions.run(postgres.database(0), DRAWERS + 2, (session, connection) -> {
            if (session == DRAWERS) {
                fence(connection, fences);
            } else if (session == DRAWERS + 1) {
                drawByHand(connection);
            } else {
                return draw(connection);
            }
            return new IdLog();
        });

        assertThat(IdLog.duplicates(IdLog.sorted(logs))).as("duplicates").isZero();
        assertThat(refusals).containsOnlyKeys("SF001");
    }

    private void fence(Connection connection, int fences) throws SQLException {
        try {
            for (int i = 0; i < fences; i++) {
                execute(connection, "SELECT shardflake.fence_shard(7)", "SELECT shardflake.unfence_shard(7)");
            }
        } finally {
            done.set(true);
        }
    }

    private void drawByHand(Connection connection) throws SQLException {
        while (!done.get()) {
            execute(
                    connection,
                    "SELECT count(nextval('shard_0007.photo_id_seq')) FROM generate_series(1, 300)",
                    "SELECT pg_sleep(0.004)");
        }
    }

    private IdLog draw(Connection connection) {
        IdLog log = new IdLog();
        while (!done.get()) {
            try {
                log.addAll(queryLongs(
                        connection, "SELECT shard_0007.next_id('shard_0007.photo_id_seq') FROM generate_series(1, 3)"));
            } catch (SQLException e) {
                refusals.merge(String.valueOf(e.getSQLState()), 1, Integer::sum);
            }
        }
        return log;
    }
}
