/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.IdLayout;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.deploy.DeployReport.ServerReport;
import org.shardflake.server.ServerUrl;

class SchemaDeployerTest {

    private static final int SHARDS = 12;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    @TempDir
    private Path directory;

    private DeployFixture fixture;

    @BeforeEach
    void create() {
        fixture = new DeployFixture(postgres, 2, SHARDS, directory);
    }

    @AfterEach
    void drop() throws SQLException {
        fixture.drop();
    }

    @Test
    void restsAfterShardsThatMayBeInUse() throws Exception {
        fixture.deploy(fixture.photos());
        DeploySettings plain = fixture.settings();
        DeploySettings resting = new DeploySettings(
                directory,
                "",
                "",
                Map.of(),
                plain.lockTimeout(),
                plain.statementTimeout(),
                1,
                1,
                5,
                false,
                false,
                RowChecks.RECORDED);
        Path more = fixture.photos("<changeSet id='slow' author='ann'><sql>SELECT pg_sleep(0.01)</sql></changeSet>");

        long start = System.nanoTime();
        DeployReport report = fixture.deploy(more, fixture.targets(), resting);

        assertThat(report.isComplete()).isTrue();
        int shardsOfAServer = SHARDS / 2;
        assertThat(Duration.ofNanos(System.nanoTime() - start))
                .isGreaterThan(Duration.ofMillis(10).multipliedBy(6L * shardsOfAServer));
    }

    @Test
    void bringsAnOrdinaryChangelogToEveryShard() throws Exception {
        DeployReport report = fixture.deploy(fixture.photos());

        assertThat(report.isComplete()).isTrue();
        assertThat(report.servers())
                .containsExactly(new ServerReport("db1", 6, 6, 0, 0), new ServerReport("db2", 6, 6, 0, 0));
        for (int shard = 0; shard < SHARDS; shard++) {
            long id = Long.parseLong(fixture.text(shard, "INSERT INTO photo (uid) VALUES (1) RETURNING id"));
            assertThat(IdLayout.shard(id)).isEqualTo(shard);
            fixture.execute(shard, "INSERT INTO \"like\" (photo_id) VALUES (%s)".formatted(id));
            assertThat(fixture.text(
                            shard,
                            "SELECT count(*) FROM shardflake.fences(%s) WHERE present AND NOT fenced".formatted(shard)))
                    .isEqualTo("2");
            assertThat(fixture.history(shard)).isEqualTo(2);
        }
    }

    @Test
    void doesNothingWhenNothingIsLeftToDo() throws Exception {
        Path changelog = fixture.photos();
        fixture.deploy(changelog);

        DeployReport report = fixture.deploy(changelog);

        assertThat(report.servers())
                .containsExactly(new ServerReport("db1", 6, 0, 6, 0), new ServerReport("db2", 6, 0, 6, 0));
    }

    @Test
    void addsWhatIsNewAndFillsShardsThatAreBehind() throws Exception {
        fixture.deploy(fixture.photos(), fixture.targets().subList(0, 1), fixture.settings());
        Path more = fixture.photos(
                "<changeSet id='place' author='ann'><addColumn tableName='photo'><column name='place' type='text' defaultValue='here'/></addColumn></changeSet>");

        assertThat(fixture.deploy(more).isComplete()).isTrue();

        for (int shard = 0; shard < SHARDS; shard++) {
            assertThat(fixture.text(shard, "INSERT INTO photo (uid) VALUES (1) RETURNING place"))
                    .isEqualTo("here");
            assertThat(fixture.history(shard)).isEqualTo(3);
        }
    }

