/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.internal.session.FencedTables;
import org.shardflake.sql.FunctionLibrary;

/**
 * A transaction that has written to a table of its shard holds a lock that a fence waits for, so that its commit need not ask whether the
 * shard is open. Every other one asks here, as no answer is a lease.
 */
class WritesThatDoNotAskTest {

    private static final String INSERT = "INSERT INTO shard_0001.photo (uid) VALUES (1)";
    private static final String SELECT = "SELECT count(*) FROM shard_0001.photo";

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepareOnce("library", FunctionLibrary::deploy);

    private static PhotoShards shards;
    private static ShardRouter router;
    private long before;

    @BeforeAll
    static void start() throws SQLException {
        shards = PhotoShards.create(postgres, 1, 2);
        shards.execute(0, """
                CREATE VIEW shard_0000.seen AS SELECT * FROM shard_0000.photo;
                CREATE VIEW shard_0001.seen AS SELECT * FROM shard_0001.photo;
                CREATE TABLE shard_0000.ruled (uid bigint);
                CREATE TABLE shard_0001.ruled (uid bigint);
                CREATE RULE elsewhere AS ON INSERT TO shard_0001.ruled DO INSTEAD NOTHING;
                CREATE TABLE shard_0000.mixed (uid bigint);
                CREATE VIEW shard_0001.mixed AS SELECT * FROM shard_0001.photo;
                SELECT shardflake.add_fence('shard_0001.ruled');
                CREATE SEQUENCE public.questions;
                CREATE OR REPLACE FUNCTION shardflake.require_open(sequence regclass) RETURNS bigint LANGUAGE sql
                    RETURN CASE WHEN nextval('public.questions') > 0 THEN hashtextextended(gen_random_uuid()::text, 0) END;
                """);
        router = shards.router().map(shards.map()).poolSize(1).build();
        for (String table : new String[] {"photo", "seen", "ruled", "mixed"}) {
            router.run(
                    ShardKey.shard(1),
                    tx -> execute(tx.connection(), "INSERT INTO shard_0001." + table + " (uid) VALUES (1)"));
        }
    }

    @AfterAll
    static void close() {
        router.close();
    }

    @BeforeEach
    void count() throws SQLException {
        before = asked();
    }

    private static long asked() throws SQLException {
        return shards.number(0, "SELECT last_value FROM public.questions");
    }

