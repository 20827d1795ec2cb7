/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.jdbc.Sql;

class ServerFactsTest {

    /** A server with 2000 shards has more sequences than the 6400 locks that PostgreSQL makes room for unless told otherwise. */
    @Test
    @Tag("full")
    void readsMoreSequencesThanATransactionCanLock() throws SQLException {
        try (PostgresCluster cluster = PostgresCluster.builder()
                        .servers(1)
                        .setting("max_connections", "20")
                        .setting("max_locks_per_transaction", "10")
                        .setting("max_prepared_transactions", "0")
                        .start();
                Connection connection = cluster.server(0).connect()) {
            Sql.execute(connection, "CREATE SCHEMA shard_0000");
            Sql.execute(connection, """
                    DO $$ BEGIN
                        FOR i IN 1..6000 LOOP
                            EXECUTE format('CREATE SEQUENCE shard_0000.made_%s MINVALUE -1125899906842624 CYCLE', i);
                            IF i % 500 = 0 THEN COMMIT; END IF;
                        END LOOP;
                    END $$""");

            assertThat(ServerFacts.read(connection).sequences())
                    .hasSize(6000)
                    .allMatch(ServerFacts.IdSequence::isWrong);
        }
    }
}