    @Test
    void tellsWhatItWouldDo() throws Exception {
        try (SchemaDeployer deployer =
                SchemaDeployer.prepare(fixture.photos(), fixture.targets(), IdLayout.DEFAULT, fixture.settings())) {
            DeployPreview preview = deployer.preview();

            assertThat(preview.shards()).containsExactly(Map.entry("db1", 6), Map.entry("db2", 6));
            assertThat(preview.groups()).hasSize(1);
            assertThat(preview.groups().get(0).example()).isZero();
            assertThat(preview.groups().get(0).sql())
                    .containsExactly(
                            "SELECT shardflake.create_shard(0)",
                            "SET search_path = shard_0000, public",
                            "-- app.xml::photo::ann",
                            "CREATE TABLE photo (id BIGINT NOT NULL, uid BIGINT NOT NULL, title TEXT, CONSTRAINT photo_pkey PRIMARY KEY (id))",
                            "CREATE INDEX photo_uid ON photo(uid)",
                            "-- app.xml::like::ann",
                            "CREATE TABLE \"like\" (id BIGINT NOT NULL, photo_id BIGINT NOT NULL, CONSTRAINT like_pkey PRIMARY KEY (id), CONSTRAINT like_photo FOREIGN KEY (photo_id) REFERENCES photo(id))",
                            "SELECT shardflake.complete_tables(0)");
        }
        assertThat(fixture.text(0, "SELECT to_regnamespace('shard_0000')")).isEqualTo("null");
    }

    @Test
    void tellsWhatItWouldDoToEachGroupOfShards() throws Exception {
        fixture.deploy(
                fixture.photos(),
                List.of(new DeployTarget("db1", fixture.targets().get(0).url(), ShardSet.of(0, 4))),
                fixture.settings());
        Path more = fixture.photos(PLACE);
        fixture.deploy(
                more,
                List.of(new DeployTarget("db1", fixture.targets().get(0).url(), ShardSet.of(2))),
                fixture.settings());

        try (SchemaDeployer deployer =
                SchemaDeployer.prepare(more, fixture.targets(), IdLayout.DEFAULT, fixture.settings())) {
            DeployPreview preview = deployer.preview();

            assertThat(preview.shards()).containsExactly(Map.entry("db1", 5), Map.entry("db2", 6));
            assertThat(preview.groups())
                    .extracting(DeployPreview.Group::shards)
                    .containsExactly(
                            Map.of("db1", ShardSet.of(6, 8, 10), "db2", ShardSet.of(1, 3, 5, 7, 9, 11)),
                            Map.of("db1", ShardSet.of(0, 4)),
                            Map.of("db1", ShardSet.of(2)));
            assertThat(preview.groups())
                    .extracting(DeployPreview.Group::example)
                    .containsExactly(6, 0, 2);
            assertThat(preview.groups().get(1).sql())
                    .containsExactly(
                            "SET search_path = shard_0000, public",
                            "-- app.xml::place::ann",
                            "ALTER TABLE photo ADD place TEXT",
                            "SELECT shardflake.complete_tables(0)");
            assertThat(preview.groups().get(2).sql()).isEmpty();
        }
    }

    private static final String PLACE =
            "<changeSet id='place' author='ann'><addColumn tableName='photo'><column name='place' type='text'/></addColumn></changeSet>";

    /** Its own last changeset is an earlier one, which nobody named. */
    @Test
    void aRollbackTakesNothingFromAShardThatHasNotHadTheLastChangeset() throws Exception {
        fixture.deploy(fixture.photos());
        fixture.execute(7, "INSERT INTO photo (uid) SELECT 7 FROM generate_series(1, 100)");
        fixture.execute(7, "ALTER TABLE photo ADD COLUMN place text");
        Path more = fixture.photos(PLACE);
        assertThat(fixture.deploy(more).failures()).hasSize(1);

        assertThat(rollBack(more, fixture.targets()).servers())
                .containsExactly(new ServerReport("db1", 6, 6, 0, 0), new ServerReport("db2", 6, 5, 1, 0));

        assertThat(fixture.text(7, "SELECT count(*) FROM photo")).isEqualTo("100");
        assertThat(fixture.history(7)).isEqualTo(2);
        assertThat(fixture.history(6)).isEqualTo(2);
    }

