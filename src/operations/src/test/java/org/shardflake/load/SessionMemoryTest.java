/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.load;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;

class SessionMemoryTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1);

    @Test
    void countsTablesOfShardsAndSessionsOfApplications() throws Exception {
        List<Connection> sessions = new ArrayList<>();
        try (Connection asks = postgres.database(0).connect()) {
            Sql.execute(
                    asks,
                    "CREATE SCHEMA shard_0001; CREATE TABLE shard_0001.a (id int PRIMARY KEY, t text); CREATE TABLE shard_0001.b (); CREATE TABLE other ()");
            SessionMemory none = SessionMemory.read(asks);
            for (String application : List.of("photos", "photos", "photos", "import", "shardflake doctor")) {
                Connection session = postgres.database(0).connect();
                session.setClientInfo("ApplicationName", application);
                sessions.add(session);
            }

            assertThat(none).isEqualTo(new SessionMemory(2, 0, 0));
            assertThat(SessionMemory.read(asks)).isEqualTo(new SessionMemory(2, 4, 3));
        } finally {
            sessions.forEach(Sql::close);
        }
    }

    @Test
    void memoryIsReadIfTheRoleMay() throws Exception {
        try (Connection session = postgres.database(0).connect()) {
            MachineMemory read = MachineMemory.read(session);
            session.setAutoCommit(false);
            Sql.execute(session, "CREATE ROLE plain; SET ROLE plain; SET effective_cache_size = '30GB'");
            MachineMemory assumed = MachineMemory.read(session);
            session.rollback();

            assertThat(assumed).isEqualTo(new MachineMemory(40L << 30, false));
            if (read.isRead()) { // A server of this machine, which has Linux.
                assertThat(read.bytes()).isPositive().isLessThan(1L << 50);
            }
        }
    }
}
