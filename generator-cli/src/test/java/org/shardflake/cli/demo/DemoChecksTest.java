/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.Writer;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.Sharding;
import org.shardflake.cli.output.Progress;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.router.ShardRouter;

/** The demo's checks find what they look for. */
class DemoChecksTest {

    private static final int ROWS = 40;
    private static final int SHARDS = 4;

    private static final Progress.Factory SILENT = Progress.on(new PrintWriter(Writer.nullWriter()), false);

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private List<DemoServer> servers = List.of();

    @BeforeEach
    void deployAndLoad() throws SQLException, InterruptedException {
        TestDatabase first = postgres.database(0);
        DemoInstallation installation = new DemoInstallation(
                List.of(first.server(), postgres.database(1).server()), first.name(), new Sharding(SHARDS));
        servers = installation.servers();
        execute(
                "DROP SCHEMA IF EXISTS shardflake, shardflake_deploy, shardflake_catalog, shard_0000, shard_0001, shard_0002, shard_0003 CASCADE");
        new DemoSchema(SILENT).deploy(installation.create(), SHARDS);
        try (ShardRouter router = installation.router()) {
            new DemoLoad(router, SILENT).write(servers, ROWS);
        }
    }

    @Test
    void passesWhatWasWrittenAsItShould() throws SQLException {
        DemoReport report = check();

        assertThat(report.passed()).isTrue();
        assertThat(report.rows()).isEqualTo(ROWS);
        assertThat(report.samples()).hasSize(3);
    }

    @Test
    @Tag("full")
    void findsAMissingRow() throws SQLException {
        execute("DELETE FROM shard_0001.\"like\" WHERE id = (SELECT max(id) FROM shard_0001.\"like\")", 1);
        execute("DELETE FROM shard_0000.\"like\" WHERE id = (SELECT max(id) FROM shard_0000.\"like\")", 0);

        DemoReport report = check();

        assertThat(report.rowsMissing()).isPositive();
        assertThat(report.passed()).isFalse();
    }

    @Test
    void findsAnIdOfAnotherShard() throws SQLException {
        execute("ALTER TABLE shard_0000.photo DROP CONSTRAINT id_of_shard", 0);
        execute("INSERT INTO shard_0000.photo (id, uid, title) VALUES (shardflake.next_id(2), 4, 'strayed')", 0);

        DemoReport report = check();

        assertThat(report.wrongShard()).isEqualTo(1);
        assertThat(report.passed()).isFalse();
    }

    @Test
    @Tag("full")
    void findsAUidOfAnotherShard() throws SQLException {
        execute("INSERT INTO shard_0000.photo (uid, title) VALUES (5, 'strayed')", 0);

        assertThat(check().wrongShard()).isEqualTo(1);
    }

    @Test
    void findsAnIdThatStandsTwice() throws SQLException {
        execute("ALTER TABLE shard_0001.photo DROP CONSTRAINT id_of_shard", 1);
        execute("ALTER TABLE shard_0003.photo DROP CONSTRAINT id_of_shard", 1);
        execute("INSERT INTO shard_0001.photo (id, uid, title) VALUES (11637205501278089, 5, 'one')", 1);
        execute("INSERT INTO shard_0003.photo (id, uid, title) VALUES (11637205501278089, 3, 'two')", 1);

        DemoReport report = check();

        assertThat(report.duplicates()).isEqualTo(1);
        assertThat(report.passed()).isFalse();
    }

    @Test
    @Tag("full")
    void findsAnIdBelowTheOneBefore() throws SQLException {
        execute("INSERT INTO shard_0000.photo (uid, title) VALUES (0, 'first')", 0);
        execute(
                "INSERT INTO shard_0000.photo (id, uid, title, created_at)"
                        + " SELECT min(id) - 1024 * 8192 * 100, 0, 'late', now() FROM shard_0000.photo",
                0);

        DemoReport report = check();

        assertThat(report.notIncreasing()).isEqualTo(1);
        assertThat(report.passed()).isFalse();
    }

    @Test
    @Tag("full")
    void findsATimeThatIsWrong() throws SQLException {
        execute(
                "INSERT INTO shard_0000.photo (uid, title, created_at) VALUES (0, 'old', now() - interval '1 hour')",
                0);

        DemoReport report = check();

        assertThat(report.largestDifferenceMillis()).isGreaterThan(3_599_000);
        assertThat(report.passed()).isFalse();
    }

    private DemoReport check() throws SQLException {
        return new DemoChecks(new Sharding(SHARDS), SILENT).read(servers, new DemoLoad.Written(ROWS, 1));
    }

    private void execute(String sql) throws SQLException {
        execute(sql, 0);
        execute(sql, 1);
    }

    private void execute(String sql, int server) throws SQLException {
        try (Connection connection = servers.get(server).connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