    /** Also if the command names only this shard: what is last is decided by all. */
    @Test
    void whatIsLastIsDecidedByAllShardsOfTheInstallation() throws Exception {
        fixture.deploy(fixture.photos());
        Path more = fixture.photos(PLACE);
        DeployTarget db1 = fixture.targets().get(0);
        DeployTarget db2 = fixture.targets().get(1);
        fixture.deploy(more, List.of(db1), fixture.settings());

        assertThat(rollBack(more, List.of(db2)).servers()).containsExactly(new ServerReport("db2", 6, 0, 6, 0));
        assertThat(rollBack(more, List.of(new DeployTarget("db1", db1.url(), ShardSet.of(0))))
                        .servers())
                .containsExactly(new ServerReport("db1", 1, 1, 0, 0));
        assertThat(rollBack(more, List.of(new DeployTarget("db1", db1.url(), ShardSet.of(0))))
                        .servers())
                .as("the same command again, while other shards still have it")
                .containsExactly(new ServerReport("db1", 1, 0, 1, 0));

        assertThat(fixture.history(0)).isEqualTo(2);
        assertThat(fixture.history(1)).isEqualTo(2);
        assertThat(fixture.history(2)).isEqualTo(3);
    }

    @Test
    void aRollbackDropsNothingWhereTheChangesetWasOnlyMarkedAsRun() throws Exception {
        fixture.deploy(fixture.photos());
        fixture.execute(7, "CREATE TABLE tag (id bigint PRIMARY KEY); INSERT INTO tag VALUES (1)");
        Path more = fixture.photos("""
                <changeSet id='tag' author='ann'>
                  <preConditions onFail='MARK_RAN'><not><tableExists tableName='tag'/></not></preConditions>
                  <createTable tableName='tag'><column name='id' type='bigint'><constraints primaryKey='true'/></column></createTable>
                </changeSet>
                """);
        assertThat(fixture.deploy(more).failures()).isEmpty();

        try (SchemaDeployer deployer =
                SchemaDeployer.prepare(more, fixture.targets(), IdLayout.DEFAULT, fixture.settings())) {
            assertThat(deployer.previewRollBack(1, fixture.targets())
                            .groups()
                            .get(1)
                            .sql())
                    .containsExactly(
                            "SET search_path = shard_0007, public",
                            "-- app.xml::tag::ann",
                            "-- its preconditions did not hold: only its line in the history is removed");
        }
        assertThat(rollBack(more, fixture.targets()).failures()).isEmpty();

        assertThat(fixture.text(7, "SELECT count(*) FROM tag")).isEqualTo("1");
        assertThat(fixture.text(6, "SELECT to_regclass('tag')")).isEqualTo("null");
        assertThat(fixture.history(7)).isEqualTo(2);
    }

    @Test
    void anOlderChangelogDoesNotUndoWhatCameBeforeTheLatest() throws Exception {
        fixture.deploy(fixture.photos(PLACE));

        assertThatExceptionOfType(DeployRefusedException.class)
                .isThrownBy(() -> rollBack(fixture.photos(), fixture.targets()))
                .withMessage(
                        "shard 0 on server db1 has had changeset app.xml::place::ann after app.xml::like::ann, and the changelog does not have it. No shard was changed: give the changelog that was deployed last");
        assertThat(fixture.history(0)).isEqualTo(3);
    }

    private DeployReport rollBack(Path changelog, List<DeployTarget> targets) throws InterruptedException {
        try (SchemaDeployer deployer =
                SchemaDeployer.prepare(changelog, targets, IdLayout.DEFAULT, fixture.settings())) {
            return deployer.rollBack(1, fixture.targets(), done -> {});
        }
    }

    @Test
    void leavesAShardThatFailsAsItWasAndGoesOn() throws Exception {
        fixture.deploy(fixture.photos());
        fixture.execute(7, "INSERT INTO photo (uid, title) VALUES (1, 'twice'), (2, 'twice')");
        Path more = fixture.photos(
                "<changeSet id='place' author='ann'><addColumn tableName='photo'><column name='place' type='text'/></addColumn></changeSet>",
                "<changeSet id='unique' author='ann'><addUniqueConstraint tableName='photo' columnNames='title' constraintName='photo_title'/></changeSet>");

        DeployReport report = fixture.deploy(more);

        assertThat(report.failures()).singleElement().satisfies(failure -> {
            assertThat(failure.shard()).isEqualTo(7);
            assertThat(failure.server()).isEqualTo("db2");
            assertThat(failure.changeSet()).isEqualTo("app.xml::unique::ann");
            assertThat(failure.sql()).isEqualTo("ALTER TABLE photo ADD CONSTRAINT photo_title UNIQUE (title)");
            assertThat(failure.error()).contains("could not create unique index \"photo_title\"");
        });
        assertThat(report.servers())
                .containsExactly(new ServerReport("db1", 6, 6, 0, 0), new ServerReport("db2", 6, 5, 0, 1));
        assertThat(fixture.history(7)).isEqualTo(2);
        assertThat(
                        fixture.text(
                                7,
                                "SELECT count(*) FROM information_schema.columns WHERE table_schema = 'shard_0007' AND column_name = 'place'"))
                .isEqualTo("0");

        fixture.execute(7, "DELETE FROM photo");
        assertThat(fixture.deploy(more).servers())
                .containsExactly(new ServerReport("db1", 6, 0, 6, 0), new ServerReport("db2", 6, 1, 5, 0));
    }

