/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.guide;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.FirstRelease;
import org.shardflake.cluster.ManagedRole;
import org.shardflake.cluster.NeededPrograms;
import org.shardflake.cluster.PgBouncer;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.cluster.PostgresStandby;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.move.SmallDisk;

/**
 * Causes the incidents of servers that the guide describes, each on its own servers, and runs the page's commands, as {@link
 * GuideIT} does for the others.
 */
@Tag("full")
class IncidentsIT {

    private static final String DOWN = "A server is down, or failed over";
    private static final String TWO_PRIMARIES = "Two primaries";
    private static final String POOLER = "A pooler in between";
    private static final String PASSWORD = "A password was changed";
    private static final String FULL_DISK = "A full disk";
    private static final String UPGRADE = "An upgrade stopped half-way";

    private static final String OLD_PASSWORD = "old";
    private static final String NEW_PASSWORD = "new";

    @TempDir
    private Path directory;

    private PostgresCluster cluster;
    private GuideReader reader;

    @BeforeEach
    void start() throws SQLException {
        cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(3)
                .setting("wal_retrieve_retry_interval", "200ms")
                .setting("max_wal_size", "64MB")
                .start();
        reader = new GuideReader(directory, OLD_PASSWORD);
        for (PostgresServer server : cluster.servers()) {
            execute(server, "postgres", "CREATE DATABASE app");
            name(server.name(), server.uri("app"));
        }
        cluster.servers().forEach(server -> address(server.name(), server));
    }

    private void address(String host, PostgresServer server) {
        String url = server.jdbcUrl("app");
        reader.name(host + ":5432", url.substring(url.indexOf("//") + 2, url.lastIndexOf('/')));
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private void name(String host, String uri) {
        reader.name("postgresql://app@%s/app".formatted(host), uri);
    }

    private static void execute(PostgresServer server, String database, String sql) throws SQLException {
        try (Connection connection = server.connect(database);
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** Follows a section, after the commands that are before all of them. */
    private void follow(String section) throws Exception {
        follow(List.of("", section));
    }

    private void follow(List<String> sections) throws Exception {
        GuidePage page = GuideIT.page(GuideIT.SERVER_INCIDENTS).part(sections::contains);
        assertThat(page.steps()).extracting(GuidePage.Step::section).containsAll(sections);
        reader.follow(List.of(page));
    }

    private PostgresStandby standby(PostgresServer db1) {
        PostgresStandby standby = cluster.standbyOf(db1);
        name("db1b", standby.uri("app"));
        name("db1b,db1", standby.uriOfBoth("app"));
        address("db1b", standby);
        reader.cause("db1 dies", db1::crash);
        reader.cause("its standby is promoted", standby::promote);
        return standby;
    }

    @Test
    void aServerIsDownOrFailedOver() throws Exception {
        standby(cluster.server(0));

        follow(DOWN);
    }

    @Test
    void twoPrimaries() throws Exception {
        PostgresServer db1 = cluster.server(0);
        standby(db1);
        reader.cause("db1 comes back", db1::start);
        reader.cause("db1 is stopped", db1::stop);

        follow(TWO_PRIMARIES);
    }

    @Test
    void aPoolerInBetween() throws Exception {
        NeededPrograms.assume(PgBouncer.isInstalled(), "pgbouncer");
        try (PgBouncer pooler = PgBouncer.before(cluster.server(0))) {
            name("bouncer:6432", pooler.uri("app"));

            follow(POOLER);
        }
    }

    @Test
    void aPasswordWasChanged() throws Exception {
        for (PostgresServer server : cluster.servers()) {
            execute(
                    server,
                    "app",
                    "CREATE ROLE %s; CREATE ROLE app SUPERUSER LOGIN IN ROLE %1$s PASSWORD '%s'"
                            .formatted(ManagedRole.BY_PASSWORD, OLD_PASSWORD));
            name(server.name(), server.uri("app").replace(server.user() + "@", "app@"));
        }
        reader.name("PGPASSWORD=...", "PGPASSWORD=" + NEW_PASSWORD);
        reader.cause("the password is changed, and connections break", () -> {
            for (PostgresServer server : cluster.servers()) {
                execute(server, "app", "ALTER ROLE app PASSWORD '%s'".formatted(NEW_PASSWORD));
                execute(
                        server,
                        "app",
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'walsender'");
                // Which is sent to nobody then, so there is a lag.
                execute(server, "app", "SELECT pg_logical_emit_message(true, 'shardflake', 'later')");
            }
        });

        follow(PASSWORD);
    }

    @Test
    void aFullDisk() throws Exception {
        PostgresServer db1 = cluster.server(0);
        PostgresServer db2 = cluster.server(1);
        try (SmallDisk small = SmallDisk.ofLog(db2, "40m");
                SmallDisk log = SmallDisk.of(db1, "400m")) {
            reader.cause("db2 has room", small::makeRoom);
            reader.cause("db2 is gone", db2::crash);
            reader.cause("db1 has room", log::makeRoom);

            follow(FULL_DISK);
        }
    }

    @Test
    void anUpgradeStoppedHalfWay() throws Exception {
        FirstRelease.restore(database(0), database(1), database(2));

        follow(List.of(UPGRADE));
    }

    private TestDatabase database(int server) {
        return TestDatabase.existing(cluster.server(server), "app");
    }
}
