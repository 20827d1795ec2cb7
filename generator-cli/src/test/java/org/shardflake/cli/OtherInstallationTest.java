/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;

/** No command takes a server of another installation for its own, and a clone becomes an installation of its own by one. */
class OtherInstallationTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    private Path directory;

    private final CliInstallation installation = new CliInstallation(postgres);

    /** One of 8 shards on the first two servers, and one of 16 on the third, with its catalog there. */
    @BeforeEach
    void twoInstallations() throws Exception {
        if (!postgres.restore("two")) {
            succeed(0, "init", "--shards=8", "--server=db1=" + url(0), "--server=db2=" + url(1));
            succeed(2, "init", "--shards=16", "--server=other=" + url(2));
            Path changelog = Files.writeString(directory.resolve("photos.sql"), """
                    --liquibase formatted sql
                    --changeset ann:photo
                    CREATE TABLE photo (id bigint PRIMARY KEY, title text);
                    """);
            for (int catalog : new int[] {0, 2}) {
                succeed(catalog, "schema", "deploy", "--changelog=" + changelog, "--search-path=" + directory);
            }
            postgres.save("two");
        }
    }

    private String url(int server) {
        return installation.url(server);
    }

    private Result launch(String catalog, String... args) {
        return Cli.launch(
                InputStream.nullInputStream(),
                Map.of("SHARDFLAKE_CATALOG", catalog, "PGPASSWORD", installation.password()),
                args);
    }

    private Result succeed(int catalog, String... args) {
        Result result = launch(url(catalog), args);
        assertThat(result.exitCode()).as(result.toString()).isZero();
        return result;
    }

    private void refuses(int catalog, String said, String... args) {
        Result result = launch(url(catalog), args);
        assertThat(result.exitCode()).as(result.toString()).isEqualTo(4);
        assertThat(result.err()).contains(said).contains("Nothing was changed");
    }

    @Test
    void noCommandTakesAServerOfAnotherInstallation() throws Exception {
        String whose = "db1 belongs to another installation, ";
        refuses(2, "server " + whose, "server", "add", "db1", url(0));
        refuses(2, "server other belongs to", "server", "change", "other", url(0));
        Path map = directory.resolve("map.yaml");
        succeed(2, "map", "export", "--file=" + map);
        Files.writeString(map, Files.readString(map).replace(url(2), url(0)));
        refuses(2, "server other belongs to", "map", "import", map.toString());
        Result init = launch("", "init", "--shards=8", "--catalog=" + url(2), "--server=db1=" + url(0));
        assertThat(init.exitCode()).as(init.toString()).isEqualTo(4);

        // Someone does it by hand.
        installation.execute(2, "UPDATE shardflake_catalog.server SET url = '%s'".formatted(url(1)));
        Result doctor = launch(url(2), "doctor");
        assertThat(doctor.exitCode()).isEqualTo(5);
        assertThat(doctor.out())
                .containsPattern("problem +other +other-installation +belongs to another installation, ")
                .doesNotContain("reconcile", "propose-map", "drop_shard", "schema deploy");
        assertThat(launch(url(2), "reconcile").exitCode()).isEqualTo(5);
        Result proposal = launch(url(2), "doctor", "--propose-map=" + map);
        assertThat(proposal.out()).doesNotContain("wrote");
        refuses(2, "server other belongs to", "upgrade");
        assertThat(installation.query(1, "SELECT shard_count FROM shardflake.installation"))
                .isEqualTo("8");
        assertThat(launch(url(0), "doctor").out()).endsWith("nothing found\n");
    }

    @Test
    void anInstallationOfAnOlderVersionLearnsItByUpgrade() throws SQLException {
        installation.execute(1, "DELETE FROM shardflake.installation");

        assertThat(launch(url(0), "doctor").out()).contains("installation-unknown of db2: shardflake upgrade");
        Result add = launch(url(2), "server", "add", "db2", url(1));
        assertThat(add.exitCode()).isEqualTo(4);
        assertThat(add.err())
                .contains("server db2 has shards 4-7, and does not remember to which installation it belongs");
        succeed(0, "upgrade");

        assertThat(launch(url(0), "doctor").out()).endsWith("nothing found\n");
        refuses(2, "server db2 belongs to another installation", "server", "add", "db2", url(1));
    }

    @Test
    void aCatalogThatIsLostForGoodIsMadeAgain() throws SQLException {
        String before = installation.query(0, "SELECT id FROM shardflake.installation");
        installation.execute(0, "DROP SCHEMA shardflake_catalog CASCADE");
        String[] init = {"init", "--shards=8", "--server=db1=" + url(0), "--server=db2=" + url(1)};

        Result refused = launch(url(0), init);
        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(4);
        assertThat(refused.err())
                .contains("shardflake init --catalog-lost --shards 8 --server NAME=URL with all of its servers");
        succeed(0, init[0], init[1], init[2], init[3], "--catalog-lost");

        assertThat(installation.query(0, "SELECT id FROM shardflake_catalog.installation"))
                .isEqualTo(before);
        assertThat(launch(url(0), "doctor").out()).endsWith("nothing found\n");
    }

    @Test
    void aCloneIsSeparatedFromItsOriginal() throws SQLException {
        String one = clone(0);
        String two = clone(1);
        try {
            Result same = launch(one, "separate", "--server=db1=" + url(0), "--server=db2=" + url(1), "--yes");
            assertThat(same.exitCode()).as(same.toString()).isEqualTo(4);
            assertThat(same.err()).contains("these are the addresses that the catalog has");
            Result half = launch(one, "separate", "--server=db1=" + one, "--yes");
            assertThat(half.exitCode()).as(half.toString()).isEqualTo(2);
            Result crossed = launch(one, "separate", "--server=db1=" + one, "--server=db2=" + url(0), "--yes");
            assertThat(crossed.exitCode()).as(crossed.toString()).isEqualTo(4);
            assertThat(crossed.err()).contains("the address given for db2 leads to the original's db1");

            Result separated = launch(one, "separate", "--server=db1=" + one, "--server=db2=" + two, "--yes");
            assertThat(separated.exitCode()).as(separated.toString()).isZero();

            assertThat(launch(one, "doctor").out()).endsWith("nothing found\n");
            assertThat(launch(url(0), "doctor").out()).endsWith("nothing found\n");
            Result crossing = launch(one, "server", "change", "db2", url(1));
            assertThat(crossing.err()).contains("server db2 belongs to another installation");
            // As if it had been interrupted before its last server.
            onClone(
                    two,
                    "UPDATE shardflake.installation SET id = '%s'"
                            .formatted(installation.query(0, "SELECT id FROM shardflake.installation")));
            assertThat(launch(one, "doctor").exitCode()).isEqualTo(5);
            assertThat(launch(one, "separate", "--server=db1=" + one, "--server=db2=" + two, "--yes")
                            .exitCode())
                    .isZero();
            assertThat(launch(one, "doctor").out()).endsWith("nothing found\n");
        } finally {
            drop(0);
            drop(1);
        }
    }

    private String name(int server) {
        return postgres.database(server).name() + "_clone";
    }

    private String clone(int server) throws SQLException {
        try (Connection connection = postgres.database(server).server().connect()) {
            Sql.call(
                    connection,
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = ?",
                    postgres.database(server).name());
            Sql.execute(
                    connection,
                    "CREATE DATABASE %s TEMPLATE %s"
                            .formatted(name(server), postgres.database(server).name()));
        }
        return url(server).replace(postgres.database(server).name(), name(server));
    }

    private void onClone(String url, String sql) throws SQLException {
        try (Connection connection = postgres.database(1).server().connect(url.substring(url.lastIndexOf('/') + 1))) {
            Sql.execute(connection, sql);
        }
    }

    private void drop(int server) throws SQLException {
        try (Connection connection = postgres.database(server).server().connect()) {
            Sql.execute(connection, "DROP DATABASE IF EXISTS %s WITH (FORCE)".formatted(name(server)));
        }
    }
}