    @Test
    void createsShardsTogetherAndTheOthersWhenOneFails() throws Exception {
        Path failing = fixture.photos(
                "<changeSet id='here' author='ann'><sql splitStatements='false'>DO $$ BEGIN IF current_schema() = 'shard_0007' THEN RAISE 'not here'; END IF; END $$</sql></changeSet>");

        DeployReport report = fixture.deploy(failing);

        assertThat(report.failures()).singleElement().satisfies(failure -> {
            assertThat(failure.shard()).isEqualTo(7);
            assertThat(failure.changeSet()).isEqualTo("app.xml::here::ann");
            assertThat(failure.error()).contains("not here");
        });
        assertThat(report.servers())
                .containsExactly(new ServerReport("db1", 6, 6, 0, 0), new ServerReport("db2", 6, 5, 0, 1));
        assertThat(transactionsThatCreated(0))
                .as("transactions on db1: the first shard, and five others by two over two connections")
                .isEqualTo("4");
        assertThat(fixture.text(1, "SELECT to_regnamespace('shard_0007')")).isEqualTo("null");
        assertThat(fixture.history(7)).isZero();
    }

    private String transactionsThatCreated(int shard) throws SQLException {
        return fixture.text(
                shard, "SELECT count(DISTINCT xmin::text) FROM pg_namespace WHERE nspname ~ '^shard_[0-9]{4}$'");
    }

    @Test
    void refusesAnEditedChangesetBeforeItChangesAnything() throws Exception {
        fixture.deploy(fixture.photos());
        Path edited = fixture.write(
                "app.xml",
                DeployFixture.PHOTOS
                        .replace("type=\"text\"", "type=\"varchar(10)\"")
                        .replace(
                                "<!-- more -->",
                                "<changeSet id='new' author='ann'><createTable tableName='new'><column name='id' type='bigint'><constraints primaryKey='true'/></column></createTable></changeSet>"));

        assertThatExceptionOfType(DeployException.class)
                .isThrownBy(() -> fixture.deploy(edited))
                .withMessageContaining("changeset app.xml::photo::ann was edited after shard 0 on server db1 had it")
                .withMessageEndingWith("(and 11 more)")
                .satisfies(e -> assertThat(e.hint()).hasValue("write a new changeset instead, or undo the edit"));
        assertThat(fixture.text(0, "SELECT to_regclass('new')")).isEqualTo("null");
    }

    @Test
    void refusesATableWithoutAPrimaryKey() throws Exception {
        Path changelog = fixture.photos(
                "<changeSet id='log' author='ann'><createTable tableName='log'><column name='line' type='text'/></createTable></changeSet>");

        assertThatExceptionOfType(ChangelogFailedException.class)
                .isThrownBy(() -> fixture.deploy(changelog))
                .withMessageContaining("changeset app.xml::log::ann (app.xml) failed on shard 0 of db1: ")
                .withMessageContaining("has no primary key")
                .withMessageContaining("no other shard was started but shard 11 of db2, which failed, too");
        assertThat(fixture.text(0, "SELECT to_regnamespace('shard_0000')")).isEqualTo("null");
    }

