/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.shardflake.sql.Shards.execute;
import static org.shardflake.sql.Shards.queryLong;
import static org.shardflake.sql.Shards.queryString;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import liquibase.Liquibase;
import liquibase.Scope;
import liquibase.UpdateSummaryEnum;
import liquibase.database.core.PostgresDatabase;
import liquibase.database.jvm.JdbcConnection;
import liquibase.exception.LiquibaseException;
import liquibase.resource.ClassLoaderResourceAccessor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.util.PSQLException;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;

class FunctionLibraryTest {

    private static final String HISTORY =
            "SELECT string_agg(concat_ws(' ', orderexecuted, id, md5sum, dateexecuted), ',' ORDER BY orderexecuted)"
                    + " FROM shardflake.databasechangelog";

    /** Everything deployed, as the catalog has it; the history tables are Liquibase's own affair. */
    private static final String SURFACE = """
            SELECT string_agg(line, E'\\n' ORDER BY line COLLATE "C") FROM (
                SELECT concat_ws(' ', 'function', p.oid::regprocedure, 'returns', pg_get_function_result(p.oid), l.lanname,
                        CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END,
                        CASE p.proparallel WHEN 's' THEN 'parallel-safe' ELSE 'parallel-unsafe' END,
                        CASE WHEN p.proisstrict THEN 'strict' END,
                        CASE WHEN p.prosecdef THEN 'security-definer' END,
                        array_to_string(p.proconfig, ';'),
                        CASE WHEN p.proacl IS NULL THEN 'public' ELSE 'owner-only' END,
                        '-- ' || obj_description(p.oid, 'pg_proc')) AS line
                  FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
                 WHERE p.pronamespace IN (to_regnamespace('shardflake'), to_regnamespace('shardflake_internal'))
                UNION ALL
                SELECT concat_ws(' ', 'table', c.oid::regclass, a.attname, format_type(a.atttypid, a.atttypmod),
                        CASE WHEN a.attnotnull THEN 'not-null' END, '-- ' || col_description(c.oid, a.attnum))
                  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
                 WHERE c.oid = 'shardflake.layout'::regclass
            ) AS surface""";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1);

    private Connection connection;

    @BeforeEach
    void connect() throws SQLException {
        connection = postgres.database(0).connect();
    }

    @AfterEach
    void removeLibrary() throws SQLException {
        execute(
                connection,
                "DROP SCHEMA IF EXISTS shardflake, shardflake_internal, shard_0007 CASCADE",
                "DROP TABLE IF EXISTS public.databasechangelog, public.databasechangeloglock");
        connection.close();
    }

    @Test
    void deployedSurfaceIsTheOneCommitted() throws SQLException, IOException {
        FunctionLibrary.deploy(connection);

        try (InputStream golden = getClass().getResourceAsStream("/golden/server.txt")) {
            assertThat(queryString(connection, SURFACE) + "\n").isEqualTo(new String(golden.readAllBytes(), UTF_8));
        }
    }

    /** Those that the reference calls internal begin so, or are parts of what an id is computed from. */
    @Test
    void everyFunctionForUsersIsInTheReference() throws SQLException, IOException {
        FunctionLibrary.deploy(connection);
        String functions = queryString(connection, """
                SELECT string_agg(format('%s(%s)', proname, pg_get_function_arguments(oid)), E'\\n')
                  FROM pg_proc WHERE pronamespace = 'shardflake'::regnamespace
                   AND obj_description(oid, 'pg_proc') !~ '^Internal' AND proname <> ALL (?)
                """.replace(
                        "?", "'{check_shard,clock_ms,compose_id,hot_lag,is_hot,is_shard,is_stopped,now_ticks,mark}'"));
        functions = functions.replace("timestamp with time zone", "timestamptz").replace("::name", "");
        String reference = Files.readString(Path.of("../src/docs/reference/sql.md"));

        assertThat(functions.lines())
                .isNotEmpty()
                .allSatisfy(function -> assertThat(reference).contains("`" + function));
    }

    @Test
    void secondDeployChangesNothing() throws SQLException {
        FunctionLibrary.deploy(connection);
        String history = queryString(connection, HISTORY);
        FunctionLibrary.deploy(connection);

        assertThat(queryString(connection, HISTORY)).isEqualTo(history);
    }

    @Test
    void changedFunctionIsDeployedAgainByItsChecksum() throws SQLException {
        FunctionLibrary.deploy(connection);
        execute(
                connection,
                "CREATE OR REPLACE FUNCTION shardflake.id_shard(id bigint) RETURNS integer LANGUAGE sql RETURN 1",
                "UPDATE shardflake.databasechangelog SET md5sum = '9:00000000000000000000000000000000' WHERE id = 'id_shard'");
        FunctionLibrary.deploy(connection);

        assertThat(queryLong(connection, "SELECT shardflake.id_shard(11637205501278089)"))
                .isEqualTo(1341);
        assertThat(queryString(
                        connection,
                        "SELECT string_agg(id, ',') FROM shardflake.databasechangelog WHERE exectype = 'RERAN'"))
                .isEqualTo("id_shard");
    }

    /** For tests that had put something else in place of a function. */
    static void deployAgain(Connection connection, String changeset) throws SQLException {
        execute(
                connection,
                "UPDATE shardflake.databasechangelog SET md5sum = '9:00000000000000000000000000000000' WHERE id = '%s'"
                        .formatted(changeset));
        FunctionLibrary.deploy(connection);
    }

    @Test
    void commentsStayInTheFunctions() throws SQLException {
        FunctionLibrary.deploy(connection);

        assertThat(queryString(connection, "SELECT prosrc FROM pg_proc WHERE proname = 'advance_sequence'"))
                .contains("Why setval cannot take back a number that another session draws meanwhile");
    }

    @Test
    void anotherEpochIsRecordedOnceAndKept() throws SQLException {
        FunctionLibrary.deploy(connection, 1_293_840_000_000L);
        FunctionLibrary.deploy(connection);
        FunctionLibrary.deploy(connection, 1_293_840_000_000L);

        assertThat(queryLong(connection, "SELECT shardflake.epoch_ms()")).isEqualTo(1_293_840_000_000L);
        assertThat(queryString(connection, "SELECT shardflake.id_timestamp(11637205501278089) AT TIME ZONE 'UTC'"))
                .isEqualTo("2011-01-17 01:21:03");
        assertThatThrownBy(() -> FunctionLibrary.deploy(connection, FunctionLibrary.DEFAULT_EPOCH_MILLIS))
                .isInstanceOf(DeploymentException.class)
                .hasMessage("epoch 1735689600000 differs from 1293840000000, which this database has recorded for good:"
                        + " deploy with the recorded epoch, or into a database that has made no ids");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "UPDATE shardflake.layout SET epoch_ms = epoch_ms + 1",
                "DELETE FROM shardflake.layout",
                "TRUNCATE shardflake.layout",
                "INSERT INTO shardflake.layout (epoch_ms, layout_version) VALUES (0, 1)"
            })
    @Tag("full")
    void layoutCannotBeChanged(String sql) throws SQLException {
        FunctionLibrary.deploy(connection);

        assertThatThrownBy(() -> execute(connection, sql))
                .isInstanceOfSatisfying(
                        PSQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("SF003"));
    }

    @Test
    void rollbackRemovesEveryFunction() throws Exception {
        FunctionLibrary.deploy(connection);
        rollBackEverything();

        assertThat(queryLong(
                        connection, "SELECT count(*) FROM pg_proc WHERE pronamespace = 'shardflake'::regnamespace"))
                .isZero();
        assertThat(queryString(connection, "SELECT to_regclass('shardflake.layout')"))
                .isNull();
        FunctionLibrary.deploy(connection);
        assertThat(queryLong(connection, "SELECT shardflake.epoch_ms()"))
                .isEqualTo(FunctionLibrary.DEFAULT_EPOCH_MILLIS);
    }

    @Test
    void rollbackStopsWhereAShardStillNeedsItsFunctions() throws SQLException {
        FunctionLibrary.deploy(connection);
        execute(connection, "SELECT shardflake.create_shard(7)");
        String surface = queryString(connection, SURFACE);

        assertThatThrownBy(this::rollBackEverything)
                .hasMessageContaining("function shard_0007.next_id() depends on function shardflake.draw_id");
        assertThat(queryString(connection, SURFACE)).isEqualTo(surface);
    }

    private void rollBackEverything() throws Exception {
        int changesets = (int) queryLong(connection, "SELECT count(*) FROM shardflake.databasechangelog");
        withLiquibase("shardflake", liquibase -> liquibase.rollback(changesets, ""));
    }

    @Test
    void librarysChangelogMayBePartOfTheApplicationsOwn() throws Exception {
        withLiquibase("public", liquibase -> liquibase.update(""));
        execute(connection, "SELECT shardflake.create_shard(7)");
        FunctionLibrary.deploy(connection); // under the library's own history now: what is there is taken over

        assertThat(queryLong(connection, "SELECT shardflake.id_shard(shard_0007.next_id())"))
                .isEqualTo(7);
    }

    /** What an application does with Liquibase. */
    private interface Use {
        void accept(Liquibase liquibase) throws LiquibaseException;
    }

    /** The library's changelog as part of another; returns a connection in place of the one given, which is closed. */
    static Connection updateByLiquibase(Connection connection, String historySchema, TestDatabase server)
            throws Exception {
        withLiquibase(connection, historySchema, liquibase -> liquibase.update(""));
        return server.connect();
    }

    private void withLiquibase(String historySchema, Use use) throws Exception {
        try {
            withLiquibase(connection, historySchema, use);
        } finally {
            connection = postgres.database(0).connect(); // Liquibase closes the one it was given
        }
    }

    /** Liquibase itself, as an application or its command line would run it. */
    private static void withLiquibase(Connection connection, String historySchema, Use use) throws Exception {
        ClassLoaderResourceAccessor resources = new ClassLoaderResourceAccessor();
        PostgresDatabase database = new PostgresDatabase();
        database.setConnection(new JdbcConnection(connection));
        database.setLiquibaseSchemaName(historySchema);
        try (Liquibase liquibase = new Liquibase(FunctionLibrary.CHANGELOG, resources, database)) {
            liquibase.setShowSummary(UpdateSummaryEnum.OFF);
            Scope.child(LiquibaseRun.quiet(resources), () -> use.accept(liquibase));
        }
    }

    @Test
    void connectionComesBackAsItWas() throws SQLException {
        connection.setAutoCommit(false);
        FunctionLibrary.deploy(connection);

        assertThat(connection.isClosed()).isFalse();
        assertThat(connection.getAutoCommit()).isFalse();
        connection.rollback();
        assertThat(queryLong(
                        connection,
                        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"))
                .isZero();
        connection.rollback();
        connection.setAutoCommit(true);
    }

    @Test
    void printsNothing() throws SQLException {
        PrintStream out = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true, UTF_8));
        try {
            FunctionLibrary.deploy(connection);
        } finally {
            System.setOut(out);
        }
        assertThat(printed.toString(UTF_8)).isEmpty();
    }

    /** And not as one of Liquibase's, which say neither what was lost nor why. */
    @Test
    void aLostConnectionIsThrownAsTheDriversException() throws SQLException {
        execute(
                connection,
                "CREATE FUNCTION public.terminate() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); END'",
                "CREATE EVENT TRIGGER terminate ON ddl_command_end WHEN TAG IN ('CREATE FUNCTION') EXECUTE FUNCTION public.terminate()");
        try (Connection lost = postgres.database(0).connect()) {
            assertThatThrownBy(() -> FunctionLibrary.deploy(lost))
                    .isInstanceOfSatisfying(
                            PSQLException.class,
                            e -> assertThat(e.getSQLState()).isEqualTo("57P01"));
        } finally {
            execute(connection, "DROP EVENT TRIGGER terminate", "DROP FUNCTION public.terminate()");
        }
    }

    @Test
    @Timeout(value = 60, unit = TimeUnit.SECONDS)
    void lockLeftByAKilledDeploymentIsReleased() throws SQLException {
        FunctionLibrary.deploy(connection);
        execute(
                connection,
                "UPDATE shardflake.databasechangeloglock SET locked = true, lockgranted = now(), lockedby = 'a host that is gone'",
                "DELETE FROM shardflake.databasechangelog WHERE id = 'id_shard'");
        FunctionLibrary.deploy(connection);

        assertThat(queryLong(connection, "SELECT count(*) FROM shardflake.databasechangelog WHERE id = 'id_shard'"))
                .isEqualTo(1);
    }

    @Test
    void deploymentsAtTheSameTimeWaitForEachOther() throws Exception {
        List<Boolean> deployed = Sessions.run(postgres.database(0), 4, (session, own) -> {
            FunctionLibrary.deploy(own);
            return true;
        });

        assertThat(deployed).containsOnly(true);
        assertThat(queryLong(connection, "SELECT count(*) - count(DISTINCT id) FROM shardflake.databasechangelog"))
                .isZero();
    }

    private static final String NEWER =
            "CREATE OR REPLACE FUNCTION shardflake.library_version() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1000000";

    @Test
    void anOlderLibraryDoesNotReplaceANewerOne() throws SQLException {
        FunctionLibrary.deploy(connection);
        execute(
                connection,
                NEWER,
                "CREATE OR REPLACE FUNCTION shardflake.id_shard(id bigint) RETURNS integer LANGUAGE sql RETURN 1",
                "UPDATE shardflake.databasechangelog SET md5sum = '9:00000000000000000000000000000000' WHERE id = 'id_shard'");
        String history = queryString(connection, HISTORY);

        assertThatThrownBy(() -> FunctionLibrary.deploy(connection))
                .isInstanceOfSatisfying(NewerVersionException.class, e -> {
                    assertThat(e.deployed()).isEqualTo(1_000_000);
                    assertThat(e.own()).isEqualTo(FunctionLibrary.version());
                })
                .hasMessage("the function library is deployed in version 1000000, and this program has only version "
                        + FunctionLibrary.version());
        assertThat(queryString(connection, HISTORY)).isEqualTo(history);
        assertThat(queryLong(connection, "SELECT shardflake.id_shard(11637205501278089)"))
                .isEqualTo(1);
        assertThat(FunctionLibrary.isCurrent(connection)).isFalse();
    }

    @Test
    void anApplicationsOwnChangelogDoesNotReplaceANewerLibraryEither() throws Exception {
        withLiquibase("public", liquibase -> liquibase.update(""));
        execute(
                connection,
                NEWER,
                "UPDATE public.databasechangelog SET md5sum = '9:00000000000000000000000000000000' WHERE id = 'id_shard'",
                "CREATE OR REPLACE FUNCTION shardflake.id_shard(id bigint) RETURNS integer LANGUAGE sql RETURN 1");

        assertThatThrownBy(() -> withLiquibase("public", liquibase -> liquibase.update("")))
                .hasMessageContaining("the function library is there in a newer version than "
                        + FunctionLibrary.version() + ", which this changelog brings: use the newer one");
        assertThat(queryLong(connection, "SELECT shardflake.id_shard(11637205501278089)"))
                .isEqualTo(1);
    }

    @Test
    void aLibraryFromBeforeVersionsWereCountedIsBroughtUpToDate() throws SQLException {
        FunctionLibrary.deploy(connection);
        execute(
                connection,
                "DROP FUNCTION shardflake.library_version()",
                "DELETE FROM shardflake.databasechangelog WHERE id = 'library_version'");
        assertThat(FunctionLibrary.version(connection)).isZero();
        assertThat(FunctionLibrary.isCurrent(connection)).isFalse();

        FunctionLibrary.deploy(connection);

        assertThat(FunctionLibrary.version(connection)).isEqualTo(FunctionLibrary.version());
        assertThat(FunctionLibrary.isCurrent(connection)).isTrue();
    }
}
