/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.script;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;

class PerShardResultTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1);

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            SELECT count(*) FROM photo                                                               | count
            SELECT coalesce(max(likes), 0) FROM photo                                                | max
            SELECT "count"(*) FROM photo                                                             | count
            SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY likes) FROM photo                     | percentile_cont
            SELECT uid FROM photo GROUP BY uid UNION ALL SELECT count(*) FROM likes                  | count
            SELECT count(*) FROM likes UNION ALL SELECT uid FROM photo GROUP BY uid                  | count
            SELECT n FROM (SELECT count(*) AS n FROM photo) counted                                  | count
            WITH counted AS (SELECT count(*) AS n FROM photo) SELECT n FROM counted                  | count
            SELECT (SELECT max(likes) FROM photo)                                                    | max
            SELECT uid, count(*) FROM photo WHERE likes > (SELECT avg(likes) FROM photo) GROUP BY uid | avg
            SELECT id FROM photo p WHERE p.likes = (SELECT max(q.likes) FROM photo q)                | max
            (SELECT id FROM photo LIMIT 3)                                                           | LIMIT
            ((SELECT id FROM photo) FETCH FIRST ROW ONLY)                                            | FETCH
            SELECT id FROM photo WHERE id IN (SELECT id FROM photo ORDER BY likes DESC LIMIT 10)     | LIMIT
            SELECT * FROM (TABLE photo OFFSET 5) rest                                                | OFFSET
            """)
    void findsWhatEachShardWouldDoForItself(String query, String word) {
        assertThat(PerShardResult.word(query)).hasValue(word);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            SELECT id, 'count(*) LIMIT 3' FROM photo -- LIMIT
            SELECT uid, count(*) FROM photo GROUP BY uid
            SELECT n FROM (SELECT uid, count(*) AS n FROM photo GROUP BY uid) counted
            SELECT id, rank() OVER (PARTITION BY uid ORDER BY likes) FROM photo
            SELECT id, (SELECT count(*) FROM likes WHERE likes.photo_id = photo.id) FROM photo
            SELECT p.id FROM photo p WHERE EXISTS (SELECT FROM likes l WHERE l.photo_id = p.id LIMIT 1)
            SELECT p.id, last.at FROM photo p, LATERAL (SELECT at FROM likes l WHERE l.photo_id = p.id ORDER BY at LIMIT 1) last
            SELECT count, max FROM photo WHERE (count, max) = (1, 2)
            """)
    void leavesWhatBelongsToARow(String query) {
        assertThat(PerShardResult.word(query)).isEmpty();
    }

    @Test
    void knowsAllAggregatesOfTheServer() throws Exception {
        try (Connection connection = postgres.database(0).connect()) {
            assertThat(PerShardResult.AGGREGATES)
                    .containsAll(Sql.list(
                            connection,
                            "SELECT DISTINCT proname FROM pg_proc WHERE prokind = 'a' AND pronamespace = 'pg_catalog'::regnamespace",
                            row -> row.getString(1)));
        }
    }
}
