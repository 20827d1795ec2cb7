/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.shardflake.sql.Shards.execute;
import static org.shardflake.sql.Shards.queryLong;
import static org.shardflake.sql.Shards.queryString;

import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.cluster.PostgresExtension;

/** Whoever deploys, with whatever search_path: what is deployed uses PostgreSQL's own functions and operators, and ours. */
class BindingsTest {

    /** What anything in our schemas depends on; what PostgreSQL itself comes with is not recorded. */
    private static final String FOREIGN = """
            SELECT string_agg(DISTINCT format('%s uses %s',
                       pg_describe_object(d.classid, d.objid, d.objsubid), pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid)), E'\n')
              FROM pg_depend d
              JOIN LATERAL pg_identify_object(d.classid, d.objid, d.objsubid) o ON true
              JOIN LATERAL pg_identify_object(d.refclassid, d.refobjid, d.refobjsubid) r ON true
             WHERE (o.schema ~ '^(shardflake|shardflake_catalog|shardflake_internal|shard_[0-9]{4})$'
                       OR o.identity ~ ' (on|for) (shardflake|shardflake_catalog|shard_[0-9]{4})\\.')
               AND r.schema !~ '^(pg_catalog|shardflake|shardflake_catalog|shardflake_internal|shard_[0-9]{4}|pg_toast)$'""";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1).prepare(BindingsTest::setTraps);

    private Connection connection;

    private static void setTraps(Connection connection) throws SQLException {
        execute(connection, "CREATE SCHEMA trap");
        Traps.set(connection, "trap");
    }

    @BeforeEach
    void connect() throws SQLException {
        connection = postgres.database(0).connect();
    }

    @AfterEach
    void remove() throws SQLException {
        execute(
                connection,
                "RESET search_path",
                "DROP SCHEMA IF EXISTS shardflake, shardflake_internal, shard_0007 CASCADE",
                "DROP SCHEMA IF EXISTS shardflake_catalog CASCADE",
                "DROP TABLE IF EXISTS trap.databasechangelog, trap.databasechangeloglock, public.databasechangelog,"
                        + " public.databasechangeloglock");
        connection.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"trap", "trap, public, pg_catalog"})
    void nothingIsBoundToWhatOthersMade(String path) throws SQLException {
        execute(connection, "SET search_path = " + path);
        FunctionLibrary.deploy(connection);
        CatalogSchema.deploy(connection);

        assertThat(queryString(connection, "SHOW search_path")).isEqualTo(path);
        assertOwn();
    }

    @ParameterizedTest
    @ValueSource(strings = {"trap, public", "public, trap"})
    void nothingIsBoundToWhatOthersMadeByAChangelogThatIncludesOurs(String path) throws Exception {
        execute(connection, "SET search_path = " + path);
        connection = FunctionLibraryTest.updateByLiquibase(connection, "public", postgres.database(0));
        execute(connection, "TRUNCATE public.fell_in"); // Liquibase itself was in the trap.

        assertOwn();
    }

    @Test
    void changedFunctionsOfAnEarlierDeploymentAreBoundAnew() throws SQLException {
        FunctionLibrary.deploy(connection);
        execute(
                connection,
                "SET search_path = trap",
                "CREATE OR REPLACE FUNCTION shardflake.clock_ms() RETURNS bigint LANGUAGE sql VOLATILE PARALLEL SAFE"
                        + " RETURN floor(date_part('epoch', clock_timestamp()) * 1000)::bigint",
                "UPDATE shardflake.databasechangelog SET md5sum = '9:00000000000000000000000000000000' WHERE id = 'clock_ms'");
        execute(connection, "SET search_path = pg_catalog");
        assertThat(queryString(connection, FOREIGN)).contains("function shardflake.clock_ms() uses operator trap.*");
        FunctionLibrary.deploy(connection);

        assertOwn();
    }

    private void assertOwn() throws SQLException {
        execute(
                connection,
                "SELECT shardflake.create_shard(7)",
                "CREATE TABLE shard_0007.photo (id pg_catalog.int8 PRIMARY KEY, uid pg_catalog.int8)",
                "SELECT shardflake.complete_tables(7)",
                "INSERT INTO shard_0007.photo (uid) VALUES (7)",
                "SELECT shardflake.next_id(7), shardflake.min_id(pg_catalog.clock_timestamp()),"
                        + " shardflake.max_id(pg_catalog.clock_timestamp()), shardflake.id_timestamp(7)",
                "SELECT shardflake.fence_shard(7)",
                "SELECT shardflake.unfence_shard(7)",
                "RESET search_path");
        assertThat(queryString(connection, FOREIGN)).isNull();
        assertThat(queryLong(connection, "SELECT count(*) FROM public.fell_in")).isZero();
    }
}
