/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.IdLayout;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.FunctionLibrary;

/** One changelog, by Liquibase's own command in one schema and by a deployment in shards: the same schema, the same rows. */
class LiquibaseDifferenceTest {

    private static final int SHARD = 3;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static final Path DIRECTORY = Path.of("src/test/resources").toAbsolutePath();

    private static DeploySettings settings() {
        return settings(DIRECTORY);
    }

    /** For changelogs of which Liquibase's own command is given the same contexts, labels and properties. */
    static DeploySettings settings(Path directory) {
        DeploySettings plain = DeploySettings.defaults(directory);
        return new DeploySettings(
                directory,
                "test",
                "v1",
                Map.of("given", "there"),
                plain.lockTimeout(),
                plain.statementTimeout(),
                plain.tries(),
                plain.connections(),
                plain.rest(),
                false,
                false,
                new RowChecks(false, null, 2000));
    }

    private final Locale locale = Locale.getDefault();

    /** Plain Liquibase cannot write dates in the locale of this module's tests. */
    @BeforeEach
    void chooseLocale() {
        Locale.setDefault(Locale.ROOT);
    }

    @AfterEach
    void restoreLocale() {
        Locale.setDefault(locale);
    }

    @Test
    void everyChangeOfLiquibaseDoesInAShardWhatItDoesInASchema() throws Exception {
        String changelog = "org/shardflake/deploy/plain/root.xml";
        try (Connection plain = postgres.database(0).connect();
                Connection shards = postgres.database(1).connect();
                Connection target = postgres.database(2).connect()) {
            FunctionLibrary.deploy(plain, IdLayout.DEFAULT.epochMillis());
            FunctionLibrary.deploy(target, IdLayout.DEFAULT.epochMillis());
            Sql.execute(plain, "SELECT shardflake.create_shard(%s)".formatted(SHARD));
            PlainLiquibase.update(plain, SHARD, DIRECTORY, changelog, settings());
            Sql.execute(plain, "SET shardflake.checks = off; SELECT shardflake.complete_tables(%s)".formatted(SHARD));

            ShardSet both = ShardSet.of(SHARD, SHARD + 1);
            DeployTarget db =
                    new DeployTarget("db1", ServerUrl.parse(postgres.database(1).uri()), both);
            try (SchemaDeployer deployer =
                    SchemaDeployer.prepare(DIRECTORY.resolve(changelog), List.of(db), IdLayout.DEFAULT, settings())) {
                assertThat(deployer.deploy(done -> {}).failures()).isEmpty();
            }

            for (int shard : both.stream().toArray()) {
                assertThat(ShardDescription.describe(shards, shard, false))
                        .isEqualTo(ShardDescription.describe(plain, SHARD, false));
                Map<String, List<String>> expected = PlainLiquibase.rows(plain, SHARD);
                Map<String, List<String>> actual = PlainLiquibase.rows(shards, shard);
                assertThat(actual.keySet()).isEqualTo(expected.keySet());
                expected.forEach((table, rows) ->
                        assertThat(actual.get(table)).as(table).containsExactlyInAnyOrderElementsOf(rows));
            }
            ShardSchemaCopy copy = new ShardSchemaCopy(shards, target);
            assertThat(copy.rehearse(both)).isEmpty();
            copy.create(both);
            assertThat(copy.differences(both)).isEmpty();
        }
    }