    @Test
    @Tag("full")
    void runsAgainWhatIsToRunOnChange() throws Exception {
        String view = """
                --liquibase formatted sql
                --changeset ann:titles runOnChange:true splitStatements:false
                CREATE OR REPLACE VIEW titles AS SELECT '%s' || title AS title FROM ${shard.schema}.photo;
                """;
        fixture.write("view.sql", view.formatted("a "));
        Path changelog = fixture.photos("<include file='view.sql'/>");
        fixture.deploy(changelog);
        fixture.write("view.sql", view.formatted("the "));

        assertThat(fixture.deploy(changelog).servers().get(0).deployed()).isEqualTo(6);

        fixture.execute(3, "INSERT INTO photo (uid, title) VALUES (1, 'end')");
        assertThat(fixture.text(3, "SELECT title FROM titles")).isEqualTo("the end");
        assertThat(fixture.text(
                        3,
                        "SELECT exectype FROM %s WHERE id = 'titles' AND filename LIKE 'shard%%' LIMIT 1"
                                .formatted(ShardHistory.TABLE)))
                .isEqualTo("RERAN");
        assertThat(fixture.history(3)).isEqualTo(3);
    }

    @Test
    @Tag("full")
    void readsYamlJsonAndSqlFiles() throws Exception {
        fixture.write("tables.sql", "CREATE TABLE from_file (id bigint PRIMARY KEY); CREATE INDEX ON from_file (id);");
        fixture.write("b.json", """
                {"databaseChangeLog": [{"changeSet": {"id": "b", "author": "ann", "changes": [{"sqlFile": {"path": "tables.sql"}}]}}]}
                """);
        Path changelog = fixture.write("a.yaml", """
                databaseChangeLog:
                  - changeSet:
                      id: a
                      author: ann
                      changes:
                        - createTable:
                            tableName: from_yaml
                            columns:
                              - column: {name: id, type: bigint, constraints: {primaryKey: true}}
                  - include: {file: b.json}
                """);

        assertThat(fixture.deploy(changelog).isComplete()).isTrue();
        assertThat(fixture.text(5, "INSERT INTO from_file DEFAULT VALUES RETURNING shardflake.id_shard(id)"))
                .isEqualTo("5");
        assertThat(fixture.text(5, "INSERT INTO from_yaml DEFAULT VALUES RETURNING shardflake.id_shard(id)"))
                .isEqualTo("5");
    }

    @Test
    @Tag("full")
    void obeysContextsAndLabels() throws Exception {
        Path changelog = fixture.photos(
                "<changeSet id='test' author='ann' context='test'><sql>INSERT INTO photo (uid) VALUES (1)</sql></changeSet>",
                "<changeSet id='later' author='ann' labels='v2'><sql>INSERT INTO photo (uid) VALUES (2)</sql></changeSet>");
        DeploySettings plain = fixture.settings();
        fixture.deploy(
                changelog,
                fixture.targets(),
                new DeploySettings(
                        directory,
                        "production",
                        "!v2",
                        Map.of(),
                        plain.lockTimeout(),
                        plain.statementTimeout(),
                        plain.tries(),
                        plain.connections(),
                        plain.rest(),
                        false,
                        false,
                        RowChecks.RECORDED));

        assertThat(fixture.text(4, "SELECT count(*) FROM photo")).isEqualTo("0");
        assertThat(fixture.history(4)).isEqualTo(2);
    }

    @Test
    @Tag("full")
    void checksPreconditionsOnEveryShard() throws Exception {
        fixture.deploy(fixture.photos());
        fixture.execute(5, "INSERT INTO photo (uid) VALUES (1)");
        Path more = fixture.photos("""
                <changeSet id='empty' author='ann'>
                  <preConditions onFail='MARK_RAN'><sqlCheck expectedResult='0'>SELECT count(*) FROM ${shard.schema}.photo</sqlCheck></preConditions>
                  <sql>INSERT INTO photo (uid) VALUES (2)</sql>
                </changeSet>
                """);

        assertThat(fixture.deploy(more).isComplete()).isTrue();

        assertThat(fixture.text(5, "SELECT string_agg(uid::text, ',') FROM photo"))
                .isEqualTo("1");
        assertThat(fixture.text(6, "SELECT string_agg(uid::text, ',') FROM photo"))
                .isEqualTo("2");
        assertThat(fixture.text(
                        5,
                        "SELECT exectype FROM %s WHERE filename LIKE 'shard_0005/%%' AND id = 'empty'"
                                .formatted(ShardHistory.TABLE)))
                .isEqualTo("MARK_RAN");
        assertThat(fixture.deploy(more).servers().get(0).deployed()).isZero();
    }

