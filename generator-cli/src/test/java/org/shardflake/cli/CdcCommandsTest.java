/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;

/** Tests what the commands print. Their effects are tested by {@code ChangeStreamTest}. */
class CdcCommandsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private final CliInstallation installation = new CliInstallation(postgres);

    @BeforeEach
    void init() throws SQLException {
        installation.init();
    }

    @Test
    void aStreamIsCreatedShownAndDropped() throws SQLException {
        assertThat(installation.launch("cdc", "status").out()).contains("db1").contains("not published");

        Result created = installation.launch("cdc", "create");
        assertThat(created.exitCode()).as(created.toString()).isZero();
        assertThat(created.out()).containsPattern("db2 +0 +as the map has it");

        try (Connection connection = postgres.database(0).connect();
                Statement statement = connection.createStatement()) {
            statement.execute("SELECT pg_create_logical_replication_slot('shardflake_cdc_search', 'pgoutput')");
            statement.execute("CREATE SCHEMA shard_0000; CREATE TABLE shard_0000.note (id bigint PRIMARY KEY)");
        }
        Result status = installation.launch("cdc", "status");
        assertThat(status.exitCode()).as(status.toString()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(status.out()).containsPattern("db1 +0 +1 table missing: shard_0000.note +shardflake_cdc_search");
        assertThat(installation.launch("cdc", "create").out()).containsPattern("db1 +1 +as the map has it");
        assertThat(installation.launch("cdc", "status", "-o", "json").out())
                .startsWith(
                        "[{\"server\":\"db1\",\"published\":true,\"current\":true,\"tables\":1,\"missing\":[],\"surplus\":[],\"readers\":[{\"slot\":\"shardflake_cdc_search\",\"active\":false,\"lost\":false,\"keptBytes\":");

        assertThat(installation
                        .launch("server", "add", "db3", installation.url(2))
                        .exitCode())
                .isZero();
        assertThat(installation.launch("cdc", "status").out()).containsPattern("db3 +0 +as the map has it");

        assertThat(installation.launch("cdc", "drop").exitCode()).isEqualTo(ExitCodes.USAGE);
        assertThat(installation.launch("cdc", "drop", "--yes"))
                .isEqualTo(new Result(ExitCodes.OK, "dropped the change stream\n", ""));
        assertThat(installation.launch("cdc", "status").out())
                .contains("not published")
                .doesNotContain("shardflake_cdc_search");
        assertThat(installation.launch("cdc", "drop", "--yes"))
                .isEqualTo(
                        new Result(
                                ExitCodes.PRECONDITION,
                                "",
                                "error: no server has the change stream, or a slot of its readers\nhint: there is nothing to drop\n"));
    }
}
