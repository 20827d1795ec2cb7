/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static org.assertj.core.api.Assertions.assertThat;

import com.zaxxer.hikari.HikariConfig;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;
import org.postgresql.ds.PGSimpleDataSource;
import org.shardflake.ShardKey;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.internal.connection.ShardConnections;
import org.shardflake.router.internal.session.FenceWatch;
import org.shardflake.router.internal.session.LeasedConnection;
import org.shardflake.router.internal.session.SessionPool;
import org.shardflake.sql.FunctionLibrary;

/** What one user of a pooled connection leaves behind must not reach the next. */
class ConnectionsComeBackAsLentTest {

    /** All that a session can have, as one line. */
    private static final String SESSION = """
            SELECT concat_ws(' | ', current_setting('search_path'), current_setting('statement_timeout'), current_setting('role'),
                session_user, current_setting('application_name'), current_setting('extra_float_digits'), current_setting('TimeZone'),
                current_setting('default_transaction_isolation'), current_setting('default_transaction_read_only'),
                'user=' || COALESCE(current_setting('app.user', true), ''), current_setting('work_mem'), current_setting('lock_timeout'),
                (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
                (SELECT count(*) FROM pg_class WHERE relnamespace = pg_my_temp_schema()),
                (SELECT count(*) FROM pg_listening_channels()),
                (SELECT count(*) FROM pg_prepared_statements WHERE from_sql),
                (SELECT count(*) FROM pg_cursors WHERE is_holdable))
            """;

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepareOnce("library", FunctionLibrary::deploy);

    private static PhotoShards shards;
    private static ShardRouter router;
    private static String asLent;

    @BeforeAll
    static void start() throws SQLException {
        shards = PhotoShards.create(postgres, 1, 10);
        shards.execute(0, """
                DROP ROLE IF EXISTS clb_other;
                CREATE ROLE clb_other;
                GRANT USAGE ON SCHEMA shard_0007 TO clb_other;
                CREATE FUNCTION public.hidden(statement text) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN EXECUTE statement; RETURN 1; END $$;
                """);
        router = shards.router()
                .map(shards.map())
                .poolSize(1)
                .customizePools((server, config) -> config.setConnectionInitSql("SET lock_timeout = '7s'"))
                .build();
        asLent = router.read(7, ConnectionsComeBackAsLentTest::session);
    }

    @AfterAll
    static void close() throws SQLException {
        router.close();
        shards.execute(0, "DROP OWNED BY clb_other; DROP ROLE clb_other");
    }

    @BeforeEach
    void isAsLent() throws SQLException {
        assertThat(asLent).contains(" | 7s | ");
    }

    static Stream<String> whatIsLeft() {
        return Stream.of(
                "SET search_path = shard_0001",
                "/* a comment */ SET statement_timeout = '5s'",
                "-- a comment\nset session TimeZone = 'Asia/Tokyo'",
                "SELECT 1; SET work_mem = '9MB'",
                "SELECT set_config('search_path', 'shard_0001', false)",
                "SELECT pg_catalog.set_config('app.user', 'eve', false)",
                "SELECT \"set_config\"('app.user', 'eve', false)",
                "WITH x AS (SELECT SET_CONFIG ('app.user', 'eve', false)) SELECT * FROM x",
                "UPDATE pg_settings SET setting = '3s' WHERE name = 'statement_timeout'",
                "SET ROLE clb_other",
                "SET SESSION AUTHORIZATION clb_other",
                "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY, ISOLATION LEVEL SERIALIZABLE",
                "SELECT pg_advisory_lock(77)",
                "SELECT pg_try_advisory_lock_shared(1, 2)",
                "CREATE TEMP TABLE photo (id bigint)",
                "CREATE TABLE pg_temp.photo (id bigint)",
                "SELECT 1 AS id INTO TEMPORARY photo",
                "LISTEN something",
                "PREPARE something AS SELECT 1",
                "DECLARE something CURSOR WITH HOLD FOR SELECT 1",
                "DO $$ BEGIN PERFORM set_config('search_path', 'shard_0001', false); END $$",
                "SELECT public.hidden('SET search_path = shard_0001')",
                "SELECT 1 WHERE public . hidden('CREATE TEMP TABLE photo (id bigint)') = 1",
                "SELECT hidden($$SELECT pg_advisory_lock(78)$$)",
                "SELECT * FROM hidden('LISTEN something')",
                "RESET lock_timeout",
                "RESET ALL");
    }

    @ParameterizedTest
    @MethodSource("whatIsLeft")
    void nothingThatAWriteLeavesReachesTheNextWork(String sql) throws SQLException {
        router.run(7, tx -> execute(tx.connection(), sql));

        assertNothingIsLeft();
    }