    /** A changeset may have run twice, and what was made in between may depend on its first run. Settings hold as long as Liquibase's do. */
    @Test
    void aReplayRunsWhatTheShardHasRun(@TempDir Path directory) throws Exception {
        String start = """
                --liquibase formatted sql
                --changeset a:1
                CREATE TABLE photo (id int PRIMARY KEY);
                CREATE TYPE mood AS ENUM ('sad', 'so');
                SET TimeZone = 'Asia/Tokyo';
                --changeset a:view runOnChange:true splitStatements:false
                CREATE OR REPLACE VIEW photos AS SELECT id%s FROM photo;
                --changeset a:3
                CREATE VIEW few AS SELECT id FROM photos WHERE id < 10;
                ALTER TYPE mood ADD VALUE 'it''s' BEFORE 'so';
                SET LOCAL work_mem = '64kB';
                --changeset a:4
                CREATE TABLE setting (id int PRIMARY KEY, value text, at timestamptz DEFAULT '2020-01-01 00:00');
                INSERT INTO setting VALUES (1, current_setting('work_mem') || current_setting('TimeZone'));
                """;
        String more = """
                --changeset a:5
                ALTER TABLE photo ADD COLUMN title text, ADD COLUMN mood mood DEFAULT 'it''s';
                CREATE TABLE later (id int PRIMARY KEY, at timestamptz DEFAULT '2020-01-01 00:00');
                """;
        try (Connection shards = postgres.database(1).connect();
                Connection target = postgres.database(2).connect()) {
            FunctionLibrary.deploy(target, IdLayout.DEFAULT.epochMillis());
            Path changelog = directory.resolve("app.sql");
            DeploySettings settings = DeploySettings.defaults(directory);
            for (String text :
                    List.of(start.formatted(""), start.formatted("") + more, start.formatted(", title") + more)) {
                Files.writeString(changelog, text);
                deploy(changelog, ShardSet.of(60, 61), settings);
            }

            assertThat(String.valueOf(PlainLiquibase.rows(shards, 61).get("setting")))
                    .contains(Sql.text(target, "SELECT current_setting('work_mem')"), "Tokyo", "2019-12-31 15:00");
            ShardSchemaCopy copy = new ShardSchemaCopy(shards, target);
            assertThat(copy.rehearse(ShardSet.of(60, 61))).isEmpty();
            copy.create(ShardSet.of(60, 61));
            assertThat(Sql.list(target, DEFAULTS, row -> row.getString(1)))
                    .isEqualTo(Sql.list(shards, DEFAULTS, row -> row.getString(1)))
                    .hasSize(6);
            assertThat(Sql.text(target, "SHOW TimeZone")).isEqualTo(Sql.text(shards, "SHOW TimeZone"));
            // The target knows the same.
            Sql.execute(shards, "SELECT shardflake.drop_shard(60, true)");
            new ShardSchemaCopy(target, shards).create(ShardSet.of(60));
            assertThat(new ShardSchemaCopy(target, shards).differences(ShardSet.of(60)))
                    .isEmpty();
        }
    }

    private static final String DEFAULTS =
            "SELECT adrelid::regclass || ' ' || pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid::regclass::text ~ '^shard_006[01]' ORDER BY 1";

    /** What an earlier deployment has completed, a later changeset may use; so it has to be there when all come at once, too. */
    @Test
    void changesetsDoTheSameOneByOneAndAllAtOnce(@TempDir Path directory) throws Exception {
        String head = "--liquibase formatted sql\n";
        String[] changesets = {
            "--changeset a:1\nCREATE TABLE photo (id bigint PRIMARY KEY, title text);",
            "--changeset a:2\nINSERT INTO photo (title) VALUES ('first');",
            "--changeset a:3\nGRANT USAGE ON ALL SEQUENCES IN SCHEMA ${shard.schema} TO PUBLIC;",
            "--changeset a:4\nALTER TABLE photo RENAME TO picture;",
            "--changeset a:5\nCREATE TABLE note (id bigint PRIMARY KEY);",
            "--changeset a:6\nALTER TABLE note DROP CONSTRAINT id_of_shard;",
            "--changeset a:7 runInTransaction:false\nCREATE TABLE late (id bigint PRIMARY KEY);",
            "--changeset a:8\nINSERT INTO late DEFAULT VALUES;",
        };
        Path changelog = directory.resolve("app.sql");
        DeploySettings settings = DeploySettings.defaults(directory);
        try (Connection shards = postgres.database(1).connect();
                Connection target = postgres.database(2).connect()) {
            FunctionLibrary.deploy(target, IdLayout.DEFAULT.epochMillis());
            StringBuilder text = new StringBuilder(head);
            for (String changeset : changesets) {
                Files.writeString(changelog, text.append(changeset).append("\n\n"));
                deploy(changelog, ShardSet.of(11), settings);
            }
            deploy(changelog, ShardSet.of(12, 13), settings);

            assertThat(ShardDescription.describe(shards, 12, false))
                    .isEqualTo(ShardDescription.describe(shards, 11, false))
                    .isEqualTo(ShardDescription.describe(shards, 13, false));
            assertThat(PlainLiquibase.rows(shards, 12).get("picture")).hasSize(1);
            assertThat(new ShardSchemaCopy(shards, target).rehearse(ShardSet.of(11, 12)))
                    .isEmpty();
        }
    }

    private static void deploy(Path changelog, ShardSet shards, DeploySettings settings) throws Exception {
        DeployTarget db =
                new DeployTarget("db1", ServerUrl.parse(postgres.database(1).uri()), shards);
        try (SchemaDeployer deployer = SchemaDeployer.prepare(changelog, List.of(db), IdLayout.DEFAULT, settings)) {
            assertThat(deployer.deploy(done -> {}).failures()).isEmpty();
        }
    }

