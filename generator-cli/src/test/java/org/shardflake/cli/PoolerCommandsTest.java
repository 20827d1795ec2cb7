/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.NeededPrograms;
import org.shardflake.cluster.PgBouncer;
import org.shardflake.cluster.PostgresExtension;

/** PgBouncer in transaction mode before the first server, where a command looks for the server itself. */
class PoolerCommandsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private final CliInstallation installation = new CliInstallation(postgres);

    @SuppressWarnings("NullAway.Init") // by begin
    private PgBouncer pooler;

    @BeforeEach
    void begin() throws SQLException {
        NeededPrograms.assume(PgBouncer.isInstalled(), "pgbouncer");
        installation.init();
        pooler = PgBouncer.before(postgres.database(0).server());
    }

    @AfterEach
    void stop() {
        if (pooler != null) {
            pooler.close();
        }
    }

    private String pooled() {
        return pooler.uri(postgres.database(0).name());
    }

    private void refuses(Result result) {
        assertThat(result.exitCode()).as(result.toString()).isEqualTo(4);
        assertThat(result.err())
                .contains("is a pooler that changes sessions between transactions")
                .contains("hint: give the URL of the server itself");
    }

    @Test
    void noCommandTakesAPoolerForAServer() throws Exception {
        Path changelog = Files.writeString(
                directory.resolve("app.sql"),
                "--liquibase formatted sql\n--changeset ann:photo\nCREATE TABLE photo (id bigint PRIMARY KEY);\n");
        refuses(installation.launch("server", "change", "db1", "--url", pooled()));
        installation.execute(
                0, "UPDATE shardflake_catalog.server SET url = '%s' WHERE name = 'db1'".formatted(pooled()));

        refuses(installation.launch("schema", "deploy", "--changelog=" + changelog, "--search-path=" + directory));
        refuses(installation.launch("move", "run", "--shards=0", "--to=db2"));
        refuses(installation.launch("move", "run", "--shards=7", "--to=db1"));
        Result doctor = installation.launch("doctor");
        assertThat(doctor.exitCode()).isEqualTo(5);
        assertThat(doctor.out())
                .containsPattern("problem +db1 +pooler-on-direct-address ")
                .contains("shardflake server change db1 --url URL_OF_THE_SERVER --application-url URL_OF_THE_POOLER");

        installation.execute(
                0, "UPDATE shardflake_catalog.server SET url = '%s' WHERE name = 'db1'".formatted(installation.url(0)));
    }

    @Test
    void noChangeGoesToTheCatalogThroughAPooler() {
        refuses(with("server", "change", "db1", "--label=zone=a"));
        refuses(with("init", "--server=db3=" + installation.url(2)));
        assertThat(with("map", "show").exitCode()).isZero();
    }

    private Result with(String... args) {
        return Cli.launch(InputStream.nullInputStream(), Map.of("SHARDFLAKE_CATALOG", pooled()), args);
    }

    @Test
    void aPoolerForApplicationsIsNoFinding() {
        assertThat(installation
                        .launch("server", "change", "db1", "--application-url", pooled() + "?prepareThreshold=0")
                        .exitCode())
                .isZero();

        assertThat(installation.launch("doctor").out()).doesNotContain("pooler").doesNotContain("application-url");
    }

    @Test
    void doctorFindsAUrlForApplicationsThatLeadsElsewhereOrNowhere() {
        String elsewhere = pooler.uri("postgres");
        installation.launch("server", "change", "db1", "--application-url", elsewhere);
        installation.launch(
                "server", "change", "db2", "--application-url", elsewhere.replaceFirst("/postgres$", "/nowhere"));

        assertThat(installation.launch("doctor").out())
                .containsPattern("problem +db1 +application-url +has .* leads to another database")
                .containsPattern("warning +db2 +application-url +has .* where this user cannot look");
    }
}
