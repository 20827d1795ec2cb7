/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;
import org.shardflake.replication.Replication;

/** The commands of the guide's page on reference tables, in its order. */
class ReferenceCommandsIT {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private final CliInstallation installation = new CliInstallation(postgres);

    /** A database cannot be dropped while it has some of them. */
    @AfterEach
    void dropStreams() throws SQLException {
        for (int i = 0; i < 3; i++) {
            try (Connection connection = postgres.database(i).connect()) {
                for (String name : Sql.list(
                        connection,
                        "SELECT subname FROM pg_subscription WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())",
                        row -> row.getString(1))) {
                    Replication.dropSubscription(connection, name, "");
                }
            }
        }
        for (int i = 0; i < 3; i++) {
            try (Connection connection = postgres.database(i).connect()) {
                for (String name : Sql.list(
                        connection,
                        "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()",
                        row -> row.getString(1))) {
                    Replication.dropSlot(connection, name);
                }
            }
        }
    }

    private String file(String name, String changeSets) throws IOException {
        return Files.writeString(directory.resolve(name), "--liquibase formatted sql\n" + changeSets)
                .toString();
    }

    private Result deploy(String what, String changelog, String... more) {
        String[] command = new String[5 + more.length];
        System.arraycopy(
                new String[] {what, "deploy", "--changelog", changelog, "--search-path=" + directory},
                0,
                command,
                0,
                5);
        System.arraycopy(more, 0, command, 5, more.length);
        return installation.launch(command);
    }

    @Test
    @Tag("full")
    void thePageOfTheGuide() throws Exception {
        installation.init();
        assertThat(installation.launch("reference", "status")).isEqualTo(new Result(ExitCodes.PRECONDITION, "", """
                error: there are no reference tables
                hint: shardflake reference deploy --home SERVER --changelog FILE creates them
                """));
        String countries = file("reference.sql", """
                --changeset ann:country
                CREATE TABLE country (code text PRIMARY KEY, name text NOT NULL);
                INSERT INTO country VALUES ('DE', 'Germany'), ('FR', 'France');
                """);
        assertThat(deploy("reference", countries)).isEqualTo(new Result(ExitCodes.USAGE, "", """
                error: no server is the home of reference tables yet, where they are written
                hint: make one of db1, db2 their home: shardflake reference deploy --home SERVER --changelog FILE
                """));
        assertThat(deploy("reference", countries, "--home", "db1"))
                .isEqualTo(
                        new Result(0, "deployed 1 changeset to 2 servers; reference tables are written on db1\n", ""));
        assertThat(deploy("reference", countries).out())
                .isEqualTo("nothing to deploy: all servers match the changelog\n");
        Result shards = deploy("schema", file("shards.sql", """
                --changeset ann:customer
                CREATE TABLE customer (id bigint PRIMARY KEY, uid bigint NOT NULL, country text REFERENCES reference.country (code));
                CREATE INDEX ON customer (country);
                """));
        assertThat(shards.exitCode()).as(shards.toString()).isZero();

        installation.execute(1, "INSERT INTO shard_0005.customer (uid, country) VALUES (5, 'FR')");
        assertThat(installation.launch("reference", "delete", "country", "FR").err())
                .isEqualTo("""
                error: cannot ask whether to delete row FR of country on all servers: there is no terminal
                hint: add --yes; a row that shards refer to is not deleted
                """);
        assertThat(installation.launch("reference", "delete", "country", "FR", "--yes"))
                .isEqualTo(new Result(ExitCodes.PRECONDITION, "", """
                        error: row FR of reference.country is referred to by shard_0005.customer on db2; it was not deleted
                        hint: let those rows refer to another one, and run the same command again
                        """));
        installation.execute(1, "UPDATE shard_0005.customer SET country = 'DE'");
        assertThat(installation
                        .launch("reference", "delete", "country", "FR", "--yes")
                        .out())
                .isEqualTo("deleted row FR of country on all servers\n");
        assertThat(installation
                        .launch("reference", "delete", "nothing", "FR", "--yes")
                        .exitCode())
                .isEqualTo(ExitCodes.USAGE);

        assertThat(deploy("schema", file("shards.sql", """
                --changeset ann:colour
                CREATE TABLE colour (id int PRIMARY KEY, name text NOT NULL);
                INSERT INTO colour VALUES (1, 'red'), (2, 'blue');
                --changeset ann:car
                CREATE TABLE car (id bigint PRIMARY KEY, colour int REFERENCES colour);
                """)).exitCode()).isZero();
        assertThat(installation.launch("reference", "adopt", "colour").exitCode())
                .isEqualTo(ExitCodes.USAGE);
        deploy("reference", file("reference.sql", """
                --changeset ann:colour
                CREATE TABLE colour (id int PRIMARY KEY, name text NOT NULL);
                """));
        Result adopted = installation.launch("reference", "adopt", "colour");
        assertThat(adopted.err()).isEqualTo("copied 2 rows, the same in all 8 shards, into reference.colour\n");
        assertThat(adopted.out()).isEqualTo(changeSetOfThePage());
        assertThat(deploy("schema", file("shards.sql", adopted.out())).exitCode())
                .isZero();
        assertThat(installation.launch("reference", "adopt", "colour").exitCode())
                .isEqualTo(ExitCodes.PRECONDITION);

        assertThat(installation.launch("reference", "status").out()).matches("""
                reference.colour, reference.country

                SERVER +LAG +STATE
                db1 +home
                db2 +\\d+ ms +follows
                """);
        assertThat(installation.launch("reference", "status", "-o", "json").out())
                .matches(
                        "\\{\"home\":\"db1\",\"tables\":\\[\"reference.colour\",\"reference.country\"],\"servers\":\\[\\{\"server\":\"db2\",\"lagMillis\":\\d+}],\"unfinished\":\\[]}\n");
        assertThat(installation.launch("reference", "repair").out())
                .isEqualTo("db2 follows the home; 0 rows changed\n");
        assertThat(installation.launch("reference", "move", "--to", "db2").out())
                .isEqualTo("reference tables are written on db2\n");
        assertThat(installation
                        .launch("server", "add", "db3", installation.url(2))
                        .exitCode())
                .isZero();
        assertThat(installation.launch("reference", "status").out()).containsPattern("db3 +\\d+ ms +follows");
        assertThat(installation.launch("server", "remove", "db3", "--yes").exitCode())
                .isZero();
        assertThat(installation.launch("doctor").out()).doesNotContain("reference");
        assertThat(installation.launch("reference", "move", "--to", "db1").exitCode())
                .isZero();
    }

    private static String changeSetOfThePage() throws IOException {
        String page = Files.readString(Path.of("../src/docs/guide/reference-tables.md"));
        int from = page.indexOf("    --changeset reference:adopt-colour");
        return page.substring(from, page.indexOf("\n\n", from) + 1).replaceAll("(?m)^    ", "");
    }
}
