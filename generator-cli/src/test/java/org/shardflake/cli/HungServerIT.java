/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;

/** The catalog and db1 on one server, and db2 on another that is frozen: connections stay open, nothing answers. */
@Tag("full")
@Execution(ExecutionMode.CONCURRENT)
class HungServerIT {

    @TempDir
    Path directory;

    private PostgresCluster cluster;

    @BeforeEach
    void start() {
        cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(2)
                .start();
        Result result = launch("init", "--shards=4", "--server=db1=" + url(0), "--server=db2=" + url(1));
        assertThat(result.exitCode()).as(result.toString()).isZero();
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private String url(int server) {
        return cluster.server(server).uri("postgres") + "?connect_timeout=2";
    }

    private Result launch(String... args) {
        return Cli.launch(InputStream.nullInputStream(), Map.of("SHARDFLAKE_CATALOG", url(0)), args);
    }

    @Test
    void doctorFindsIt() {
        cluster.server(1).freeze();

        Result doctor = launch("doctor");

        assertThat(doctor.exitCode()).as(doctor.toString()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(doctor.out()).containsPattern("problem +db2 +server-readable ");
        assertThat(doctor.out()).containsPattern("problem +db1 +shard-missing ");
    }

    @Test
    void aCommandThatIsNotLetInEnds() {
        cluster.server(0).freeze();

        Result shown = launch("map", "show");

        assertThat(shown.exitCode()).as(shown.toString()).isEqualTo(ExitCodes.FAILURE);
        assertThat(shown.err()).contains("error: cannot connect to catalog ");
    }

    @Test
    void aStatementUnderWayEnds() throws Exception {
        Path changelog = changelog("SELECT pg_sleep(3600)");
        CompletableFuture<Result> deploying = CompletableFuture.supplyAsync(() ->
                launch("schema", "deploy", "--changelog=" + changelog, "--search-path=" + directory, "--servers=db2"));
        await().atMost(Duration.ofMinutes(2)).until(() -> sleepers() > 0);
        cluster.server(1).freeze();

        Result deployed = deploying.get(8, TimeUnit.MINUTES);

        assertThat(deployed.exitCode()).as(deployed.toString()).isEqualTo(ExitCodes.FAILURE);
        assertThat(deployed.err())
                .contains("error: the deployment on server db2 ended early")
                .contains(" has not answered for 60 s");
    }

    @Test
    void aStatementThatTakesLongerThanTheLimitIsLeftAlone() throws IOException {
        Path changelog = changelog("SELECT pg_sleep(75)");

        Result deployed =
                launch("schema", "deploy", "--changelog=" + changelog, "--search-path=" + directory, "--shards=0,2");

        assertThat(deployed.exitCode()).as(deployed.toString()).isZero();
    }

    private Path changelog(String statement) throws IOException {
        return Files.writeString(
                directory.resolve("slow.sql"),
                "--liquibase formatted sql\n--changeset ann:slow\n%s;\n".formatted(statement));
    }

    private long sleepers() throws SQLException {
        try (Connection connection = cluster.server(1).connect();
                Statement statement = connection.createStatement();
                ResultSet row =
                        statement.executeQuery("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")) {
            row.next();
            return row.getLong(1);
        }
    }
}
