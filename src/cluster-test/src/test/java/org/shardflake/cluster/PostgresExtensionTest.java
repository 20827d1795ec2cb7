/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;

/** Runs test classes of its own, to see what there is between and after them. */
class PostgresExtensionTest {
    private static final List<TestDatabase> seen = new ArrayList<>();
    private static final AtomicInteger preparations = new AtomicInteger();

    @BeforeEach
    void forget() {
        assumeTrue(
                SystemProperties.provider() != PostgresProvider.EXTERNAL
                        && SystemProperties.urls().isEmpty(),
                "given servers are not stopped, and may be fewer than these tests ask for");
        seen.clear();
    }

    @Test
    void givesEachClassFreshPreparedDatabasesOnTheSameServers() {
        run(TwoServers.class, ThreeServers.class);

        assertThat(seen).extracting(TestDatabase::name).doesNotHaveDuplicates();
        assertThat(seen.get(0).name()).startsWith("twoservers_");
        assertThat(seen.get(1).name()).startsWith("threeservers_");
        assertThat(seen.get(1).server()).isEqualTo(seen.get(0).server());
    }

    @Test
    @Tag("full")
    void dropsDatabasesInUseAfterTheClass() {
        run(LeavesThingsBehind.class, LooksAround.class);

        assertThat(seen).isNotEmpty();
    }

    @Test
    void stopsTheSharedClusterAfterTheTestPlan() {
        run(TwoServers.class);

        assertThatThrownBy(() -> seen.get(0).server().connect()).isInstanceOf(SQLException.class);
    }

    @Test
    void restoresDatabasesAsTheyWereSaved() {
        run(SavesAndRestores.class);
    }

    @Test
    void preparesOnceForSeveralClasses() {
        preparations.set(0);

        run(PreparesOnce.class, IsPrepared.class);

        assertThat(preparations).hasValue(2);
    }

    @Test
    void nextClassesTakeWhatOneHasShared() {
        run(Shares.class, Takes.class);
    }

    @Test
    void saysThatThereIsNoDatabaseOutsideAClass() {
        assertThatThrownBy(() -> PostgresExtension.servers(1).database(0))
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("static");
    }

    private static void run(Class<?>... testClasses) {
        var listener = new SummaryGeneratingListener();
        var request = LauncherDiscoveryRequestBuilder.request();
        for (Class<?> testClass : testClasses) {
            request.selectors(selectClass(testClass));
        }
        LauncherFactory.create().execute(request.build(), listener);
        assertThat(listener.getSummary().getFailures()).isEmpty();
        assertThat(listener.getSummary().getTestsSucceededCount()).isGreaterThanOrEqualTo(testClasses.length);
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    static class TwoServers {
        @RegisterExtension
        static final PostgresExtension postgres =
                PostgresExtension.servers(2).prepare(connection -> execute(connection, "CREATE TABLE prepared ()"));

        @Test
        void hasAPreparedDatabaseOnEachServer() throws SQLException {
            seen.add(postgres.database(0));
            for (int server = 0; server < 2; server++) {
                try (Connection connection = postgres.database(server).connect()) {
                    assertThat(connection.getCatalog())
                            .isEqualTo(postgres.database(server).name());
                    execute(connection, "SELECT FROM prepared");
                }
            }
            assertThat(postgres.database(0).jdbcUrl())
                    .isNotEqualTo(postgres.database(1).jdbcUrl());
        }

        @Nested
        class Inner {
            @Test
            void sharesTheDatabaseOfTheClassAroundIt() throws SQLException {
                try (Connection connection = postgres.database(0).connect()) {
                    execute(connection, "SELECT FROM prepared");
                }
            }
        }
    }

    static class SavesAndRestores {
        @RegisterExtension
        static final PostgresExtension postgres =
                PostgresExtension.servers(2).prepare(connection -> execute(connection, "CREATE TABLE counted (n int)"));

        @Test
        void bringsBackEachState() throws SQLException {
            assertThat(postgres.restore("one row")).isFalse();
            insert();
            postgres.save("one row");
            insert();
            postgres.save("two rows");

            assertThat(postgres.restore("one row")).isTrue();
            assertThat(rows()).containsExactly(1L, 1L);
            insert();
            insert();
            assertThat(postgres.restore("two rows")).isTrue();
            assertThat(rows()).containsExactly(2L, 2L);

            Connection left = postgres.database(0).connect();
            assertThat(postgres.restore("one row")).isTrue();
            assertThat(rows()).containsExactly(1L, 1L);
            assertThatThrownBy(() -> execute(left, "SELECT FROM counted")).isInstanceOf(SQLException.class);
        }

        /** By the ids of the databases: one that was made anew has another. */
        @Test
        void leavesADatabaseAsItIsIfNothingWasWritten() throws SQLException {
            List<Long> rows = rows();
            postgres.save("first");
            postgres.restore("first");
            List<Long> before = oids();
            Connection left = postgres.database(0).connect();
            execute(left, "BEGIN; SELECT FROM counted");

            postgres.restore("first");
            assertThat(oids()).isEqualTo(before);
            assertThatThrownBy(() -> execute(left, "SELECT FROM counted")).isInstanceOf(SQLException.class);

            try (Connection connection = postgres.database(1).connect()) {
                execute(connection, "INSERT INTO counted VALUES (1)");
            }
            postgres.restore("first");
            assertThat(oids().get(0)).isEqualTo(before.get(0));
            assertThat(oids().get(1)).isNotEqualTo(before.get(1));
            assertThat(rows()).isEqualTo(rows);

            try (Connection connection = postgres.database(0).connect()) {
                execute(connection, "SELECT pg_create_logical_replication_slot('left', 'pgoutput')");
            }
            postgres.restore("first");
            assertThat(oids().get(0)).isNotEqualTo(before.get(0));
        }

        private static List<Long> oids() throws SQLException {
            return numbers("SELECT oid FROM pg_database WHERE datname = current_database()");
        }

        private static void insert() throws SQLException {
            for (int server = 0; server < 2; server++) {
                try (Connection connection = postgres.database(server).connect()) {
                    execute(connection, "INSERT INTO counted VALUES (1)");
                }
            }
        }

        private static List<Long> rows() throws SQLException {
            return numbers("SELECT count(*) FROM counted");
        }

        private static List<Long> numbers(String query) throws SQLException {
            List<Long> numbers = new ArrayList<>();
            for (int server = 0; server < 2; server++) {
                try (Connection connection = postgres.database(server).connect();
                        Statement statement = connection.createStatement();
                        ResultSet row = statement.executeQuery(query)) {
                    row.next();
                    numbers.add(row.getLong(1));
                }
            }
            return numbers;
        }
    }

    private static void prepareOnce(Connection connection) throws SQLException {
        preparations.incrementAndGet();
        execute(connection, "CREATE TABLE once (n int)");
    }

    static class PreparesOnce {
        @RegisterExtension
        static final PostgresExtension postgres =
                PostgresExtension.servers(2).prepareOnce("once", PostgresExtensionTest::prepareOnce);

        @Test
        void writesToWhatIsPrepared() throws SQLException {
            for (int server = 0; server < 2; server++) {
                try (Connection connection = postgres.database(server).connect()) {
                    execute(connection, "INSERT INTO once VALUES (1)");
                }
            }
        }
    }

    static class IsPrepared {
        @RegisterExtension
        static final PostgresExtension postgres = PostgresExtension.servers(2)
                .prepareOnce("once", PostgresExtensionTest::prepareOnce)
                .prepare(connection -> execute(connection, "INSERT INTO once VALUES (7)"));

        @Test
        void hasWhatWasPreparedAndNothingElse() throws SQLException {
            for (int server = 0; server < 2; server++) {
                assertThat(text(postgres.database(server), "SELECT string_agg(n::text, ' ') FROM once"))
                        .isEqualTo("7");
            }
        }
    }

    static class Shares {
        @RegisterExtension
        static final PostgresExtension postgres = PostgresExtension.servers(2);

        @Test
        void sharesAndGoesOn() throws SQLException {
            try (Connection connection = postgres.database(1).connect()) {
                execute(connection, "CREATE TABLE place AS SELECT 'at ' || current_database() AS url");
            }
            postgres.share("places");
            try (Connection connection = postgres.database(1).connect()) {
                execute(connection, "INSERT INTO place VALUES ('not shared')");
            }
        }
    }

    static class Takes {
        @RegisterExtension
        static final PostgresExtension postgres = PostgresExtension.servers(2);

        @Test
        void takesItUnderItsOwnName() throws SQLException {
            assertThat(postgres.take("nothing", "place", "url")).isFalse();
            assertThat(postgres.take("places", "place", "url")).isTrue();

            assertThat(text(postgres.database(1), "SELECT string_agg(url, ' ') FROM place"))
                    .isEqualTo("at " + postgres.database(1).name());
        }
    }

    private static String text(TestDatabase database, String query) throws SQLException {
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            return String.valueOf(row.getString(1));
        }
    }