    @Test
    void haltsAtAPreconditionThatDoesNotHold() throws Exception {
        Path changelog = fixture.photos("""
                <changeSet id='never' author='ann'>
                  <preConditions><tableExists tableName='nothing'/></preConditions>
                  <sql>SELECT 1</sql>
                </changeSet>
                """);

        DeployReport report = fixture.deploy(changelog, fixture.targets().subList(0, 1), fixture.settings());

        assertThat(report.failures()).hasSize(6).allSatisfy(failure -> {
            assertThat(failure.changeSet()).isEqualTo("app.xml::never::ann");
            assertThat(failure.error()).contains("its preconditions do not hold");
        });
    }

    @Test
    @Tag("full")
    void buildsIndexesConcurrentlyAndClearsUpAfterOneThatFailed() throws Exception {
        fixture.deploy(fixture.photos());
        fixture.execute(7, "INSERT INTO photo (uid, title) VALUES (1, 'twice'), (2, 'twice')");
        Path more = fixture.photos(
                "<changeSet id='concurrent' author='ann' runInTransaction='false'><sql>CREATE UNIQUE INDEX CONCURRENTLY photo_title ON photo (title)</sql></changeSet>");

        assertThat(fixture.deploy(more).failures()).singleElement().satisfies(failure -> {
            assertThat(failure.shard()).isEqualTo(7);
            assertThat(failure.sql()).startsWith("CREATE UNIQUE INDEX CONCURRENTLY");
        });
        fixture.execute(7, "DELETE FROM photo");
        // As if killed between the index and its line in the history.
        fixture.execute(
                6,
                "DELETE FROM %s WHERE id = 'concurrent' AND filename LIKE 'shard_0006/%%'"
                        .formatted(ShardHistory.TABLE));
        assertThat(fixture.deploy(more).isComplete()).isTrue();

        for (int shard = 0; shard < SHARDS; shard++) {
            assertThat(fixture.text(
                            shard, "SELECT indisvalid FROM pg_index WHERE indexrelid = 'photo_title'::regclass"))
                    .isEqualTo("t");
            assertThat(fixture.history(shard)).isEqualTo(3);
        }
    }

    @Test
    @Tag("full")
    void waitsForLocksWithoutHoldingUpOthers() throws Exception {
        fixture.deploy(fixture.photos());
        Path more = fixture.photos(
                "<changeSet id='place' author='ann'><addColumn tableName='photo'><column name='place' type='text'/></addColumn></changeSet>");
        try (Connection reader = fixture.database(3).connect();
                Statement statement = reader.createStatement()) {
            reader.setAutoCommit(false);
            statement.execute("SELECT count(*) FROM shard_0003.photo");
            ExecutorService thread = Executors.newSingleThreadExecutor();
            DeploySettings settings = new DeploySettings(
                    directory,
                    "",
                    "",
                    Map.of(),
                    Duration.ofMillis(100),
                    Duration.ofMinutes(5),
                    50,
                    2,
                    0,
                    false,
                    false,
                    RowChecks.RECORDED);
            Future<DeployReport> deploying = thread.submit(() -> fixture.deploy(more, fixture.targets(), settings));
            await().atMost(Duration.ofMinutes(1))
                    .pollInterval(Duration.ofMillis(5))
                    .until(() -> !fixture.text(
                                    3,
                                    "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'photo'::regclass")
                            .equals("0"));
            // Behind the deployment's request for the lock, which would wait for the reader.
            fixture.execute(3, "INSERT INTO photo (uid) VALUES (1)");
            assertThat(deploying).isNotDone();

            reader.commit();
            assertThat(deploying.get().isComplete()).isTrue();
            thread.shutdown();
        }
    }

