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
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.ShardKey;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.sql.FunctionLibrary;

/**
 * A transaction that has written to a table of its shard holds a lock that a fence waits for, so that its commit need not ask whether the
 * shard is open. Every other asks here, as no answer is a lease.
 */
class WritesThatDoNotAskTest {

    private static final String INSERT = "INSERT INTO shard_0001.photo (uid) VALUES (1)";
    private static final String SELECT = "SELECT count(*) FROM shard_0001.photo";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1).prepare(FunctionLibrary::deploy);

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
                SELECT + " FOR UPDATE",
                "INSERT INTO shard_0001.seen (uid) VALUES (1)",
                "INSERT INTO shard_0001.ruled (uid) VALUES (1)",
                "INSERT INTO shard_0001.mixed (uid) VALUES (1)",
                "INSERT INTO shard_0000.photo (uid) VALUES (1)",
                INSERT + "; SELECT 1",
                "/* a comment */ " + INSERT,
                "WITH one AS (" + INSERT + " RETURNING id) SELECT * FROM one"
            })
    void whoMayNotHaveDoes(String sql) throws SQLException {
        String text = sql.replace("count(*) FROM shard_0001.photo FOR", "id FROM shard_0001.photo FOR");
        router.run(ShardKey.shard(1), tx -> execute(tx.connection(), text));
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

    @ParameterizedTest
    @CsvSource({"true, ROLLBACK TO one", "false, ROLLBACK TO one", "true,", "true, SET LOCAL lock_timeout = 100"})
    void aRollbackToASavepointGivesTheLockUp(boolean isPrepared, String text) throws SQLException {
        router.run(ShardKey.shard(1), tx -> {
            Connection connection = tx.connection();
            Savepoint one = connection.setSavepoint("one");
            try (PreparedStatement back = connection.prepareStatement(text == null ? "SELECT 1" : text)) {
                execute(connection, INSERT);
                if (text == null) {
                    connection.rollback(one);
                } else if (isPrepared) {
                    back.execute();
                } else {
                    try (Statement statement = connection.createStatement()) {
                        statement.execute(text);
                    }
                }
            }
            execute(connection, SELECT);
        });
        assertAsked(text != null && text.startsWith("SET") ? 0 : 1);
    }

    @Test
    void whoWritesAfterARollbackToASavepointHoldsALock() throws SQLException {
        router.run(ShardKey.shard(1), tx -> {
            Savepoint one = tx.connection().setSavepoint();
            execute(tx.connection(), INSERT);
            tx.connection().rollback(one);
            execute(tx.connection(), INSERT);
        });
        assertAsked(0);
    }

    @Test
    void whatATransactionBeforeHasWrittenDoesNotCount() throws SQLException {
        try (Connection connection = router.connection(ShardKey.shard(1));
                PreparedStatement insert = connection.prepareStatement(INSERT)) {
            insert.execute(); // in auto-commit mode
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

    @Test
    void whoMayHaveChangedItsSessionDoes() throws SQLException {
        router.run(ShardKey.shard(1), tx -> {
            execute(tx.connection(), "SET session_replication_role = replica");
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
        ShardTables tables = new ShardTables(time::get);
        try (Connection connection = shards.database(0).connect();
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE shard_0000.turned (); CREATE TABLE shard_0001.turned ()");
            statement.execute("SELECT pg_stat_force_next_flush()");
            assertThat(tables.isTable("turned")).as("before it is asked for").isFalse();
            tables.look(connection);
            assertThat(tables.isTable("turned")).isTrue();

            statement.execute("DROP TABLE shard_0001.turned; CREATE VIEW shard_0001.turned AS SELECT 1");
            statement.execute("SELECT pg_stat_force_next_flush()");
            time.addAndGet(TimeUnit.SECONDS.toNanos(61));
            tables.look(connection);
            assertThat(tables.isTable("turned")).isFalse();
        } finally {
            shards.execute(0, "DROP TABLE shard_0000.turned; DROP VIEW shard_0001.turned");
        }
    }
}
