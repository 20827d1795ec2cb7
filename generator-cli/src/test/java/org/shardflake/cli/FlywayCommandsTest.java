/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.zip.CRC32;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
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
                        .launch("schema", "deploy", "--changelog=" + directory)
                        .err())
                .isEqualTo("""
                        error: cannot read changelog %1$s: it is a directory
                        hint: for the migrations of Flyway in it, write flyway:%1$s
                        """.formatted(directory));
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

    @Test
    @Tag("full")
    void shardsOfAPlanTakeOverTheHistoryOfTheOldDatabase(@TempDir Path plans) throws IOException, SQLException {
        String account =
                "CREATE TABLE account (uid bigint PRIMARY KEY, name text); CREATE TABLE note (id uuid PRIMARY KEY, uid bigint NOT NULL REFERENCES account);";
        CRC32 checksum = new CRC32();
        checksum.update(account.getBytes(StandardCharsets.UTF_8));
        installation.execute(2, """
                CREATE TABLE flyway_schema_history (installed_rank int PRIMARY KEY, version text, description text, type text, script text, checksum int,
                    installed_by text, installed_on timestamp, execution_time int, success boolean);
                INSERT INTO flyway_schema_history VALUES (1, '1', 'account', 'SQL', 'V1__account.sql', %s, '', now(), 1, true),
                    (2, NULL, 'outside', 'SQL', 'R__outside.sql', 7, '', now(), 1, true);
                CREATE TABLE databasechangelog (id text, author text, filename text, orderexecuted int);
                INSERT INTO databasechangelog VALUES ('2', 'ann', 'db/app.sql', 1);
                %s
                """.formatted((int) checksum.getValue(), account));
        write("V1__account.sql", account);
        Path plan = plans.resolve("adoption.yaml");
        String from = postgres.database(2).uri();

        Result planned = installation.launch("adopt", "plan", "--from=" + from, "--key=account.uid", "--file=" + plan);
        assertThat(planned.out())
                .contains(
                        "2 tables by account.uid: 2 into the shards, 0 reference tables, 0 stay",
                        "Flyway's history, public.flyway_schema_history, whose last version is 1",
                        "Liquibase's history, public.databasechangelog, whose last changeset is db/app.sql::2::ann",
                        "shardflake schema deploy --changelog flyway:db/migration --flyway-history "
                                + plans.resolve("adoption.flyway.yaml"));

        String history = "--flyway-history=" + plans.resolve("adoption.flyway.yaml");
        assertThat(launch("schema", "deploy", history).err()).isEqualTo("""
                error: shard 0 on server db1: it has none of the tables that this history is about (and 15 more)
                hint: deploy the planned changelog to it first: shardflake schema deploy --changelog FILE
                """);
        String changelog = "--changelog=" + plans.resolve("shards.sql");
        assertThat(installation.launch("schema", "deploy", changelog).exitCode())
                .isZero();
        assertThat(installation.launch("schema", "deploy", changelog, history)).isEqualTo(new Result(2, "", """
                error: --flyway-history is for migrations of Flyway, as in --changelog flyway:db/migration
                """));
        Path broken = Files.writeString(plans.resolve("broken"), "migrations: [{version: 1}]");
        Result refused = launch("schema", "deploy", "--flyway-history=" + broken);
        assertThat(refused.exitCode()).isEqualTo(2);
        assertThat(refused.err())
                .contains("broken: success of migration 1 is null, and must be true or false")
                .contains("hint: name the file that ends with .flyway.yaml, which shardflake adopt plan wrote");

        assertThat(launch("schema", "deploy", history).err()).isEqualTo("""
                error: shard 0 on server db1: Detected applied migration not resolved locally: outside (and 7 more)
                hint: put its file back; if it is about a table that stays outside of the shards, remove its line from the file of the history
                """);
        Path applied = plans.resolve("adoption.flyway.yaml");
        Files.write(
                applied,
                Files.readAllLines(applied).stream()
                        .filter(line -> !line.contains("R__outside"))
                        .toList());
        assertThat(installation
                        .launch("adopt", "plan", "--from=" + from, "--file=" + plan, "--rewrite")
                        .out())
                .contains("the files are up to date");

        write("V2__later.sql", "ALTER TABLE account ADD COLUMN later int;");
        assertThat(launch("schema", "deploy", history, "--dry-run", "--shards=7")
                        .out())
                .endsWith("""
                        FOR SHARD 7
                        SET search_path = shard_0007, public;
                        -- flyway::1::account
                        -- the old database has had it: it is recorded, and not run
                        -- flyway::2::later
                        ALTER TABLE account ADD COLUMN later int;
                        SELECT shardflake.complete_tables(7);
                        """);
        // Shard 0 has a copy that follows it, and shard 1 has been cut over and is followed from where it was.
        for (String[] step : List.of(
                new String[] {"move", "start", "--shards=0-1", "--to=db2"},
                new String[] {"move", "cutover", "1", "--shards=1"})) {
            Result moved = installation.launch(step);
            assertThat(moved.exitCode()).as(moved.toString()).isZero();
        }
        Result taken = launch("schema", "deploy", history);
        assertThat(taken.exitCode()).as(taken.toString()).isZero();
        for (String[] step : List.of(
                new String[] {"move", "cutover", "1"},
                new String[] {"move", "reverse", "1", "--shards=1"},
                new String[] {"move", "cancel", "1", "--keep-moved", "--yes"})) {
            Result moved = installation.launch(step);
            assertThat(moved.exitCode()).as(moved.toString()).isZero();
        }
        assertThat(installation.launch("map", "locate", "--shard=0").out()).contains("db2");
        assertThat(launch("schema", "status").out()).contains("flyway::2::later", "no shard lacks a changeset of");
        assertThat(launch("schema", "deploy").out()).isEqualTo("""
                SERVER  SHARDS  DEPLOYED  UP TO DATE  FAILED
                db1     3       0         3           0
                db2     5       0         5           0
                """);
        write("V1__account.sql", account + " ");
        assertThat(launch("schema", "deploy").err())
                .startsWith("error: shard 1 on server db1: Migration checksum mismatch for migration version 1;");
    }

    @Test
    void ofSeveralHistoriesOneIsTakenOver(@TempDir Path plans) throws IOException, SQLException {
        installation.execute(2, """
                CREATE SCHEMA billing;
                CREATE TABLE flyway_schema_history (installed_rank int PRIMARY KEY, version text, description text, type text, script text, checksum int,
                    installed_by text, installed_on timestamp, execution_time int, success boolean);
                CREATE TABLE schema_version (LIKE flyway_schema_history);
                CREATE TABLE billing.flyway_schema_history (LIKE flyway_schema_history);
                INSERT INTO schema_version VALUES (1, '1', 'account', 'SQL', 'V1__account.sql', 7, '', now(), 1, true);
                INSERT INTO flyway_schema_history TABLE schema_version;
                INSERT INTO flyway_schema_history VALUES (2, '2', 'note', 'SQL', 'V2__note.sql', 8, '', now(), 1, true);
                CREATE TABLE account (uid bigint PRIMARY KEY, name text);
                CREATE TABLE note (id uuid PRIMARY KEY, uid bigint NOT NULL REFERENCES account);
                """);
        Path plan = plans.resolve("adoption.yaml");
        Path applied = plans.resolve("adoption.flyway.yaml");
        List<String> planning =
                List.of("adopt", "plan", "--from=" + postgres.database(2).uri(), "--key=account.uid", "--file=" + plan);

        // The table of before Flyway 5 has nothing that the later one lacks; an empty one neither.
        assertThat(plan(planning).out())
                .contains(
                        "Flyway's history, public.schema_version, whose last version is 1",
                        "shards have one history, and take over that of public.flyway_schema_history");
        assertThat(Files.readString(applied)).contains("table: public.flyway_schema_history", "V2__note.sql");

        installation.execute(
                2,
                "INSERT INTO billing.flyway_schema_history VALUES (1, '1', 'bill', 'SQL', 'V1__bill.sql', 9, '', now(), 1, true)");
        assertThat(plan(planning).exitCode()).isZero();
        assertThat(Files.readString(applied)).contains("table: public.flyway_schema_history"); // as before
        Files.delete(applied);
        assertThat(plan(planning).out())
                .contains(
                        "to have them take over this one: shardflake adopt plan --from URL --flyway-history billing.flyway_schema_history");
        assertThat(applied).doesNotExist();
        assertThat(plan(planning, "--flyway-history=billing.flyway_schema_history")
                        .exitCode())
                .isZero();
        assertThat(Files.readString(applied)).contains("V1__bill.sql").doesNotContain("V2__note.sql");
        assertThat(plan(planning, "--flyway-history=public.flyway_schema_history")
                        .out())
                .contains(
                        "it has the history of billing.flyway_schema_history; to have that of public.flyway_schema_history in its place, remove this file");
        assertThat(plan(planning, "--flyway-history=account")).isEqualTo(new Result(2, "", """
                error: account is not a history of Flyway's; the database has billing.flyway_schema_history, public.flyway_schema_history, public.schema_version
                hint: name the table with its schema, as in public.flyway_schema_history
                """));
    }

    private Result plan(List<String> arguments, String... more) {
        List<String> all = new ArrayList<>(arguments);
        all.addAll(List.of(more));
        return installation.launch(all.toArray(String[]::new));
    }
}