    /** A foreign key locks the table that it refers to, and a collation a table of the catalog, until its transaction ends. */
    @Test
    void noShardFailsByALockOfAnother(@TempDir Path directory) throws Exception {
        Path changelog = Files.writeString(directory.resolve("app.sql"), """
                --liquibase formatted sql
                --changeset a:1
                CREATE TABLE photo (id bigint PRIMARY KEY, country int REFERENCES reference.country);
                CREATE COLLATION plain (provider = icu, locale = 'de');
                SELECT pg_sleep(0.05);
                """);
        try (Connection shards = postgres.database(1).connect()) {
            Sql.execute(
                    shards,
                    "CREATE SCHEMA IF NOT EXISTS reference; CREATE TABLE reference.country (id int PRIMARY KEY)");
            DeploySettings plain = DeploySettings.defaults(directory);
            deploy(
                    changelog,
                    ShardSet.range(20, 40),
                    new DeploySettings(
                            directory,
                            "",
                            "",
                            Map.of(),
                            Duration.ofMillis(20),
                            plain.statementTimeout(),
                            2,
                            4,
                            0,
                            false,
                            false,
                            RowChecks.RECORDED));
        }
    }

    @Test
    void whatCannotBeDoneToShardsIsRefusedByName(@TempDir Path directory) throws Exception {
        String xml = """
                <databaseChangeLog xmlns="http://www.liquibase.org/xml/ns/dbchangelog" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
                    xsi:schemaLocation="http://www.liquibase.org/xml/ns/dbchangelog http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-latest.xsd">
                <changeSet id="command" author="a"><executeCommand executable="ls"/></changeSet>
                <changeSet id="custom" author="a"><customChange class="org.shardflake.deploy.PlainChange"/></changeSet>
                <changeSet id="stop" author="a"><stop>enough</stop></changeSet>
                <changeSet id="other" author="a"><createTable schemaName="audit" tableName="log"><column name="id" type="int"/></createTable></changeSet>
                <changeSet id="failing" author="a" failOnError="false"><empty/></changeSet>
                <changeSet id="psql" author="a" runWith="psql"><sql>SELECT 1</sql></changeSet>
                <changeSet id="position" author="a"><addColumn tableName="t"><column name="c" type="int" afterColumn="b"/></addColumn></changeSet>
                <changeSet id="fine" author="a"><empty/></changeSet>
                </databaseChangeLog>
                """;
        Path changelog = Files.writeString(directory.resolve("app.xml"), xml);

        assertThatExceptionOfType(DeployRefusedException.class)
                .isThrownBy(() -> deploy(changelog, ShardSet.of(50), DeploySettings.defaults(directory)))
                .withMessageStartingWith("7 changesets cannot be deployed to shards. No shard was changed\n")
                .withMessageContaining("- changeset app.xml::command::a has executeCommand, ")
                .withMessageContaining(
                        "- changeset app.xml::custom::a has customChange (class org.shardflake.deploy.PlainChange), ")
                .withMessageContaining(
                        "- changeset app.xml::stop::a has stop, which ends an update in the middle (enough)")
                .withMessageContaining("- changeset app.xml::other::a (app.xml) names schema audit, ")
                .withMessageContaining("- changeset app.xml::failing::a has failOnError=false")
                .withMessageContaining("- changeset app.xml::psql::a has runWith=psql")
                .withMessageContaining(
                        "- changeset app.xml::position::a is not valid: addAfterColumn is not allowed on postgresql")
                .withMessageNotContaining("fine");
    }

    /** Liquibase stores U+FFFD in its place. */
    @Test
    void textThatIsNotUtf8IsRefusedByName(@TempDir Path directory) throws Exception {
        String text = "INSERT INTO town VALUES (1, 'Zürich')";
        Files.writeString(directory.resolve("file.sql"), text, StandardCharsets.ISO_8859_1);
        Files.writeString(directory.resolve("town.csv"), "id,name\n2,Zürich\n", StandardCharsets.ISO_8859_1);
        Path formatted = Files.writeString(
                directory.resolve("formatted.sql"),
                "--liquibase formatted sql\n--changeset a:1\nCREATE TABLE town (id int PRIMARY KEY, name text);\n--changeset a:2\n%s;\n"
                        .formatted(text),
                StandardCharsets.ISO_8859_1);
        String yaml = """
                databaseChangeLog:
                  - changeSet: {id: 1, author: a, changes: [{sql: {sql: "CREATE TABLE town (id int PRIMARY KEY, name text)"}}]}
                  - changeSet: {id: 2, author: a, changes: [{sqlFile: {path: file.sql}}]}
                """;
        Path file = Files.writeString(directory.resolve("file.yaml"), yaml);
        Path loaded = Files.writeString(
                directory.resolve("loaded.yaml"),
                yaml.replace("{sqlFile: {path: file.sql}}", "{loadData: {tableName: town, file: town.csv}}"));
        for (Path changelog : List.of(formatted, file, loaded)) {
            assertThatExceptionOfType(DeployException.class)
                    .isThrownBy(() -> deploy(changelog, ShardSet.of(54), DeploySettings.defaults(directory)))
                    .withMessageContaining("changeset %s::2::a".formatted(changelog.getFileName()))
                    .withMessageContaining("has text that is not UTF-8, and U+FFFD would be stored in its place");
        }
        Files.writeString(file, yaml.replace("path: file.sql", "path: file.sql, encoding: ISO-8859-1"));
        deploy(file, ShardSet.of(54), DeploySettings.defaults(directory));
        try (Connection shards = postgres.database(1).connect()) {
            assertThat(Sql.text(shards, "SELECT name FROM shard_0054.town")).isEqualTo("Zürich");
        }
    }

