/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardflake.LayoutMismatchException.Property;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.sql.FunctionLibrary;

class DeployedLayoutTest {

    private static final IdLayout LAYOUT = new IdLayout(1_293_840_000_000L);

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(1)
            .prepare(connection -> FunctionLibrary.deploy(connection, LAYOUT.epochMillis()));

    private Connection connection;
    private String database;

    @BeforeEach
    void connect() throws SQLException {
        connection = postgres.database(0).connect();
        connection.setAutoCommit(false);
        database = postgres.database(0).name();
    }

    @AfterEach
    void undo() throws SQLException {
        if (!connection.isClosed()) {
            connection.rollback();
            connection.close();
        }
    }

    @Test
    void readsWhatTheDatabaseRecords() throws SQLException {
        assertThat(DeployedLayout.read(connection)).isEqualTo(LAYOUT);
        DeployedLayout.require(connection, LAYOUT);
    }

    @Test
    void refusesAnotherEpoch() {
        assertThatExceptionOfType(LayoutMismatchException.class)
                .isThrownBy(() -> DeployedLayout.require(connection, IdLayout.DEFAULT))
                .withMessage(
                        "database %s makes ids with epoch 1293840000000 (2011-01-01T00:00:00Z) "
                                + "instead of 1735689600000 (2025-01-01T00:00:00Z); "
                                + "an epoch never changes, so use the recorded one",
                        database)
                .satisfies(mismatch -> {
                    assertThat(mismatch.database()).isEqualTo(database);
                    assertThat(mismatch.property()).isEqualTo(Property.EPOCH);
                    assertThat(mismatch.expected()).isEqualTo(1_735_689_600_000L);
                    assertThat(mismatch.found()).isEqualTo(1_293_840_000_000L);
                });
    }

    @Test
    void refusesAnUnknownLayoutVersion() throws SQLException {
        changeRecord("layout_version = 2");

        assertThatExceptionOfType(LayoutMismatchException.class)
                .isThrownBy(() -> DeployedLayout.read(connection))
                .withMessage(
                        "database %s makes ids of layout version 2, this program knows version 1; "
                                + "use a matching release of Shardflake",
                        database)
                .satisfies(mismatch -> assertThat(mismatch.property()).isEqualTo(Property.VERSION));
    }

    @Test
    void refusesARecordThatTheFunctionsContradict() throws SQLException {
        changeRecord("epoch_ms = 0");

        assertThatExceptionOfType(LayoutMismatchException.class)
                .isThrownBy(() -> DeployedLayout.read(connection))
                .withMessage(
                        "database %s records epoch 0 (1970-01-01T00:00:00Z) in shardflake.layout, "
                                + "but shardflake.epoch_ms() returns 1293840000000 (2011-01-01T00:00:00Z); "
                                + "deploy the function library again",
                        database)
                .satisfies(mismatch -> assertThat(mismatch.property()).isEqualTo(Property.EPOCH_FUNCTION));
    }

    @ParameterizedTest
    @CsvSource({
        "DROP SCHEMA shardflake CASCADE,                              table shardflake.layout is missing",
        "DROP TABLE shardflake.layout,                                table shardflake.layout is missing",
        "ALTER TABLE shardflake.layout RENAME epoch_ms TO epoch,      table shardflake.layout has other columns",
        "ALTER FUNCTION shardflake.epoch_ms() RENAME TO epoch_millis, function shardflake.epoch_ms() is missing",
        "ALTER TABLE shardflake.layout DISABLE TRIGGER ALL; DELETE FROM shardflake.layout, table shardflake.layout is empty",
    })
    void saysThatTheLibraryIsNotDeployed(String change, String missing) throws SQLException {
        execute(change);

        assertThatExceptionOfType(LibraryNotDeployedException.class)
                .isThrownBy(() -> DeployedLayout.read(connection))
                .withMessage(
                        "the shardflake function library is not deployed in database %s: %s; deploy it there first, "
                                + "with FunctionLibrary.deploy or the changelog shardflake/server.changelog.xml",
                        database, missing)
                .satisfies(notDeployed -> assertThat(notDeployed.database()).isEqualTo(database));
    }

    @Test
    void aRoleThatMayUseTheFunctionsMayRead() throws SQLException {
        execute("CREATE ROLE stranger");
        execute("GRANT USAGE ON SCHEMA shardflake TO stranger");
        execute("SET LOCAL ROLE stranger");

        assertThat(DeployedLayout.read(connection)).isEqualTo(LAYOUT);
    }

    @Test
    void passesOnOtherFailures() throws SQLException {
        connection.close();

        assertThatExceptionOfType(SQLException.class).isThrownBy(() -> DeployedLayout.read(connection));
    }

    private void changeRecord(String assignment) throws SQLException {
        execute("ALTER TABLE shardflake.layout DISABLE TRIGGER ALL");
        execute("UPDATE shardflake.layout SET " + assignment);
    }

    private void execute(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }
}
