/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;

/** Shards 0 to 3 are on db1, 4 to 7 on db2. */
class SchemaCommandsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private final CliInstallation installation = new CliInstallation(postgres);

    @TempDir
    private Path directory;

    @BeforeEach
    void begin() throws SQLException {
        installation.init();
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

        assertThat(first.err()).endsWith("deploying shards: 8 of 8\n"); // on a slow machine after lines of progress
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

    /** The working directory is elsewhere: the build's. */
    @Test
    void aChangelogMayLieAnywhereWithItsIncludesBesideIt() throws IOException {
        Path db = Files.createDirectories(directory.resolve("db"));
        Files.writeString(db.resolve("photo.sql"), "--liquibase formatted sql\n" + PHOTO);
        Path app = db.resolve("app.yaml");
        Files.writeString(
                app, "databaseChangeLog:\n- include:\n    file: photo.sql\n    relativeToChangelogFile: true\n");

        Result deployed = installation.launch("schema", "deploy", "--changelog=" + app);
        assertThat(deployed.exitCode()).as(deployed.toString()).isZero();
        assertThat(installation.launch("schema", "deploy", "--changelog=" + app).out())
                .contains("db1     4       0         4 ");

        Result renamed = installation.launch("schema", "deploy", "--changelog=" + app, "--search-path=" + directory);
        assertThat(renamed).isEqualTo(new Result(4, "", """
                                error: shard 0 on server db1 has had changeset db/photo.sql::photo::ann as photo.sql::photo::ann (and 7 more)
                                hint: if it is the same changeset, name the directory in which its file had that name with shardflake schema deploy --search-path DIR --changelog FILE, or set logicalFilePath in the file
                                """));
    }

    @Test
    void showsWhatItWouldDo() throws IOException, SQLException {
        assertThat(deploy(PHOTO, "--dry-run", "--servers=db2"))
                .isEqualTo(new Result(0, """
                        SERVER  SHARDS TO DEPLOY
                        db2     4

                        FOR SHARD 4, AS FOR THE OTHERS
                        SELECT shardflake.create_shard(4);
                        SET search_path = shard_0004, public;
                        -- app.sql::photo::ann
                        CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL DEFAULT 0 CHECK (uid >= 0), title text);
                        CREATE INDEX photo_uid ON photo (uid);
                        SELECT shardflake.complete_tables(4);
                        """, "dry run: nothing was changed\n"));
        assertThat(installation.query(1, "SELECT to_regnamespace('shard_0004')"))
                .isEqualTo("null");
    }

    @Test
    void newTablesRefuseRowsOfOtherShards() throws IOException, SQLException {
        assertThat(deploy(PHOTO, "--uid-column=uid").exitCode()).isZero();

        assertThatThrownBy(() -> installation.execute(1, "INSERT INTO shard_0006.photo (uid) VALUES (7)"))
                .hasMessageContaining("uid_of_shard");
        assertThatThrownBy(() -> installation.execute(
                        1, "INSERT INTO shard_0006.photo (id, uid) VALUES (nextval('shard_0006.photo_id_seq'), 6)"))
                .hasMessageContaining("id_of_shard");
        installation.execute(1, "INSERT INTO shard_0006.photo (uid) VALUES (14)");

        deploy(PHOTO + "--changeset ann:tag\nCREATE TABLE tag (uid bigint PRIMARY KEY, name text);\n");
        assertThatThrownBy(() -> installation.execute(1, "INSERT INTO shard_0006.tag (uid) VALUES (7)"))
                .hasMessageContaining("uid_of_shard");
        assertThat(installation.launch("schema", "status", "--drift").out()).endsWith("all shards have one schema\n");
    }

    @Test
    void aServerThatCannotBeReadIsNamed() throws SQLException {
        installation.execute(
                0,
                "UPDATE shardflake_catalog.server SET url = 'postgresql://postgres@localhost:1/gone' WHERE name = 'db2'");

        Result status = installation.launch("schema", "status", "--drift");

        assertThat(status.exitCode()).isEqualTo(1);
        assertThat(status.err()).startsWith("error: server db2: ");
    }

    /** The first shard of each transaction had them all the same, and differed from the others. */
    @Test
    @Tag("full")
    void withoutChecksIdsOfAChangesetHaveNoneEither() throws IOException, SQLException {
        Result deployed = deploy(PHOTO + """
                --changeset ann:photo_ids runWith:jdbc splitStatements:false
                SELECT shardflake.add_id_sequence('photo', 'id');
                """, "--no-checks");

        assertThat(deployed.exitCode()).as(deployed.toString()).isZero();
        assertThat(installation.query(0, "SELECT count(*) FROM pg_constraint WHERE conname = 'id_of_shard'"))
                .isEqualTo("0");
    }

    @Test
    void checksAreAddedToTablesThatExistAndStrayRowsAreNamed() throws IOException, SQLException {
        assertThat(deploy(PHOTO, "--no-checks").exitCode()).isZero();
        installation.execute(1, "INSERT INTO shard_0006.photo (id, uid) VALUES (17, 6)");

        Result checked = installation.launch("schema", "check", "--uid-column=uid");

        assertThat(checked.exitCode()).isEqualTo(5);
        assertThat(checked.out()).isEqualTo("""
                SERVER  SHARDS  CHECKS PRESENT  ADDED  WITH STRAY ROWS
                db1     4       0               8      0
                db2     4       0               7      1

                shard_0006.photo on db2 has 1 row of other shards by their id, such as 17
                """);
        installation.execute(1, "UPDATE shard_0006.photo SET title = 'still mine' WHERE id = 17");
        installation.execute(1, "DELETE FROM shard_0006.photo WHERE id = 17");
        assertThat(installation.launch("schema", "check", "--dry-run").out())
                .contains("db2     4       7               1       0");
        assertThat(installation.launch("schema", "check").exitCode()).isZero();
        assertThat(installation.query(
                        1, "SELECT count(*) FROM pg_constraint WHERE conname LIKE '%\\_of\\_shard' AND convalidated"))
                .isEqualTo("8");
        assertThat(installation.launch("schema", "status", "--drift").exitCode())
                .isZero();
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
                shard 6 on db2 failed, and is unchanged
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
        Result lacking = installation.launch("schema", "status", "--changelog=" + directory.resolve("app.sql"));
        assertThat(lacking.exitCode()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(lacking.out()).contains("\n1 shard would be changed by shardflake schema deploy --changelog ");
    }

    @Test
    void refusesAnEditedChangeset() throws IOException {
        deploy(PHOTO);

        Result result = deploy(PHOTO.replace("title text", "title varchar"));

        assertThat(result.exitCode()).isEqualTo(4);
        assertThat(result.err())
                .startsWith("error: changeset app.sql::photo::ann was edited after shard 0 on server db1 had it: ")
                .endsWith("(and 7 more)\nhint: write a new changeset instead, or undo the edit\n");
    }

    @Test
    @Tag("full")
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
                error: cannot ask whether to undo app.sql::place::ann in 8 shards, and delete the rows of what it created: there is no terminal
                hint: add --yes; see the SQL with --dry-run
                """);
        assertThat(rollBack("--dry-run")).isEqualTo(new Result(0, """
                SERVER  SHARDS TO ROLL BACK
                db1     4
                db2     4

                FOR SHARD 0, AS FOR THE OTHERS
                SET search_path = shard_0000, public;
                -- app.sql::place::ann
                ALTER TABLE photo DROP COLUMN place;
                """, "dry run: nothing was changed\n"));
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
    void aRollbackSaysWhatWouldHappenToEachGroupOfShards() throws IOException, SQLException {
        deploy(PHOTO + "--rollback DROP TABLE photo;\n");
        installation.execute(1, "INSERT INTO shard_0006.photo (uid) VALUES (6)");
        installation.execute(1, "ALTER TABLE shard_0006.photo ADD COLUMN place text");
        deploy(PHOTO + "--rollback DROP TABLE photo;\n" + PLACE + "--rollback ALTER TABLE photo DROP COLUMN place;\n");

        assertThat(rollBack("--dry-run").out()).isEqualTo("""
                SERVER  SHARDS TO ROLL BACK
                db1     4
                db2     3

                FOR SHARD 0, AS FOR ALL OF 0-3 ON db1, 4,5,7 ON db2
                SET search_path = shard_0000, public;
                -- app.sql::place::ann
                ALTER TABLE photo DROP COLUMN place;
                NOTHING FOR 6 ON db2
                """);
        assertThat(rollBack("--yes").out()).isEqualTo("""
                SERVER  SHARDS  UNDONE  UNTOUCHED  FAILED
                db1     4       4       0          0
                db2     4       3       1          0

                shard 6 on db2 differs from most others
                  column photo.place is not in the other shards: text
                  columns of table photo is id, uid, title, place, in the other shards id, uid, title
                """);
        assertThat(installation.query(1, "SELECT count(*) FROM shard_0006.photo"))
                .isEqualTo("1");
    }

    @Test
    @Tag("full")
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
                "ALTER SEQUENCE shard_0006.photo_id_seq CACHE 7               | sequence photo_id_seq is bigint INCREMENT 1 MINVALUE -1125899906842624 MAXVALUE 1125899906842623 START 0 CACHE 7 OWNED BY photo.id, in the other shards bigint INCREMENT 1 MINVALUE -1125899906842624 MAXVALUE 1125899906842623 START 0 CACHE 1 OWNED BY photo.id",
                "GRANT SELECT ON shard_0006.photo TO PUBLIC                   | privileges of table photo is not in the other shards: =r/",
                "CREATE POLICY own ON shard_0006.photo USING (uid = 1)        | policy photo.own is not in the other shards: PERMISSIVE FOR ALL TO public USING ((uid = 1))",
                "DROP SCHEMA shard_0006 CASCADE                               | schema is missing",
            })
    @Tag("full")
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
        assertThat(result.err()).isEqualTo("""
                error: cannot read changelog %s: there is no such file
                hint: name a file with a changelog of Liquibase, such as db/app.xml or db/app.sql
                """.formatted(directory.resolve("none.xml")));
    }

    /** What doctor advised after the catalog was restored, and what made an empty shard beside the one with the rows. */
    @Test
    void aShardThatAnotherServerHasIsNotCreatedEmpty() throws IOException, SQLException {
        deploy(PHOTO);
        installation.execute(0, "SELECT shardflake.drop_shard(3)");
        installation.execute(1, "SELECT shardflake.create_shard(3)");
        try {
            Result refused = deploy(PHOTO, "--recreate=3");

            assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
            assertThat(refused.err()).contains("shard 3 is not on db1, and db2 has it. Empty shards would hide rows");
            assertThat(installation.query(0, "SELECT to_regnamespace('shard_0003') IS NULL"))
                    .isEqualTo("t");
        } finally {
            installation.execute(1, "SELECT shardflake.drop_shard(3)");
        }
    }

    @Test
    @Tag("full")
    void aShardWhoseSchemaIsGoneIsNotCreatedEmptyOrWithoutTables() throws IOException, SQLException {
        deploy(PHOTO);
        installation.execute(0, "DROP SCHEMA shard_0002 CASCADE");

        Result refused = deploy(PHOTO);
        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(refused.err())
                .contains("shard 2 was deployed before, and no server has it")
                .contains("accept that they are lost with shardflake schema deploy --recreate 2 --changelog FILE");
        assertThat(installation.launch("doctor").out())
                .contains("lacks shard 2, which the shard map gives it; it was deployed, since db1 has its history")
                .contains("a person must decide");

        assertThat(deploy(PHOTO, "--recreate=2").err())
                .contains(
                        "error: cannot ask whether to recreate shard 2 empty, and give up the rows that it had: there is no terminal\n");
        assertThat(deploy(PHOTO, "--recreate=2", "--yes").exitCode()).isZero();
        assertThat(installation.query(0, "SELECT to_regclass('shard_0002.photo') IS NOT NULL"))
                .isEqualTo("t");
        assertThat(deploy(PHOTO).exitCode()).isZero();
        assertThat(
                        installation.query(
                                0,
                                "SELECT count(*) FROM shardflake_deploy.databasechangelog WHERE starts_with(filename, 'shard_0002/')"))
                .isEqualTo("1");
    }

    @Test
    @Tag("full")
    void noShardIsCreatedWhileAServerThatMayHaveItCannotBeAsked() throws IOException, SQLException {
        deploy(PHOTO);
        installation.execute(0, "SELECT shardflake.drop_shard(3)");
        installation.execute(
                0,
                "UPDATE shardflake_catalog.server SET url = regexp_replace(url, '/[^/]*$', '/nowhere') WHERE name = 'db2'");

        Result refused = deploy(PHOTO, "--servers=db1");

        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(refused.err()).contains("shard 3 is not on db1, and db2 may have it, but cannot be asked");
    }

    /** As a newer command leaves it. */
    private void makeLibraryNewer(int server) throws SQLException {
        installation.execute(
                server,
                "CREATE OR REPLACE FUNCTION shardflake.library_version() RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN 1000000");
    }

    /** As an older command leaves it: the next one has something to bring up to date. */
    private void makeLibraryOlder(int server) throws SQLException {
        installation.execute(
                server,
                "UPDATE shardflake.databasechangelog SET md5sum = '9:00000000000000000000000000000000' WHERE id = 'id_shard'");
    }

    private List<String> everything() throws SQLException {
        return List.of(installation.everything(0), installation.everything(1));
    }

    @Test
    void anOlderCommandDoesNotReplaceANewerLibrary() throws IOException, SQLException {
        makeLibraryOlder(0);
        makeLibraryNewer(1);
        List<String> before = everything();

        Result result = deploy(PHOTO);

        assertThat(result.exitCode()).isEqualTo(4);
        assertThat(result.out()).isEmpty();
        assertThat(result.err())
                .startsWith(
                        "error: server db2: the function library is deployed in version 1000000, and this program has only version ")
                .contains("hint: use the newer shardflake that deployed it");
        assertThat(everything()).isEqualTo(before);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "--dry-run"})
    @Tag("full")
    void aDeploymentThatIsRefusedForAnEditedChangesetLeavesLibraryAndHistoryAsTheyWere(String option)
            throws IOException, SQLException {
        deploy(PHOTO);
        makeLibraryOlder(0);
        makeLibraryOlder(1);
        List<String> before = everything();

        Result result =
                deploy(PHOTO.replace("title text", "title varchar") + PLACE, option.isEmpty() ? "-o=json" : option);

        assertThat(result.exitCode()).isEqualTo(4);
        assertThat(everything()).isEqualTo(before);
    }

    @Test
    void aDeploymentOfShardsThatMoveChangesNothing() throws IOException, SQLException {
        makeLibraryOlder(0);
        makeLibraryOlder(1);
        installation.execute(0, """
                INSERT INTO shardflake_catalog.move (tag, source, target) VALUES ('m1_abcdef', 'db1', 'db2');
                INSERT INTO shardflake_catalog.move_shard (move, shard) SELECT max(id), 2 FROM shardflake_catalog.move
                """);
        List<String> before = everything();

        assertThat(deploy(PHOTO).exitCode()).isEqualTo(4);
        assertThat(everything()).isEqualTo(before);
    }

    @Test
    void aDryRunChangesNothingOnServersThatWereNeverDeployedTo() throws IOException, SQLException {
        makeLibraryOlder(0);
        installation.execute(1, "DROP SCHEMA shardflake CASCADE");
        List<String> before = everything();

        assertThat(deploy(PHOTO, "--dry-run").exitCode()).isZero();
        assertThat(everything()).isEqualTo(before);
    }

    @Test
    void referenceTablesThatAreNotThereAreToBeDeployedFirst() throws IOException {
        assertThat(deploy(PHOTO + """
                --changeset ann:place
                CREATE TABLE place (id bigint PRIMARY KEY, country bigint REFERENCES reference.country);
                """).err())
                .contains("\nhint: deploy the reference tables first, or fix the changelog, then run");
    }

    @Test
    @Tag("full")
    void aSyntaxErrorEndsTheDeploymentAtTheFirstShard() throws IOException, SQLException {
        deploy(PHOTO);

        Result result = deploy(PHOTO + """
                --changeset ann:broken
                CREATE TABLE fine (id bigint PRIMARY KEY);
                CREATE INDEX fine_id
                    OM fine (id);
                """);

        assertThat(result.exitCode()).isEqualTo(1);
        assertThat(result.out()).isEmpty();
        assertThat(result.err()).endsWith("""
                error: changeset app.sql::broken::ann (app.sql, line 8) failed on shard 0 of db1: syntax error at or near "OM"; statement: CREATE INDEX fine_id OM fine (id); no other shard was started but shard 7 of db2, which failed, too
                hint: fix the changelog, then run the same command again
                """);
        assertThat(installation.query(0, "SELECT count(*) FROM pg_class WHERE relname = 'fine'"))
                .isEqualTo("0");
        assertThat(installation.launch("schema", "status").out()).isEqualTo("""
                SERVER  COUNT  SHARDS  CHANGESETS  LAST CHANGESET
                db1     4      0-3     1           app.sql::photo::ann
                db2     4      4-7     1           app.sql::photo::ann
                """);
    }

    @Test
    @Tag("full")
    void aFirstShardThatSomebodyChangedByHandDoesNotEndTheDeployment() throws IOException, SQLException {
        deploy(PHOTO);
        installation.execute(0, "ALTER TABLE shard_0000.photo ADD COLUMN place text");

        Result result = deploy(PHOTO + PLACE);

        assertThat(result.exitCode()).isEqualTo(3);
        assertThat(result.out()).startsWith("""
                SERVER  SHARDS  DEPLOYED  UP TO DATE  FAILED
                db1     4       3         0           1
                db2     4       4         0           0

                shard 0 on db1 failed, and is unchanged
                """);
        assertThat(deploy(PHOTO + PLACE).exitCode()).as("the rest of them").isEqualTo(3);
    }

    @Test
    @Tag("full")
    void failuresThatAreEqualAreToldOnce() throws IOException, SQLException {
        deploy(PHOTO);
        for (int shard : new int[] {1, 2, 3, 5, 7}) {
            installation.execute(
                    shard / 4,
                    String.format(
                            Locale.ROOT, "INSERT INTO shard_%04d.photo (title) VALUES ('twice'), ('twice')", shard));
        }
        String unique =
                PHOTO + "--changeset ann:unique\nALTER TABLE photo ADD CONSTRAINT photo_title UNIQUE (title);\n";

        Result result = deploy(unique);

        assertThat(result.exitCode()).isEqualTo(3);
        assertThat(result.out()).isEqualTo("""
                SERVER  SHARDS  DEPLOYED  UP TO DATE  FAILED
                db1     4       1         0           3
                db2     4       2         0           2

                shards 1-3 on db1, 5,7 on db2 failed, and are unchanged
                  changeset: app.sql::unique::ann
                  statement: ALTER TABLE photo ADD CONSTRAINT photo_title UNIQUE (title)
                  error: ERROR: could not create unique index "photo_title"
                    Detail: Key (title)=(twice) is duplicated.
                """);
        assertThat(deploy(unique, "-o", "json").out())
                .contains("\"failures\":[{\"shard\":1,\"server\":\"db1\",\"changeSet\":\"app.sql::unique::ann\",")
                .contains("\"shardCount\":3,\"shards\":\"1-3\"},{\"shard\":5,\"server\":\"db2\",")
                .contains("\"shardCount\":2,\"shards\":\"5,7\"}]");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "CREATE TABLE public.audit (id bigint PRIMARY KEY);          | names schema public",
                "ALTER TABLE photo ADD COLUMN x shard_0001.mood;             | names schema shard_0001",
                "DO $$ BEGIN UPDATE Public.photo SET uid = 1; END $$;        | names schema public",
                "COMMIT;                                                     | COMMIT",
                "SET search_path = public;                                   | search_path",
            })
    @Tag("full")
    void aChangesetThatLeavesItsShardIsRefusedBeforeAnythingRuns(String sql, String reason)
            throws IOException, SQLException {
        deploy(PHOTO);
        List<String> before = everything();

        Result result =
                deploy(PHOTO + "--changeset ann:astray splitStatements:false\nSELECT 1 /* public.x */;\n" + sql + "\n");

        assertThat(result.exitCode()).isEqualTo(4);
        assertThat(result.err())
                .startsWith("error: changeset app.sql::astray::ann (app.sql, line 7) ")
                .contains(reason);
        assertThat(everything()).isEqualTo(before);
    }

    @Test
    @Tag("full")
    void commentsInTheBodyOfAFunctionStay() throws IOException, SQLException {
        deploy(PHOTO + """
                --changeset ann:body splitStatements:false
                -- not part of it
                CREATE FUNCTION greeting() RETURNS text LANGUAGE sql AS $$
                    -- says hello /* kindly */
                    SELECT 'hello -- ann' /* kept */
                $$;
                """);

        assertThat(installation.query(0, "SELECT prosrc FROM pg_proc WHERE oid = 'shard_0002.greeting'::regproc"))
                .contains("-- says hello /* kindly */")
                .contains("/* kept */");
    }

    @Test
    @Tag("full")
    void whatAChangesetSetsForItsSessionDoesNotReachTheNextShard() throws IOException, SQLException {
        Result result = deploy(PHOTO + """
                --changeset ann:seen
                CREATE TABLE seen (id bigint PRIMARY KEY, digits text DEFAULT current_setting('extra_float_digits'));
                INSERT INTO seen (id) VALUES (1);
                --changeset ann:set
                SET extra_float_digits = -7;
                """, "--parallel=1");

        assertThat(result.exitCode()).as(result.toString()).isZero();
        for (int shard = 0; shard < 8; shard++) {
            assertThat(installation.query(
                            shard / 4, String.format(Locale.ROOT, "SELECT digits FROM shard_%04d.seen", shard)))
                    .as("shard %s", shard)
                    .isNotEqualTo("-7");
        }
    }
}
