/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.shardflake.sql.Shards.execute;
import static org.shardflake.sql.Shards.queryLong;
import static org.shardflake.sql.Shards.queryString;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.postgresql.util.PSQLException;
import org.shardflake.cluster.PostgresExtension;

class CatalogSchemaTest {

    private static final String CONTENTS = """
            SELECT concat_ws(E'\\n',
                (SELECT i::text FROM shardflake_catalog.installation i),
                (SELECT string_agg(s::text, ',' ORDER BY name) FROM shardflake_catalog.server s),
                (SELECT string_agg(s::text, ',' ORDER BY shard) FROM shardflake_catalog.shard s),
                (SELECT string_agg(h::text, ',' ORDER BY id) FROM shardflake_catalog.history h))
            """;
    private static final String VERSION = "SELECT version FROM shardflake_catalog.installation";
    /** Restore points are for doctor only. */
    private static final String UNREADABLE = """
            SELECT string_agg(relname, ', ') FROM pg_class
             WHERE relnamespace = 'shardflake_catalog'::regnamespace AND relkind = 'r' AND relname !~ '^(restore_point|databasechangelog)'
               AND NOT has_table_privilege(oid, 'SELECT')
            """;

    private static final String LATEST = """
            SELECT concat_ws('|', version, change, shard, server, from_server, epoch, reason)
              FROM shardflake_catalog.history ORDER BY id DESC LIMIT 1
            """;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1);

    private Connection connection;

    @BeforeEach
    void deploy() throws SQLException {
        connection = postgres.database(0).connect();
        CatalogSchema.deploy(connection);
    }

    @AfterEach
    void drop() throws SQLException {
        execute(connection, "DROP SCHEMA shardflake_catalog CASCADE");
        connection.close();
    }

    /** Ten shards, odd and even on two servers. */
    private void initialize() throws SQLException {
        connection.setAutoCommit(false);
        execute(
                connection,
                "SET LOCAL shardflake.reason = 'a beginning'",
                "INSERT INTO shardflake_catalog.server (name, url) VALUES ('db1', 'postgresql://db1/app'), ('db2', 'postgresql://db2/app')",
                "INSERT INTO shardflake_catalog.installation (shard_count, epoch_ms) VALUES (10, 1735689600000)",
                "INSERT INTO shardflake_catalog.shard (shard, server) SELECT n, 'db' || 1 + n % 2 FROM generate_series(0, 9) n");
        connection.commit();
        connection.setAutoCommit(true);
    }

    @Test
    void aSecondDeployChangesNothing() throws SQLException {
        initialize();
        String contents = queryString(connection, CONTENTS);
        String history = "SELECT string_agg(id || dateexecuted, ',') FROM shardflake_catalog.databasechangelog";
        String deployed = queryString(connection, history);

        CatalogSchema.deploy(connection);

        assertThat(queryString(connection, CONTENTS)).isEqualTo(contents);
        assertThat(queryString(connection, history)).isEqualTo(deployed);
    }

    @Test
    void initializingIsOneEntryOfTheHistory() throws SQLException {
        initialize();

        assertThat(queryLong(connection, VERSION)).isEqualTo(1);
        assertThat(queryLong(connection, "SELECT count(*) FROM shardflake_catalog.history"))
                .isEqualTo(1);
        assertThat(queryString(connection, LATEST)).isEqualTo("1|initialized|a beginning");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "UPDATE shardflake_catalog.installation SET shard_count = 11             | SF010",
                "UPDATE shardflake_catalog.installation SET epoch_ms = 0, version = 9    | SF010",
                "UPDATE shardflake_catalog.installation SET version = 1                  | SF010",
                "DELETE FROM shardflake_catalog.installation                             | SF010",
                "TRUNCATE shardflake_catalog.installation                                | SF010",
                "INSERT INTO shardflake_catalog.installation (shard_count, epoch_ms) VALUES (5, 0) | 23505",
                "DELETE FROM shardflake_catalog.shard WHERE shard = 9                    | SF010",
                "TRUNCATE shardflake_catalog.shard CASCADE                                       | SF010",
                "INSERT INTO shardflake_catalog.shard (shard, server) VALUES (10, 'db1') | SF010",
                "INSERT INTO shardflake_catalog.shard (shard, server) VALUES (9, 'db1')  | 23505",
                "UPDATE shardflake_catalog.shard SET shard = 10 WHERE shard = 9          | SF010",
                "UPDATE shardflake_catalog.shard SET server = NULL WHERE shard = 9       | 23502",
                "UPDATE shardflake_catalog.shard SET server = 'db9' WHERE shard = 9      | 23503",
                "UPDATE shardflake_catalog.shard SET epoch = 5 WHERE shard = 9           | SF010",
                "UPDATE shardflake_catalog.shard SET epoch = 2 WHERE shard = 9           | SF010",
                "UPDATE shardflake_catalog.shard SET epoch = 3, server = 'db1' WHERE shard = 9 | SF010",
                "DELETE FROM shardflake_catalog.server WHERE name = 'db2'                | 23503",
                "UPDATE shardflake_catalog.server SET name = 'db3' WHERE name = 'db2'    | 23503",
                "TRUNCATE shardflake_catalog.server CASCADE                              | SF010",
                "INSERT INTO shardflake_catalog.server (name, url) VALUES ('db1', 'postgresql://x/app')   | 23505",
                "INSERT INTO shardflake_catalog.server (name, url) VALUES ('db3', 'postgresql://db1/app') | 23505",
                "INSERT INTO shardflake_catalog.server (name, url) VALUES ('DB3', 'postgresql://x/app')   | 23514",
                "INSERT INTO shardflake_catalog.server (name, url) VALUES ('db3', 'mysql://x/app')        | 23514",
                "INSERT INTO shardflake_catalog.server (name, url) VALUES ('db3', 'postgresql://u:pw@x/app') | 23514",
                "INSERT INTO shardflake_catalog.server (name, url) VALUES ('db3', 'postgresql://x/app?a=b&password=pw') | 23514",
                "INSERT INTO shardflake_catalog.server (name, url) VALUES ('db3', 'postgresql://x/app?pass%77ord=pw') | 23514",
                "INSERT INTO shardflake_catalog.server (name, url, labels) VALUES ('db3', 'postgresql://x/app', '[]') | 23514",
                "INSERT INTO shardflake_catalog.server (name, url, labels) VALUES ('db3', 'postgresql://x/app', '{\"a\": 1}') | 23514",
                "UPDATE shardflake_catalog.history SET reason = 'another'                | SF010",
                "DELETE FROM shardflake_catalog.history                                  | SF010",
                "TRUNCATE shardflake_catalog.history                                     | SF010",
            })
    @Tag("full")
    void refusesAnImpossibleMap(String sql, String state) throws SQLException {
        initialize();
        String contents = queryString(connection, CONTENTS);

        assertThatThrownBy(() -> execute(connection, sql))
                .isInstanceOfSatisfying(
                        PSQLException.class, e -> assertThat(e.getSQLState()).isEqualTo(state));

        assertThat(queryString(connection, CONTENTS)).isEqualTo(contents);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "SELECT 1",
                "INSERT INTO shardflake_catalog.shard (shard, server) SELECT n, 'db1' FROM generate_series(0, 8) n",
                "INSERT INTO shardflake_catalog.shard (shard, server) SELECT n, 'db1' FROM generate_series(1, 10) n",
                "INSERT INTO shardflake_catalog.shard (shard, server) SELECT n, 'db1' FROM generate_series(0, 10) n",
            })
    void refusesToBeginWithoutAllShards(String shards) {
        assertThatThrownBy(() -> {
                    connection.setAutoCommit(false);
                    execute(
                            connection,
                            "INSERT INTO shardflake_catalog.server (name, url) VALUES ('db1', 'postgresql://db1/app')",
                            "INSERT INTO shardflake_catalog.installation (shard_count, epoch_ms) VALUES (10, 0)",
                            shards);
                    connection.commit();
                })
                .isInstanceOfSatisfying(
                        PSQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("SF010"));
        assertThatThrownBy(() -> {
                    connection.rollback();
                    connection.setAutoCommit(true);
                    execute(
                            connection,
                            "INSERT INTO shardflake_catalog.installation (shard_count, epoch_ms) VALUES (1, 0)");
                })
                .hasMessageContaining("the installation has no shards");
    }

    @Test
    void placingAShardMakesAVersionARecordAndANotification() throws SQLException {
        initialize();
        PGConnection listening = connection.unwrap(PGConnection.class);
        execute(connection, "LISTEN shardflake_map");

        execute(
                connection,
                "SET shardflake.reason = 'db2 is full'",
                "UPDATE shardflake_catalog.shard SET server = 'db1' WHERE shard = 7");

        assertThat(queryLong(connection, VERSION)).isEqualTo(2);
        assertThat(queryLong(connection, "SELECT epoch FROM shardflake_catalog.shard WHERE shard = 7"))
                .isEqualTo(2);
        assertThat(queryString(connection, LATEST)).isEqualTo("2|shard placed|7|db1|db2|2|db2 is full");
        assertThat(listening.getNotifications(1000))
                .extracting(PGNotification::getParameter)
                .containsExactly("2");
    }

    @Test
    void placingManyShardsIsOneVersionAndARecordForEach() throws SQLException {
        initialize();
        execute(connection, "UPDATE shardflake_catalog.shard SET server = 'db1'");

        assertThat(queryLong(connection, VERSION)).isEqualTo(2);
        assertThat(
                        queryString(
                                connection,
                                "SELECT string_agg(shard::text, ',' ORDER BY id) FROM shardflake_catalog.history WHERE version = 2"))
                .isEqualTo("1,3,5,7,9");
    }

    @Test
    void aCompareAndSetOnTheEpochWinsOnce() throws SQLException {
        initialize();
        String flip = "WITH flip AS (UPDATE shardflake_catalog.shard SET server = 'db1', epoch = 2"
                + " WHERE shard = 7 AND epoch = 1 RETURNING 1) SELECT count(*) FROM flip";

        assertThat(queryLong(connection, flip)).isEqualTo(1);
        assertThat(queryLong(connection, flip)).isZero();
        assertThat(queryLong(connection, VERSION)).isEqualTo(2);
    }

    @Test
    void updatesThatChangeNothingAreNoChange() throws SQLException {
        initialize();
        execute(
                connection,
                "UPDATE shardflake_catalog.shard SET server = server",
                "UPDATE shardflake_catalog.server SET url = url",
                "UPDATE shardflake_catalog.shard SET server = 'db1' WHERE shard = 99",
                "INSERT INTO shardflake_catalog.shard (shard, server) SELECT 1, 'db1' WHERE false");

        assertThat(queryLong(connection, VERSION)).isEqualTo(1);
        assertThat(queryLong(connection, "SELECT count(*) FROM shardflake_catalog.history"))
                .isEqualTo(1);
    }

    @Test
    void serversComeChangeAndGo() throws SQLException {
        initialize();

        execute(
                connection,
                "INSERT INTO shardflake_catalog.server (name, url) VALUES ('db3', 'postgresql://u@h1:1,h2:2/app?x=y')");
        assertThat(queryString(connection, LATEST)).isEqualTo("2|server added|db3|not given");
        execute(connection, "UPDATE shardflake_catalog.server SET labels = '{\"zone\": \"a\"}' WHERE name = 'db3'");
        assertThat(queryString(connection, LATEST)).isEqualTo("3|server changed|db3|not given");
        execute(connection, "DELETE FROM shardflake_catalog.server WHERE name = 'db3'");
        assertThat(queryString(connection, LATEST)).isEqualTo("4|server removed|db3|not given");
        assertThat(queryLong(connection, VERSION)).isEqualTo(4);
    }

    @Test
    void concurrentChangesGetVersionsInTheOrderOfTheirCommits() throws Exception {
        initialize();
        ExecutorService threads = Executors.newFixedThreadPool(5);
        List<Future<?>> changes = new ArrayList<>();
        for (int thread = 0; thread < 5; thread++) {
            int shard = thread;
            changes.add(threads.submit(() -> {
                try (Connection other = postgres.database(0).connect()) {
                    for (int i = 0; i < 20; i++) {
                        execute(
                                other,
                                "UPDATE shardflake_catalog.shard SET server = CASE server WHEN 'db1' THEN 'db2' ELSE 'db1' END WHERE shard = "
                                        + shard);
                    }
                }
                return null;
            }));
        }
        for (Future<?> change : changes) {
            change.get();
        }
        threads.shutdown();

        assertThat(queryLong(connection, VERSION)).isEqualTo(101);
        assertThat(queryLong(connection, "SELECT count(DISTINCT version) FROM shardflake_catalog.history"))
                .isEqualTo(101);
        assertThat(queryLong(connection, """
                SELECT count(*) FROM (SELECT version, lag(version) OVER (ORDER BY changed_at) AS before
                                        FROM shardflake_catalog.history) AS h WHERE version < before
                """)).isZero();
    }

    @Test
    void aRouterMayReadAndNotWrite() throws SQLException {
        initialize();
        execute(
                connection,
                "DROP ROLE IF EXISTS catalog_reader",
                "CREATE ROLE catalog_reader",
                "SELECT shardflake_catalog.grant_read('catalog_reader')",
                "SET ROLE catalog_reader");
        try {
            assertThat(queryLong(connection, VERSION)).isEqualTo(1);
            assertThat(
                            queryLong(
                                    connection,
                                    "SELECT count(*) FROM shardflake_catalog.shard s JOIN shardflake_catalog.server v ON v.name = s.server"))
                    .isEqualTo(10);
            assertThat(queryString(connection, UNREADABLE)).isNull();
            execute(connection, "LISTEN shardflake_map");
            assertThatThrownBy(() -> execute(connection, "UPDATE shardflake_catalog.shard SET server = 'db1'"))
                    .isInstanceOfSatisfying(
                            PSQLException.class,
                            e -> assertThat(e.getSQLState()).isEqualTo("42501"));
        } finally {
            execute(connection, "RESET ROLE", "DROP OWNED BY catalog_reader", "DROP ROLE catalog_reader");
        }
    }

    @Test
    void anOlderSchemaDoesNotReplaceANewerOne() throws SQLException {
        String history =
                "SELECT string_agg(id || md5sum || dateexecuted, ',') FROM shardflake_catalog.databasechangelog";
        execute(
                connection,
                "CREATE OR REPLACE FUNCTION shardflake_catalog.catalog_version() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1000000",
                "UPDATE shardflake_catalog.databasechangelog SET md5sum = '9:00000000000000000000000000000000' WHERE id = 'grant_read'");
        String before = queryString(connection, history);

        assertThatThrownBy(() -> CatalogSchema.deploy(connection))
                .isInstanceOf(NewerVersionException.class)
                .hasMessageStartingWith(
                        "the catalog is deployed in version 1000000, and this program has only version ");
        assertThat(queryString(connection, history)).isEqualTo(before);
    }
}
