/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.PostgresExtension;

/** Messages and refusals that a team with Flyway's files sees; the engine's tests compare the effects with Flyway's. */
class FlywayCommandsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private final CliInstallation installation = new CliInstallation(postgres);

    @TempDir
    private Path directory;

    @BeforeEach
    void begin() throws SQLException {
        installation.init();
    }

    private void write(String file, String text) throws IOException {
        Path path = directory.resolve(file);
        Files.createDirectories(Objects.requireNonNull(path.getParent()));
        Files.writeString(path, text);
    }

    private Result launch(String group, String verb, String... options) {
        List<String> arguments = new ArrayList<>(List.of(group, verb, "--changelog=flyway:" + directory));
        arguments.addAll(List.of(options));
        return installation.launch(arguments.toArray(String[]::new));
    }

    private void writePhotos() throws IOException {
        write("V1__photos.sql", "CREATE TABLE ${flyway:defaultSchema}.photo (id bigint PRIMARY KEY, title ${type});\n");
        write("2026/V2.1__by_title.sql", "CREATE INDEX CONCURRENTLY photo_title ON photo (title);\n");
        write("R__titles.sql", "CREATE OR REPLACE VIEW titles AS SELECT title FROM photo;\n");
        write("U1__photos.sql", "DROP TABLE photo;\n");
    }

    @Test
    void deploysMigrationsAndSaysWhichShardsHaveThem() throws IOException, SQLException {
        writePhotos();

        Result deployed = launch("schema", "deploy", "--parameter=type=text");
        assertThat(deployed.exitCode()).as(deployed.toString()).isZero();
        assertThat(deployed.out()).isEqualTo("""
                        SERVER  SHARDS  DEPLOYED  UP TO DATE  FAILED
                        db1     4       4         0           0
                        db2     4       4         0           0
                        """);
        assertThat(installation.launch("schema", "status").out()).isEqualTo("""
                        SERVER  COUNT  SHARDS  CHANGESETS  LAST CHANGESET
                        db1     4      0-3     3           flyway::R::titles
                        db2     4      4-7     3           flyway::R::titles
                        """);
        assertThat(installation.query(
                        1,
                        "SELECT string_agg(indexname, ' ' ORDER BY 1) FROM pg_indexes WHERE schemaname = 'shard_0007'"))
                .isEqualTo("photo_pkey photo_title");

        write("R__titles.sql", "CREATE OR REPLACE VIEW titles AS SELECT title, id FROM photo;\n");
        assertThat(launch("schema", "status").out()).contains("8 shards would be changed by");
        assertThat(launch("schema", "deploy", "--parameter=type=text", "--dry-run", "--shards=7")
                        .out())
                .isEqualTo("""
                        SERVER  SHARDS TO DEPLOY
                        db2     1

                        FOR SHARD 7
                        SET search_path = shard_0007, public;
                        -- flyway::R::titles
                        CREATE OR REPLACE VIEW titles AS SELECT title, id FROM photo;
                        SELECT shardflake.complete_tables(7);
                        """);
    }

    @Test
    void whatShardsCannotHaveIsRefusedByNameBeforeAnyIsChanged() throws IOException, SQLException {
        write("beforeMigrate.sql", "SELECT 1");
        write("afterEachMigrate__vacuum.sql", "VACUUM");
        write("B3__all.sql", "SELECT 1");
        write("V2__Photos.java", "");
        write("V2_photos.sql", "SELECT 1");
        write("photos.sql", "SELECT 1");
        write("V3__a.sql", "SELECT 1");
        write("more/V3.0__b.sql", "SELECT 1");
        Result refused = launch("schema", "deploy");
        assertThat(refused.exitCode()).isEqualTo(1);
        assertThat(refused.err())
                .contains(
                        "beforeMigrate.sql is a callback, and shards run migrations only",
                        "afterEachMigrate__vacuum.sql is a callback",
                        "B3__all.sql is a baseline migration",
                        "V2__Photos.java is a program, which does not run in a shard: write SQL",
                        "Invalid versioned migration name format: V2_photos.sql (could not recognise version number 2_photos)",
                        "Unrecognised migration name format: photos.sql",
                        "Found more than one migration with version 3",
                        "V3__a.sql",
                        "more/V3.0__b.sql");

        for (String file : List.of(
                "beforeMigrate.sql",
                "afterEachMigrate__vacuum.sql",
                "B3__all.sql",
                "V2__Photos.java",
                "V2_photos.sql",
                "photos.sql",
                "more/V3.0__b.sql")) {
            Files.delete(directory.resolve(file));
        }
        write("V4__copy.sql", "CREATE TABLE t (id int PRIMARY KEY);\nCOPY t FROM STDIN;\n1\n\\.\n");
        write("V5__user.sql", "COMMENT ON SCHEMA ${flyway:defaultSchema} IS '${flyway:user}'");
        write("V6__unknown.sql", "SELECT '${unknown}'");
        write("V7__mixed.sql", "CREATE TABLE u (id int PRIMARY KEY); CREATE INDEX CONCURRENTLY ON u (id)");
        write("V8__other.sql", "CREATE TABLE public.v (id int PRIMARY KEY)");
        write("V9__system.sql", "ALTER SYSTEM SET work_mem = '1GB'");
        Result stray = launch("schema", "deploy");
        assertThat(stray.exitCode()).isEqualTo(4);
        assertThat(stray.err())
                .contains(
                        "6 changesets cannot be deployed to shards. No shard was changed",
                        "changeset flyway::4::copy has COPY FROM STDIN",
                        "changeset flyway::5::user has placeholder ${flyway:user}, whose value would depend",
                        "changeset flyway::6::unknown has placeholder ${unknown}, for which no parameter is given",
                        "changeset flyway::7::mixed has both transactional and non-transactional statements",
                        "changeset flyway::8::other (V8__other.sql, line 1) names schema public",
                        "changeset flyway::9::system has ALTER SYSTEM");
        assertThat(installation.query(0, "SELECT to_regnamespace('shard_0000')"))
                .isEqualTo("null");

        write("V3__a.sql.conf", "shouldExecute=false\n");
        assertThat(launch("schema", "deploy").err())
                .contains("V3__a.sql.conf has shouldExecute, and shards have all migrations");
        assertThat(installation
                        .launch("schema", "deploy", "--changelog=flyway:")
                        .err())
                .contains("flyway: lacks the directory of the migrations, as in flyway:db/migration");
        assertThat(installation
                        .launch("schema", "deploy", "--changelog=flyway:" + directory.resolve("absent"))
                        .err())
                .contains("there is no directory ", "absent");
    }

    @Test
    void aLowerVersionIsRefusedUnlessItIsAskedFor() throws IOException {
        writePhotos();
        launch("schema", "deploy", "--parameter=type=text");
        write("V1.5__late.sql", "ALTER TABLE photo ADD COLUMN late int;");

        Result refused = launch("schema", "deploy", "--parameter=type=text");
        assertThat(refused.exitCode()).isEqualTo(4);
        assertThat(refused.err()).isEqualTo("""
                error: shard 0 on server db1: Detected resolved migration not applied to database: 1.5 (and 7 more)
                hint: give it a version after 2.1, or deploy it out of order: shardflake schema deploy --out-of-order --changelog FILE
                """);
        assertThat(launch("schema", "deploy", "--parameter=type=text", "--out-of-order")
                        .out())
                .contains("db1     4       4 ");

        write("V1.5__late.sql", "ALTER TABLE photo ADD COLUMN later int;");
        assertThat(launch("schema", "deploy", "--parameter=type=text").err())
                .startsWith("error: shard 0 on server db1: Migration checksum mismatch for migration version 1.5")
                .endsWith("hint: write a new migration instead, or undo the edit\n");
    }

    @Test
    void commandsThatFlywayHasNoFilesForSaySo() throws IOException {
        writePhotos();
        launch("schema", "deploy", "--parameter=type=text");

        Result rollback = launch("schema", "rollback", "--parameter=type=text", "--count=1", "--yes");
        assertThat(rollback.exitCode()).as(rollback.toString()).isEqualTo(4);
        assertThat(rollback.err()).isEqualTo("""
                error: migrations of Flyway cannot be rolled back. No shard was changed
                hint: write another migration that undoes the last
                """);
        assertThat(launch("reference", "deploy", "--home=db1")).isEqualTo(new Result(4, "", """
                        error: reference tables have a changelog of Liquibase's, and not Flyway's migrations: write one, in formatted SQL for example
                        """));
    }
}