    static class ThreeServers {
        @RegisterExtension
        static final PostgresExtension postgres = PostgresExtension.servers(3);

        @Test
        void letsTheClusterGrow() throws SQLException {
            seen.add(postgres.database(0));
            try (Connection connection = postgres.database(2).connect()) {
                execute(connection, "CREATE TABLE prepared ()");
            }
        }
    }

    static class LeavesThingsBehind {
        @RegisterExtension
        static final PostgresExtension postgres = PostgresExtension.servers(2);

        @Test
        void replicatesAndKeepsAConnectionAndAPreparedTransaction() throws SQLException {
            seen.add(postgres.database(0));
            seen.add(postgres.database(1));
            TestDatabase target = postgres.database(1);
            try (Connection source = postgres.database(0).connect();
                    Connection connection = target.connect()) {
                execute(source, "CREATE TABLE copied (id bigint PRIMARY KEY)");
                execute(source, "CREATE PUBLICATION p FOR ALL TABLES");
                execute(connection, "CREATE TABLE copied (id bigint PRIMARY KEY)");
                execute(
                        connection,
                        "CREATE SUBSCRIPTION \"S\" CONNECTION '"
                                + postgres.database(0).uri() + "' PUBLICATION p"
                                + " WITH (slot_name = s)");
            }
            Connection left = postgres.database(0).connect();
            execute(left, "BEGIN");
            execute(left, "CREATE TABLE unfinished ()");
            execute(left, "PREPARE TRANSACTION '" + target.name() + "'");
            execute(left, "SELECT 1");
        }
    }

    static class LooksAround {
        @RegisterExtension
        static final PostgresExtension postgres = PostgresExtension.servers(2);

        @Test
        void findsOnlyItsOwnDatabase() throws SQLException {
            for (int server = 0; server < 2; server++) {
                try (Connection connection = postgres.database(server).connect();
                        Statement statement = connection.createStatement()) {
                    for (TestDatabase other : seen) {
                        try (var rows = statement.executeQuery(
                                "SELECT FROM pg_database WHERE datname = '" + other.name() + "'")) {
                            assertThat(rows.next()).as(other + " exists").isFalse();
                        }
                    }
                }
            }
        }
    }
}