    @Test
    @Tag("full")
    @Timeout(value = 5, unit = TimeUnit.MINUTES)
    void theApplicationIsNeverTheVictimOfADeadlock() throws Exception {
        fixture.deploy(fixture.photos());
        Path more = fixture.photos(
                "<changeSet id='place' author='ann'><addColumn tableName='photo'><column name='place' type='text'/></addColumn></changeSet>",
                "<changeSet id='gate' author='ann'><sql>SELECT pg_advisory_xact_lock(7)</sql></changeSet>",
                "<changeSet id='mood' author='ann'><addColumn tableName='like'><column name='mood' type='text'/></addColumn></changeSet>");
        DeployTarget target =
                new DeployTarget("db1", ServerUrl.parse(fixture.database(2).uri()), ShardSet.of(2));
        try (Connection superuser = fixture.database(2).server().connect();
                Statement grant = superuser.createStatement()) {
            grant.execute("GRANT SET ON PARAMETER deadlock_timeout TO \"%s\""
                    .formatted(fixture.database(2).user()));
        }
        ExecutorService threads = Executors.newCachedThreadPool();
        try (Connection application = fixture.database(2).connect();
                Statement statement = application.createStatement();
                Connection gate = fixture.database(2).connect();
                Statement gates = gate.createStatement()) {
            gates.execute("SELECT pg_advisory_lock(7)");
            application.setAutoCommit(false);
            statement.execute("LOCK TABLE shard_0002.like IN ROW EXCLUSIVE MODE");
            Future<DeployReport> deploying =
                    threads.submit(() -> fixture.deploy(more, List.of(target), fixture.settings()));
            awaitLocks("locktype = 'advisory' AND NOT granted");
            Future<Boolean> reading = threads.submit(() -> statement.execute("SELECT count(*) FROM shard_0002.photo"));
            awaitLocks("locktype = 'relation' AND NOT granted");

            gates.execute("SELECT pg_advisory_unlock(7)"); // Now the deployment waits for the application, too.

            assertThat(reading.get()).isTrue();
            application.commit();
            assertThat(deploying.get().isComplete()).isTrue();
        } finally {
            threads.shutdownNow();
        }
    }

    private void awaitLocks(String which) {
        String count =
                "SELECT count(*) FROM pg_locks WHERE database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND ";
        await().atMost(Duration.ofMinutes(1))
                .pollInterval(Duration.ofMillis(5))
                .until(() -> !fixture.text(2, count + which).equals("0"));
    }

    @Test
    @Tag("full")
    void aDeploymentThatFailsEndsWhenNoSessionOfItWorksAnyMore() throws Exception {
        fixture.deploy(fixture.photos());
        Path more = fixture.photos("<changeSet id='sleep' author='ann'><sql>SELECT pg_sleep(3)</sql></changeSet>");
        String sleepers = " FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'";
        ExecutorService thread = Executors.newSingleThreadExecutor();
        Future<DeployReport> deploying =
                thread.submit(() -> fixture.deploy(more, fixture.targets().subList(0, 1), fixture.settings()));
        await().atMost(Duration.ofMinutes(1))
                .until(() -> fixture.text(0, "SELECT count(*)" + sleepers).equals("2"));

        fixture.execute(0, "SELECT pg_terminate_backend(min(pid))" + sleepers);

        assertThatExceptionOfType(ExecutionException.class)
                .isThrownBy(deploying::get)
                .withMessageContaining("the deployment on server db1 ended early: FATAL: terminating connection");
        assertThat(fixture.text(0, "SELECT count(*)" + sleepers)).isEqualTo("0");
        thread.shutdown();
    }

    /** And one that is refused on a server lets go of the others. */
    @Test
    @Tag("full")
    void oneDeploymentAtATimeWorksOnAServer() throws Exception {
        try (SchemaDeployer first = SchemaDeployer.prepare(
                fixture.photos(), fixture.targets().subList(1, 2), IdLayout.DEFAULT, fixture.settings())) {
            assertThat(first.pendingShards()).isEqualTo(6);
            assertThatExceptionOfType(DeployException.class)
                    .isThrownBy(() -> fixture.deploy(fixture.photos()))
                    .withMessageMatching(
                            "another schema deployment works on server db2: process [0-9]+ of role .* holds its lock\\. Wait for it to end");
        }
        assertThat(fixture.deploy(fixture.photos()).isComplete()).isTrue();
    }

