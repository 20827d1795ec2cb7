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
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.PostgresExtension;

/** Shards 0 to 3 are on db1, 4 to 7 on db2. */
class SchemaCommandsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private final Installation installation = new Installation(postgres);

    @TempDir
    private Path directory;

    @BeforeEach
    void begin() throws SQLException {
        installation.init();
    }

    @AfterEach
    void dropShards() throws SQLException {
        for (int shard = 0; shard < 8; shard++) {
            installation.execute(shard / 4, "DROP SCHEMA IF EXISTS shard_%04d CASCADE".formatted(shard));
        }
        installation.execute(0, "DROP SCHEMA IF EXISTS shardflake_deploy CASCADE");
        installation.execute(1, "DROP SCHEMA IF EXISTS shardflake_deploy CASCADE");
    }

    private Result deploy(String changelog, String... options) throws IOException {
        Files.writeString(directory.resolve("app.sql"), "--liquibase formatted sql\n" + changelog);
        List<String> arguments = new ArrayList<>(List.of(
                "schema", "deploy", "--changelog=" + directory.resolve("app.sql"), "--search-path=" + directory));
        arguments.addAll(List.of(options));
        return installation.launch(arguments.toArray(String[]::new));
    }

    private static final String PHOTO = """
            --changeset ann:photo
            CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL DEFAULT 0 CHECK (uid >= 0), title text);
            CREATE INDEX photo_uid ON photo (uid);
            """;
    private static final String PLACE = """
            --changeset ann:place
            ALTER TABLE photo ADD COLUMN place text;
            """;

    @Test
    void deploysAndThenFindsNothingToDo() throws IOException {
        Result first = deploy(PHOTO);

        assertThat(first.err()).isEqualTo("deploying shards: 8 of 8\n");
        assertThat(first.exitCode()).isZero();
        assertThat(first.out()).isEqualTo("""
                SERVER  SHARDS  DEPLOYED  UP TO DATE  FAILED
                db1     4       4         0           0
                db2     4       4         0           0
                """);
        assertThat(deploy(PHOTO)).isEqualTo(new Result(0, """
                        SERVER  SHARDS  DEPLOYED  UP TO DATE  FAILED
                        db1     4       0         4           0
                        db2     4       0         4           0
                        """, ""));
    }

    @Test
    void showsWhatItWouldDo() throws IOException, SQLException {
        assertThat(deploy(PHOTO, "--dry-run", "--servers=db2"))
                .isEqualTo(new Result(0, """
                        SERVER  SHARDS TO DEPLOY
                        db2     4

                        FOR SHARD 4, AND LIKEWISE FOR THE OTHERS
                        SELECT shardflake.create_shard(4);
                        SET search_path = shard_0004, public;
                        -- app.sql::photo::ann
                        CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL DEFAULT 0 CHECK (uid >= 0), title text);
                        CREATE INDEX photo_uid ON photo (uid);
                        SELECT shardflake.complete_tables(4);
                        """, "dry run: no shard was changed\n"));
        assertThat(installation.query(1, "SELECT to_regnamespace('shard_0004')"))
                .isEqualTo("null");
    }

    @Test
    void namesTheShardThatFailedAndWhy() throws IOException, SQLException {
        deploy(PHOTO);
        installation.execute(1, "ALTER TABLE shard_0006.photo ADD COLUMN place text");

        Result result = deploy(PHOTO + PLACE, "-o", "json");

        assertThat(result.exitCode()).isEqualTo(3);
        assertThat(result.out())
                .contains("\"complete\":false")
                .contains("{\"server\":\"db2\",\"shards\":4,\"deployed\":3,\"upToDate\":0,\"failed\":1}")
                .contains(
                        "{\"shard\":6,\"server\":\"db2\",\"changeSet\":\"app.sql::place::ann\",\"sql\":\"ALTER TABLE photo ADD COLUMN place text\"");
        assertThat(deploy(PHOTO + PLACE).out()).contains("""
                shard 6 on db2 failed, and is as it was
                  changeset: app.sql::place::ann
                  statement: ALTER TABLE photo ADD COLUMN place text
                  error: ERROR: column "place" of relation "photo" already exists
                """);
        assertThat(installation.launch("schema", "status").out()).isEqualTo("""
                SERVER  COUNT  SHARDS  CHANGESETS  LAST CHANGESET
                db1     4      0-3     2           app.sql::place::ann
                db2     3      4,5,7   2           app.sql::place::ann
                db2     1      6       1           app.sql::photo::ann
                """);
    }

    @Test
    void refusesAnEditedChangeset() throws IOException {
        deploy(PHOTO);

        Result result = deploy(PHOTO.replace("title text", "title varchar"));

        assertThat(result.exitCode()).isEqualTo(4);
        assertThat(result.err())
                .startsWith("error: changeset app.sql::photo::ann was edited after shard 0 on server db1 had it: ")
                .contains("(and 7 more). Write a new changeset instead, or undo the edit");
    }

    @Test
    void deploysToSomeShards() throws IOException {
        assertThat(deploy(PHOTO, "--shards=2-5").out()).isEqualTo("""
                SERVER  SHARDS  DEPLOYED  UP TO DATE  FAILED
                db1     2       2         0           0
                db2     2       2         0           0
                """);
        assertThat(installation.launch("schema", "status").out()).isEqualTo("""
                SERVER  COUNT  SHARDS  CHANGESETS  LAST CHANGESET
                db1     2      0,1     0           not on this server
                db1     2      2,3     1           app.sql::photo::ann
                db2     2      6,7     0           not on this server
                db2     2      4,5     1           app.sql::photo::ann
                """);
    }

    @Test
    void undoesTheLastChangesetOnEveryShard() throws IOException, SQLException {
        deploy(PHOTO + PLACE + "--rollback ALTER TABLE photo DROP COLUMN place;\n");

        assertThat(rollBack().err()).isEqualTo("""
                error: to undo the last 1 changesets of each shard, with the rows of what they made needs --yes where nobody can be asked
                hint: see their SQL with --dry-run
                """);
        assertThat(rollBack("--dry-run")).isEqualTo(new Result(0, """
                SERVER  SHARDS TO ROLL BACK
                db1     4
                db2     4

                FOR SHARD 0, AND LIKEWISE FOR THE OTHERS
                SET search_path = shard_0000, public;
                -- app.sql::place::ann
                ALTER TABLE photo DROP COLUMN place;
                """, "dry run: no shard was changed\n"));
        assertThat(rollBack("--yes").out()).isEqualTo("""
                SERVER  SHARDS  UNDONE  UNTOUCHED  FAILED
                db1     4       4       0          0
                db2     4       4       0          0
                """);
        assertThat(installation.query(1, "SELECT count(*) FROM information_schema.columns WHERE column_name = 'place'"))
                .isEqualTo("0");
        assertThat(installation.launch("schema", "status").out())
                .contains("db1     4      0-3     1           app.sql::photo::ann");
    }

    @Test
    void leavesShardsAsTheyWereWhenAChangesetCannotBeUndone() throws IOException {
        deploy(PHOTO);

        Result result = rollBack("--yes");

        assertThat(result.exitCode()).isEqualTo(3);
        assertThat(result.out()).contains("it cannot be undone: write a rollback into it");
        assertThat(installation.launch("schema", "status").out()).contains("1           app.sql::photo::ann");
    }

    private Result rollBack(String... options) {
        List<String> arguments = new ArrayList<>(List.of(
                "schema",
                "rollback",
                "--count=1",
                "--changelog=" + directory.resolve("app.sql"),
                "--search-path=" + directory));
        arguments.addAll(List.of(options));
        return installation.launch(arguments.toArray(String[]::new));
    }

    @Test
    void saysThatNothingWasDeployedYet() {
        assertThat(installation.launch("schema", "status", "--servers=db1")).isEqualTo(new Result(0, """
                        SERVER  COUNT  SHARDS  CHANGESETS  LAST CHANGESET
                        db1     4      0-3     0           not on this server
                        """, ""));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "ALTER TABLE shard_0006.photo ADD COLUMN x integer            | column photo.x is not in the other shards: integer",
                "ALTER TABLE shard_0006.photo DROP COLUMN title               | column photo.title is missing",
                "ALTER TABLE shard_0006.photo ALTER COLUMN title TYPE varchar | column photo.title is character varying, in the other shards text",
                "ALTER TABLE shard_0006.photo ALTER COLUMN uid SET DEFAULT 1  | column photo.uid is bigint NOT NULL DEFAULT 1, in the other shards bigint NOT NULL DEFAULT 0",
                "ALTER TABLE shard_0006.photo DROP CONSTRAINT photo_uid_check | constraint photo.photo_uid_check is missing",
                "DROP INDEX shard_0006.photo_uid                              | index photo_uid is missing",
                "DROP TRIGGER shardflake_fence ON shard_0006.photo            | trigger photo.shardflake_fence is missing",
                "ALTER SEQUENCE shard_0006.photo_id_seq CACHE 7               | sequence photo_id_seq is S p n f bigint 1 -1125899906842624 1125899906842623 7 f, in the other shards S p n f bigint 1 -1125899906842624 1125899906842623 1 f",
                "GRANT SELECT ON shard_0006.photo TO PUBLIC                   | =r/",
                "DROP SCHEMA shard_0006 CASCADE                               | schema is missing",
            })
    void findsWhatDiffers(String drift, String named) throws IOException, SQLException {
        deploy(PHOTO);
        assertThat(installation.launch("schema", "status", "--drift").out()).endsWith("all shards have one schema\n");
        installation.execute(1, drift);

        Result result = installation.launch("schema", "status", "--drift");

        assertThat(result.exitCode()).isEqualTo(5);
        assertThat(result.out())
                .contains("shard 6 on db2 differs from most others\n")
                .contains(named);
    }

    @ParameterizedTest
    @CsvSource(
            quoteCharacter = '`',
            delimiter = '|',
            value = {
                "--servers=db9         | there is no server \"db9\" in the shard map; its servers are db1, db2",
                "--shards=8            | shard 8 is out of range 0..7",
                "--shards=x            | \"x\" is not a list of shards",
                "--lock-timeout=soon   | 'soon' is not a duration such as 500ms, 10s or 5m",
            })
    void refusesWhatMakesNoSense(String option, String reason) throws IOException {
        Result result = deploy(PHOTO, option);

        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err()).contains(reason);
    }

    @Test
    void saysWhatIsWrongWithAChangelog() {
        Result result = installation.launch(
                "schema", "deploy", "--changelog=" + directory.resolve("none.xml"), "--search-path=" + directory);

        assertThat(result.exitCode()).isEqualTo(1);
        assertThat(result.err()).startsWith("error: cannot read changelog none.xml: ");
    }
}