    @ParameterizedTest
    @MethodSource("whatIsLeft")
    void nothingThatAConnectionLeavesReachesTheNextWork(String sql) throws SQLException {
        try (Connection connection = router.connection(ShardKey.uid(7))) {
            connection.setAutoCommit(!sql.startsWith("DECLARE"));
            execute(connection, sql);
            if (!connection.getAutoCommit()) {
                connection.commit();
            }
        }

        assertNothingIsLeft();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "SELECT set_config('search_path', 'shard_0001', false)",
                "SELECT pg_advisory_lock(79)",
                "SELECT hidden($$SELECT pg_advisory_lock(78)$$)"
            })
    void nothingThatAReadLeavesReachesTheNextWork(String sql) throws SQLException {
        router.read(7, tx -> {
            execute(tx.connection(), sql);
            return true;
        });
        assertNothingIsLeft();

        try (Stream<ShardResult<Boolean>> results = router.scatter(Scatter.allShards(), tx -> {
            execute(tx.connection(), sql);
            return true;
        })) {
            assertThat(results.map(ShardResult::get)).hasSize(10);
        }
        assertNothingIsLeft();
    }

    @Test
    void nothingThatAPreparedStatementOrABatchLeavesReachesTheNextWork() throws SQLException {
        router.run(7, tx -> {
            try (var statement = tx.connection().prepareStatement("SELECT set_config(?, ?, false)")) {
                statement.setString(1, "search_path");
                statement.setString(2, "shard_0001");
                statement.execute();
            }
        });
        assertNothingIsLeft();
        router.run(7, tx -> {
            try (Statement statement = tx.connection().createStatement()) {
                statement.addBatch("SET search_path = shard_0001");
                statement.executeBatch();
            }
        });
        assertNothingIsLeft();
    }

    @Test
    void nothingThatAManyShardsReadLeavesReachesTheNextWork() throws SQLException {
        long id = router.write(7, tx -> Photos.insert(tx, 7, "one"));
        router.fetch(
                List.of(id),
                ShardQuery.of(
                        "SELECT id, pg_advisory_lock(80)::text AS title FROM ${shard.schema}.photo", row -> "found"));

        assertNothingIsLeft();
    }

    @Test
    void anUnqualifiedInsertDoesNotReachTheShardOfTheWorkBefore() throws SQLException {
        router.run(1, tx -> tx.connection().setSchema("shard_0001"));

        assertThat(router.<Boolean, SQLException>write(2, tx -> {
                    try (Statement statement = tx.connection().createStatement();
                            ResultSet row = statement.executeQuery("SELECT to_regclass('photo') IS NULL")) {
                        row.next();
                        return row.getBoolean(1);
                    }
                }))
                .isTrue();
    }

    @Test
    void nothingThatJdbcCallsLeaveReachesTheNextWork() throws SQLException {
        try (Connection connection = router.connection(ShardKey.uid(7))) {
            connection.setSchema("shard_0001");
            connection.setClientInfo("ApplicationName", "someone");
            connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            connection.setHoldability(ResultSet.HOLD_CURSORS_OVER_COMMIT);
            connection.setTypeMap(Map.of("x", String.class));
            connection.setNetworkTimeout(Runnable::run, 12345);
            connection.setReadOnly(true);
            PGConnection driver = connection.unwrap(PGConnection.class);
            driver.setPrepareThreshold(17);
            driver.setDefaultFetchSize(18);
        }
        assertNothingIsLeft();
        try (Connection connection = router.connection(ShardKey.uid(7))) {
            assertThat(connection.getHoldability()).isEqualTo(ResultSet.CLOSE_CURSORS_AT_COMMIT);
            assertThat(connection.getTypeMap()).isNullOrEmpty();
            assertThat(connection.getNetworkTimeout()).isNotEqualTo(12345);
            assertThat(connection.isReadOnly()).isFalse();
            assertThat(connection.getTransactionIsolation()).isEqualTo(Connection.TRANSACTION_READ_COMMITTED);
            PGConnection driver = connection.unwrap(PGConnection.class);
            assertThat(driver.getPrepareThreshold()).isEqualTo(2);
            assertThat(driver.getDefaultFetchSize()).isZero();
        }
    }

    @Test
    void whatStatementsHideIsFoundThroughTheDriverToo() throws SQLException {
        try (Connection connection = router.connection(ShardKey.uid(7))) {
            try (Statement statement = ((Connection) connection.unwrap(PGConnection.class)).createStatement()) {
                statement.execute("SET search_path = shard_0001");
            }
        }
        assertNothingIsLeft();
    }

    @Test
    void ordinaryStatementsKeepTheConnection() throws SQLException {
        int before = router.read(7, tx -> pid(tx));
        for (int i = 0; i < 20; i++) {
            router.write(7, tx -> Photos.insert(tx, 7, "kept"));
            router.run(7, tx -> execute(tx.connection(), "SET work_mem = '9MB'"));
        }
        assertThat(router.<Integer, SQLException>read(7, tx -> pid(tx))).isEqualTo(before);
    }

    private static int pid(ShardTransaction tx) throws SQLException {
        return tx.connection().unwrap(PGConnection.class).getBackendPID();
    }

    private static void assertNothingIsLeft() throws SQLException {
        assertThat(router.<String, SQLException>write(8, ConnectionsComeBackAsLentTest::session))
                .isEqualTo(asLent);
    }

    private static String session(ShardTransaction tx) throws SQLException {
        try (Statement statement = tx.connection().createStatement();
                ResultSet row = statement.executeQuery(SESSION)) {
            row.next();
            return row.getString(1);
        }
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** Behind a pooler the session is reset in the transaction, which may end after another has met the older library. */
    @Test
    void aTransactionThatIsOpenWhenAnOlderLibraryIsFoundCanBeCommitted() throws SQLException {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(postgres.database(0).jdbcUrl());
        config.setUsername(postgres.database(0).user());
        config.setPassword(postgres.database(0).password());
        try (ShardConnections connections = new ShardConnections(config, false)) {
            SessionPool pool = new SessionPool(
                    "db1", connections, new PGSimpleDataSource(), new FenceWatch(() -> {}), true, false, null);
            try (LeasedConnection connection = pool.lend(7)) {
                connection.setAutoCommit(false);
                try (Statement statement = connection.createStatement()) {
                    statement.execute("SET statement_timeout = '7s'");
                }
                pool.failed(new SQLException("function shardflake.require_open(integer) does not exist", "42883"));

                connection.commit();

                assertThat(pool.asksWithCommit()).isFalse();
            }
            try (LeasedConnection next = pool.lend(7)) {
                assertThat(pool.asksWithCommit()).isTrue(); // It was looked at again.
                assertThat(next.isValid(5)).isTrue();
            }
        }
    }
}