    @Test
    void whatIsDoneOutsideTheShardAsItRunsIsRefusedByName(@TempDir Path directory) throws Exception {
        try (Connection shards = postgres.database(1).connect()) {
            Sql.execute(
                    shards, "CREATE SCHEMA IF NOT EXISTS reference; CREATE TABLE reference.town (id int PRIMARY KEY)");
            for (String sql : List.of(
                    "DO $$ BEGIN EXECUTE 'CREATE ' || 'SCHEMA audit'; END $$",
                    "DO $$ BEGIN EXECUTE format('CREATE TABLE %I.log (id int)', 'public'); END $$",
                    "DO $$ BEGIN EXECUTE 'INSERT ' || 'INTO reference' || '.town VALUES (1)'; END $$",
                    "CREATE VIEW towns AS SELECT * FROM reference.town; CREATE VIEW few AS SELECT * FROM towns WHERE id < 9; CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO few VALUES (NEW.id); RETURN NEW; END $$",
                    "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('INSERT INTO reference.%I VALUES ($1)', 'town') USING NEW.id; RETURN NEW; END $$",
                    "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE format('UPDATE %I.town SET id = 3', 'reference'); RETURN NEW; END $$")) {
                Path changelog = Files.writeString(
                        directory.resolve("app.sql"),
                        "--liquibase formatted sql\n--changeset a:0\nSELECT 1;\n--changeset a:1 splitStatements:false\n%s;\n"
                                .formatted(sql));
                assertThatExceptionOfType(DeployRefusedException.class)
                        .isThrownBy(() -> deploy(changelog, ShardSet.of(51), DeploySettings.defaults(directory)))
                        .withMessageStartingWith("changeset app.sql::1::a ")
                        .withMessageMatching("(?s).*(No shard was changed|shards only read reference tables)");
            }
            assertThat(Sql.number(shards, "SELECT count(*) FROM reference.town"))
                    .isZero();
            assertThat(Sql.text(shards, "SELECT COALESCE(to_regnamespace('shard_0051')::text, 'none')"))
                    .isEqualTo("none");
        }
    }

    @Test
    void allTablesWithoutAKeyAreNamedWithTheirChangesets(@TempDir Path directory) throws Exception {
        Path changelog = Files.writeString(directory.resolve("app.sql"), """
                --liquibase formatted sql
                --changeset a:1
                CREATE TABLE one (id int);
                CREATE TABLE two (id int);
                CREATE TABLE fine (id int);
                --changeset a:2
                CREATE TABLE three (id int);
                ALTER TABLE fine ADD PRIMARY KEY (id);
                --changeset a:3
                INSERT INTO fine VALUES (1);
                """);

        assertThatExceptionOfType(ChangelogFailedException.class)
                .isThrownBy(() -> deploy(changelog, ShardSet.of(52, 53), DeploySettings.defaults(directory)))
                .withMessageStartingWith("""
                        changeset app.sql::1::a (app.sql) failed on shard 52 of db1: 3 tables have no primary key
                        - table one, of changeset app.sql::1::a
                        - table two, of changeset app.sql::1::a
                        - table three, of changeset app.sql::2::a
                        """);

        Files.writeString(changelog, "--liquibase formatted sql\n--changeset a:0\nSELECT 1;\n");
        deploy(changelog, ShardSet.of(52), DeploySettings.defaults(directory));
        try (Connection shards = postgres.database(1).connect()) {
            Sql.execute(shards, "CREATE TABLE shard_0052.stray (id int)");
            Files.writeString(
                    changelog,
                    "--liquibase formatted sql\n--changeset a:0\nSELECT 1;\n--changeset a:1\nCREATE TABLE one (id int);\n");
            assertThatExceptionOfType(ChangelogFailedException.class)
                    .isThrownBy(() -> deploy(changelog, ShardSet.of(52), DeploySettings.defaults(directory)))
                    .withMessageContaining("""
                            - table stray, which was there before
                            - table one, of changeset app.sql::1::a
                            """);
        }
    }
}