    private void assertAsked(int times) throws SQLException {
        assertThat(asked() - before).isEqualTo(times);
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.execute();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                INSERT,
                "insert into \"shard_0001\".\"photo\" (\"uid\") values (1) returning \"id\"",
                "INSERT INTO SHARD_0001 . Photo(uid) SELECT 1 WHERE false",
                "UPDATE ONLY shard_0001.photo SET title = 'a' WHERE false",
                "DELETE FROM shard_0001.photo WHERE uid = 1",
                "DELETE FROM shard_0001.photo"
            })
    void whoHasWrittenDoesNot(String write) throws SQLException {
        router.run(ShardKey.shard(1), tx -> execute(tx.connection(), write));
        assertAsked(0);
    }

    @Test
    void readsBeforeAndAfterDoNotMatter() throws SQLException {
        router.run(ShardKey.shard(1), tx -> {
            execute(tx.connection(), SELECT);
            execute(tx.connection(), INSERT);
            execute(tx.connection(), SELECT);
        });
        assertAsked(0);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                SELECT,
                "SELECT id FROM shard_0001.photo FOR UPDATE",
                "INSERT INTO shard_0001.seen (uid) VALUES (1)",
                "INSERT INTO shard_0001.ruled (uid) VALUES (1)",
                "INSERT INTO shard_0001.mixed (uid) VALUES (1)",
                "INSERT INTO shard_0000.photo (uid) VALUES (1)",
                INSERT + "; SELECT 1",
                "/* a comment */ " + INSERT,
                "WITH one AS (" + INSERT + " RETURNING id) SELECT * FROM one"
            })
    void whoMayNotHaveDoes(String sql) throws SQLException {
        router.run(ShardKey.shard(1), tx -> execute(tx.connection(), sql));
        assertAsked(1);
    }

    @Test
    void aStatementThatIsNotExecutedHoldsNothing() throws SQLException {
        router.run(ShardKey.shard(1), tx -> {
            try (PreparedStatement insert = tx.connection().prepareStatement(INSERT)) {
                execute(tx.connection(), SELECT);
                assertThat(insert.executeBatch()).isEmpty();
            }
        });
        assertAsked(1);
    }

    @Test
    void aBatchThatIsNotEmptyHasWritten() throws SQLException {
        router.run(ShardKey.shard(1), tx -> {
            try (PreparedStatement insert =
                    tx.connection().prepareStatement("INSERT INTO shard_0001.photo (uid) VALUES (?)")) {
                for (int i = 0; i < 2; i++) {
                    insert.setLong(1, 1);
                    insert.addBatch();
                }
                insert.executeBatch();
            }
        });
        assertAsked(0);
    }

    @Test
    void aTableWithoutASchemaIsThatOfTheShard() throws SQLException {
        router.<Object, SQLException>attempt(ShardKey.shard(1), true, attempt -> {
            try (Connection connection = attempt.connection()) {
                connection.setAutoCommit(false);
                execute(connection, "INSERT INTO photo (uid) VALUES (1)");
                connection.commit();
                return true;
            }
        });
        assertAsked(0);
    }

    @ParameterizedTest
    @ValueSource(strings = {"ROLLBACK TO one", "SELECT 1 -- to\r; ROLLBACK TO one"})
    void aRollbackToASavepointByTextGivesTheLockUp(String back) throws SQLException {
        router.run(ShardKey.shard(1), tx -> {
            try (Statement statement = tx.connection().createStatement()) {
                statement.execute("SAVEPOINT one");
                execute(tx.connection(), INSERT);
                statement.execute(back);
            }
            execute(tx.connection(), SELECT);
        });
        assertAsked(1);
    }

    @Test
    void aRollbackThatWasPreparedBeforeGivesTheLockUp() throws SQLException {
        try (Connection connection = router.connection(ShardKey.shard(1));
                PreparedStatement back = connection.prepareStatement("ROLLBACK TO one");
                PreparedStatement savepoint = connection.prepareStatement("SAVEPOINT one")) {
            connection.setAutoCommit(false);
            savepoint.execute();
            execute(connection, INSERT);
            back.execute();
            execute(connection, SELECT);
            connection.commit();
        }
        assertAsked(1);
    }

    @Test
    void aRollbackToASavepointGivesTheLockUp() throws SQLException {
        router.run(ShardKey.shard(1), tx -> {
            Savepoint one = tx.connection().setSavepoint();
            execute(tx.connection(), INSERT);
            tx.connection().rollback(one);
            execute(tx.connection(), SELECT);
        });
        assertAsked(1);
    }

    @Test
    void whatIsUndoneByTheDriverHoldsNothing() throws SQLException {
        String url = PhotoShards.server(shards.database(0)).url();
        Server autosaving = new Server("db1", url + (url.contains("?") ? "&" : "?") + "autosave=always");
        ShardMap map = ShardMap.initial(new Sharding(2), IdLayout.DEFAULT, List.of(autosaving), Spread.ROUND_ROBIN);
        try (ShardRouter other = shards.router().map(map).build()) {
            other.run(ShardKey.shard(1), tx -> execute(tx.connection(), INSERT));
            before = asked();
            other.run(ShardKey.shard(1), tx -> {
                execute(tx.connection(), SELECT);
                assertThatThrownBy(() -> execute(tx.connection(), "INSERT INTO shard_0001.photo (id) VALUES (1)"))
                        .hasMessageContaining("null value");
            });
            assertAsked(1);
            other.run(ShardKey.shard(1), tx -> execute(tx.connection(), INSERT));
            assertAsked(1);
        }
    }

    @Test
    void whatATransactionBeforeHasWrittenDoesNotCount() throws SQLException {
        try (Connection connection = router.connection(ShardKey.shard(1));
                PreparedStatement insert = connection.prepareStatement(INSERT)) {
            insert.execute(); // In auto-commit mode.
            connection.setAutoCommit(false);
            execute(connection, SELECT);
            connection.commit();
            assertAsked(1);

            insert.execute();
            connection.commit();
            assertAsked(1);

            execute(connection, SELECT);
            connection.commit();
            assertAsked(2);

            insert.execute();
            connection.rollback();
            execute(connection, SELECT);
            connection.commit();
            assertAsked(3);
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "SET session_replication_role = replica",
                "SET LOCAL session_replication_role = replica",
                "set local \"session_replication_role\" to replica",
                "SELECT set_config('session_replication_role', 'replica', true)"
            })
    void whomTriggersMayNotMeetDoes(String change) throws SQLException {
        router.run(ShardKey.shard(1), tx -> {
            execute(tx.connection(), change);
            execute(tx.connection(), INSERT);
        });
        assertAsked(1);
    }

    @Test
    void aRoleThatMeetsNoFencesDoes() throws SQLException {
        shards.execute(
                0,
                "DROP ROLE IF EXISTS wtd_replica; CREATE ROLE wtd_replica SUPERUSER LOGIN PASSWORD 'p'; ALTER ROLE wtd_replica SET session_replication_role = replica");
        try (ShardRouter other = shards.router()
                .credentials("wtd_replica", "p")
                .map(shards.map())
                .build()) {
            for (int i = 0; i < 3; i++) {
                other.run(ShardKey.shard(1), tx -> execute(tx.connection(), INSERT));
            }
        } finally {
            shards.execute(0, "DROP ROLE wtd_replica");
        }
        assertAsked(3);
    }

    @Test
    void aFenceWaitsForIt() throws SQLException {
        router.run(ShardKey.shard(1), tx -> {
            execute(tx.connection(), "UPDATE shard_0001.photo SET title = 'a' WHERE false");
            assertThatThrownBy(() -> shards.execute(0, "SET lock_timeout = '100ms'; SELECT shardflake.fence_shard(1)"))
                    .hasMessageContaining("lock timeout");
        });
        assertAsked(0);
    }

    @Test
    void aTableThatHasBecomeAViewIsNoticed() throws SQLException {
        AtomicLong time = new AtomicLong();
        FencedTables tables = new FencedTables(time::get);
        try (Connection connection = shards.database(0).connect();
                Statement statement = connection.createStatement()) {
            statement.execute(
                    "CREATE TABLE shard_0001.turned (); SELECT shardflake.add_fence('shard_0001.turned'), pg_stat_force_next_flush()");
            assertThat(tables.contains("turned")).as("before it is asked for").isFalse();
            tables.look(connection);
            assertThat(tables.contains("turned")).isTrue();

            statement.execute(
                    "DROP TABLE shard_0001.turned; CREATE VIEW shard_0001.turned AS SELECT 1; SELECT pg_stat_force_next_flush()");
            time.addAndGet(TimeUnit.SECONDS.toNanos(61));
            assertThat(tables.contains("turned")).as("not looked at yet").isTrue();
            tables.look(connection);
            assertThat(tables.contains("turned")).isFalse();
        } finally {
            shards.execute(0, "DROP VIEW shard_0001.turned");
        }
    }

    @Test
    void nothingIsKnownWhereNobodyLooksOrTheServerRefuses() throws SQLException {
        AtomicLong time = new AtomicLong();
        FencedTables tables = new FencedTables(time::get);
        try (Connection connection = shards.database(0).connect();
                Connection broken = shards.database(0).connect()) {
            tables.contains("photo");
            tables.look(connection);
            time.addAndGet(TimeUnit.SECONDS.toNanos(121));
            assertThat(tables.contains("photo")).as("two minutes later").isFalse();
            tables.look(connection);
            assertThat(tables.contains("photo")).isTrue();

            broken.setAutoCommit(false);
            assertThatThrownBy(() -> execute(broken, "SELECT 1 / 0")).hasMessageContaining("zero");
            time.addAndGet(TimeUnit.SECONDS.toNanos(61));
            tables.look(broken);
            assertThat(tables.contains("photo")).as("after a refusal").isFalse();
            time.addAndGet(TimeUnit.SECONDS.toNanos(61));
            tables.look(connection);
            assertThat(tables.contains("photo")).as("asked for again").isFalse();
            tables.look(connection);
            assertThat(tables.contains("photo")).isTrue();
        }
    }

    @Test
    void aLostConnectionIsNoAnswer() throws SQLException {
        AtomicLong time = new AtomicLong();
        FencedTables tables = new FencedTables(time::get);
        try (Connection connection = shards.database(0).connect();
                Connection lost = shards.database(0).connect()) {
            tables.contains("photo");
            tables.look(connection);
            lost.close();
            time.addAndGet(TimeUnit.SECONDS.toNanos(61));
            assertThatThrownBy(() -> tables.look(lost)).isInstanceOf(SQLException.class);
            assertThat(tables.contains("photo")).isTrue();
        }
    }

    @Test
    void aTableWithoutAFenceIsNone() throws SQLException {
        FencedTables tables = new FencedTables(new AtomicLong()::get);
        try (Connection connection = shards.database(0).connect();
                Statement statement = connection.createStatement()) {
            statement.execute(
                    "CREATE TABLE shard_0001.unfenced (id bigint REFERENCES shard_0001.photo); SELECT pg_stat_force_next_flush()");
            tables.contains("unfenced");
            tables.look(connection);
            assertThat(tables.contains("unfenced")).isFalse();
        } finally {
            shards.execute(0, "DROP TABLE shard_0001.unfenced");
        }
    }
}