    @Test
    void findsAShardThatDiffersFromItsPeersAfterwards() throws Exception {
        fixture.deploy(fixture.photos());
        fixture.execute(
                5,
                "ALTER TABLE photo ALTER COLUMN title SET NOT NULL; DROP INDEX photo_uid; CREATE INDEX other ON photo (title)");
        Path more = fixture.photos(
                "<changeSet id='place' author='ann'><addColumn tableName='photo'><column name='place' type='text'/></addColumn></changeSet>");

        DeployReport report = fixture.deploy(more);

        assertThat(report.isComplete()).isFalse();
        assertThat(report.differing()).singleElement().satisfies(drift -> {
            assertThat(drift.shard()).isEqualTo(5);
            assertThat(drift.server()).isEqualTo("db2");
            assertThat(drift.differences())
                    // Since PostgreSQL 18 it is a constraint with a name, too.
                    .filteredOn(difference -> !difference.startsWith("not null photo.photo_title_not_null"))
                    .containsExactly(
                            "column photo.title is text NOT NULL, in the other shards text",
                            "index other is not in the other shards: CREATE INDEX other ON photo USING btree (title)",
                            "index photo_uid is missing");
        });
    }

    @Test
    void anIndexThatReplicationCouldNotComputeIsRefused() throws Exception {
        Path changelog = fixture.write("app.sql", """
                --liquibase formatted sql
                --changeset ann:photo splitStatements:false
                CREATE TABLE photo (id bigint PRIMARY KEY, title text);
                CREATE FUNCTION norm(t text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT lower(t)';
                CREATE FUNCTION key(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN norm(t); END';
                CREATE INDEX photo_key ON photo (key(title));
                """);

        DeployReport report = fixture.deploy(changelog);

        assertThat(report.failures())
                .isNotEmpty()
                .allSatisfy(failure -> assertThat(failure.error())
                        .contains(
                                "cannot be computed with an empty search_path, which replication has: index ",
                                ".photo_key, which calls ",
                                ".key(text): function norm(text) does not exist. Give the function its search_path"));
        fixture.write(
                "app.sql", Files.readString(changelog).replace("STRICT AS", "STRICT SET search_path FROM CURRENT AS"));
        assertThat(fixture.deploy(changelog).failures()).isEmpty();
    }

    @Test
    void deploysToSomeShardsFirst() throws Exception {
        List<DeployTarget> canary =
                List.of(new DeployTarget("db1", fixture.targets().get(0).url(), ShardSet.of(4)));

        assertThat(fixture.deploy(fixture.photos(), canary, fixture.settings()).servers())
                .containsExactly(new ServerReport("db1", 1, 1, 0, 0));
        assertThat(fixture.history(4)).isEqualTo(2);
        assertThat(fixture.text(0, "SELECT to_regnamespace('shard_0000')")).isEqualTo("null");
    }

    @Test
    void saysWhatIsWrongWithAChangelog() throws IOException {
        Path broken = fixture.write("app.xml", "<databaseChangeLog>");

        assertThatExceptionOfType(DeployException.class)
                .isThrownBy(() -> fixture.deploy(broken))
                .withMessageStartingWith("cannot read changelog app.xml: ");
        assertThatExceptionOfType(DeployException.class)
                .isThrownBy(() -> fixture.deploy(directory.resolve("none.xml")))
                .withMessage("cannot read changelog %s: there is no such file", directory.resolve("none.xml"));
        assertThatExceptionOfType(DeployException.class)
                .isThrownBy(() -> fixture.deploy(directory))
                .withMessageEndingWith(": it is a directory");
        assertThatExceptionOfType(DeployException.class)
                .isThrownBy(() -> fixture.deploy(fixture.write("app.txt", "")))
                .withMessage(
                        "cannot read changelog app.txt: Liquibase knows no changelogs with names like this; they end with .sql, .xml, .yaml, .yml or .json");
        // Liquibase alone would run the first changeset twice.
        Path empty = fixture.write("empty.sql", """
                --liquibase formatted sql
                --changeset ann:1
                CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL);
                -- Changeset ann:2 runOnChange:true
                -- to be written
                """);
        assertThatExceptionOfType(DeployException.class)
                .isThrownBy(() -> fixture.deploy(empty))
                .withMessage("cannot read changelog empty.sql: No SQL for changeset empty.sql::2::ann");
    }
}
