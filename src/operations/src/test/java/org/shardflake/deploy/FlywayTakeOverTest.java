/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.flywaydb.core.Flyway;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.IdLayout;
import org.shardflake.ShardSet;
import org.shardflake.adoption.AdoptionPlan;
import org.shardflake.adoption.PlanFiles;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.flyway.AppliedMigrations;
import org.shardflake.flyway.FlywayOrder;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.FunctionLibrary;

/**
 * A database that Flyway has migrated is planned into shards, which take over its history: later migrations do in them what Flyway does in the old
 * database, and the same ones are refused. The old schema has the name of a shard, so that it can be described as one.
 */
class FlywayTakeOverTest {

    private static final int SHARD = 3;
    private static final ShardSet BOTH = ShardSet.of(SHARD, SHARD + 1);
    private static final int OLD = 0;
    private static final int NEW = 1;
    private static final long SEED = Long.getLong("tests.seed", 7);

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    private Path directory;

    private Path migrations;
    private Path plan;

    @BeforeEach
    void createOldSchema() throws Exception {
        migrations = Files.createDirectory(directory.resolve("migrations"));
        plan = directory.resolve("adoption.yaml");
        try (Connection old = postgres.database(OLD).connect()) {
            FunctionLibrary.deploy(old, IdLayout.DEFAULT.epochMillis());
            Sql.execute(old, "SELECT shardflake.create_shard(%s)".formatted(SHARD));
            settings().checks().record(List.of(old));
        }
    }

    @AfterEach
    void drop() throws SQLException {
        for (int server = 0; server < 3; server++) {
            try (Connection connection = postgres.database(server).connect()) {
                Sql.execute(
                        connection, "DROP SCHEMA IF EXISTS shard_0003, shard_0004, shardflake_deploy, history CASCADE");
            }
        }
    }

    private void write(String file, String text) throws IOException {
        Files.writeString(migrations.resolve(file), text);
    }

    private void writeFirst() throws IOException {
        write(
                "V0.1__accounts.sql",
                "CREATE TABLE account (uid bigint PRIMARY KEY, name text NOT NULL);\nCOMMENT ON COLUMN account.uid IS 'shard key';\n");
        write(
                "V0.2__notes.sql",
                "CREATE TABLE note (id uuid PRIMARY KEY, uid bigint NOT NULL REFERENCES account, body ${type} DEFAULT '${word}');\nCREATE INDEX note_uid ON note (uid);\nCOMMENT ON COLUMN note.uid IS 'shard key';\n");
        write("V0.2.1__by_name.sql", "CREATE INDEX CONCURRENTLY account_name ON account (name);\n");
        write("R__names.sql", "CREATE OR REPLACE VIEW names AS SELECT name FROM account;\n");
    }

    private Flyway flyway() {
        return PlainFlyway.of(postgres.database(OLD), SHARD, migrations, RandomMigrations.PLACEHOLDERS, false);
    }

    private PlanFiles.Report plan(boolean mayRewrite) throws IOException {
        return new PlanFiles(plan, directory, mayRewrite)
                .plan(ServerUrl.parse(postgres.database(OLD).uri()), "shard_0003.account.uid", "");
    }

    private AppliedMigrations applied() throws IOException {
        return AppliedMigrations.read(directory.resolve("adoption.flyway.yaml"));
    }

    private DeploySettings settings() {
        return FlywayDifferenceTest.settings(migrations, FlywayOrder.STRICT);
    }

    private DeployReport deploy(Path changelog, DeploySettings settings, ShardSet shards) throws Exception {
        DeployTarget target =
                new DeployTarget("db1", ServerUrl.parse(postgres.database(NEW).uri()), shards);
        try (SchemaDeployer deployer = SchemaDeployer.prepare(changelog, List.of(target), IdLayout.DEFAULT, settings)) {
            return deployer.deploy(done -> {});
        }
    }

    private void deployPlanned() throws Exception {
        DeploySettings settings =
                DeploySettings.defaults(directory).withChecks(settings().checks());
        assertThat(deploy(directory.resolve("shards.sql"), settings, BOTH).failures())
                .isEmpty();
    }

    private void takeOver() throws Exception {
        DeployReport report = deploy(migrations, settings().withApplied(applied()), BOTH);
        assertThat(report.failures()).isEmpty();
        assertThat(report.differing()).isEmpty();
    }

    private void deployLater() throws Exception {
        DeployReport report = deploy(migrations, settings(), BOTH);
        assertThat(report.failures()).isEmpty();
        assertThat(report.differing()).isEmpty();
    }

    /** The objects that differ; a plan says of each key that it is one. */
    private static Set<String> differences() throws SQLException {
        try (Connection old = postgres.database(OLD).connect();
                Connection shards = postgres.database(NEW).connect()) {
            Sql.execute(old, "SET shardflake.checks = off; SELECT shardflake.complete_tables(%s)".formatted(SHARD));
            Set<String> different = new TreeSet<>();
            PlainFlyway.without(old, SHARD, () -> {
                Map<String, String> before = ShardDescription.describe(old, SHARD, false);
                Map<String, String> after = ShardDescription.describe(shards, SHARD, false);
                different.addAll(before.keySet());
                different.addAll(after.keySet());
                different.removeIf(object -> Objects.equals(before.get(object), after.get(object)));
                assertThat(PlainLiquibase.rows(shards, SHARD)).isEqualTo(PlainLiquibase.rows(old, SHARD));
            });
            different.removeIf(object -> object.matches("comment on column (account|note)[.]uid"));
            return different;
        }
    }

    @Test
    void laterMigrationsDoInShardsWhatFlywayDoesInTheOldDatabase() throws Exception {
        System.out.println("later migrations: -Dtests.seed=" + SEED);
        writeFirst();
        flyway().migrate();

        AdoptionPlan planned = plan(false).plan();
        assertThat(planned.tables()).extracting(table -> table.name().table()).containsExactly("account", "note");
        assertThat(planned.leftOut())
                .extracting(AdoptionPlan.LeftOut::problem)
                .contains("Flyway's history, shard_0003.flyway_schema_history, whose last version is 0.2.1");
        assertThat(applied().last()).contains("0.2.1");
        deployPlanned();
        assertThat(differences()).isNotEmpty().allMatch(object -> object.contains("names")); // the view

        refusedAlike(settings().withApplied(applied()));
        write("V0.3__more.sql", "ALTER TABLE note ADD COLUMN more ${type} DEFAULT '${word}';\n");
        takeOver();
        flyway().migrate();
        assertThat(differences()).isEmpty();
        takeOver(); // has nothing left to do

        refusedAlike(settings());
        RandomMigrations later = new RandomMigrations(new Random(SEED), migrations);
        for (int step = 0; step < 2; step++) {
            for (int i = 0; i < 5; i++) {
                later.add();
            }
            later.addRepeatable();
            write(
                    "R__names.sql",
                    "CREATE OR REPLACE VIEW names AS SELECT name, %s AS step FROM account;\n".formatted(step));
            flyway().migrate();
            deployLater();
            assertThat(differences()).isEmpty();
        }
        try (Connection shards = postgres.database(NEW).connect();
                Connection target = postgres.database(2).connect()) {
            FunctionLibrary.deploy(target, IdLayout.DEFAULT.epochMillis());
            ShardSchemaCopy copy = new ShardSchemaCopy(shards, target);
            assertThat(copy.rehearse(BOTH)).isEmpty();
            copy.create(BOTH);
            assertThat(copy.differences(BOTH)).isEmpty();
        }
    }

    /** Changes what the old database has had, in each of the ways that Flyway refuses, and takes the change back. */
    private void refusedAlike(DeploySettings settings) throws Exception {
        Path file = migrations.resolve("V0.2__notes.sql");
        String text = Files.readString(file);
        Files.writeString(file, text + "-- edited");
        refusedAlike(settings, "checksum mismatch for migration version 0.2");
        Files.delete(file);
        refusedAlike(settings, "not resolved locally: 0.2");
        write("V0.2__other.sql", text);
        refusedAlike(settings, "description mismatch for migration version 0.2");
        Files.delete(migrations.resolve("V0.2__other.sql"));
        Files.writeString(file, text.replace("\n", "\r\n"));
        write("V0.1.5__lower.sql", "SELECT 1;");
        refusedAlike(settings, "not applied to database: 0.1.5");
        Files.delete(migrations.resolve("V0.1.5__lower.sql"));
        Path view = migrations.resolve("R__names.sql");
        String its = Files.readString(view);
        Files.delete(view);
        refusedAlike(settings, "not resolved locally: names");
        Files.writeString(view, its);
    }

    private void refusedAlike(DeploySettings settings, String why) {
        assertThat(FlywayDifferenceTest.problem(() -> flyway().migrate()))
                .startsWith("Validate failed")
                .contains(why);
        String ours = FlywayDifferenceTest.problem(() -> deploy(migrations, settings, BOTH));
        assertThat(ours).startsWith("shard 3 on server db1: ").contains(why);
    }

    @Test
    void whatIsNotAMigrationOfFilesIsTakenOverAsFlywayCountsIt() throws Exception {
        String tables =
                "CREATE TABLE account (uid bigint PRIMARY KEY, name text NOT NULL); CREATE TABLE note (id uuid PRIMARY KEY, uid bigint REFERENCES account NOT NULL); COMMENT ON COLUMN account.uid IS 'shard key'; COMMENT ON COLUMN note.uid IS 'shard key';";
        try (Connection old = postgres.database(OLD).connect()) {
            Sql.execute(old, "SET search_path = shard_0003, public; " + tables);
        }
        write("V0.1__tables.sql", tables);
        write("V0.2__gone.sql", "ALTER TABLE note ADD COLUMN gone int;");
        write("V0.3__java.sql", "SELECT 1;");
        Flyway based = Flyway.configure()
                .configuration(flyway().getConfiguration())
                .baselineVersion("0.1")
                .load();
        based.baseline();
        based.migrate();
        Files.delete(migrations.resolve("V0.2__gone.sql"));
        based.repair();
        try (Connection old = postgres.database(OLD).connect()) {
            Sql.execute(old, "UPDATE shard_0003.flyway_schema_history SET type = 'JDBC' WHERE version = '0.3'");
        }
        plan(false);
        deployPlanned();
        assertThat(applied().migrations())
                .extracting(AppliedMigrations.Applied::type)
                .containsExactly("BASELINE", "SQL", "JDBC", "DELETE");

        DeploySettings taking = settings().withApplied(applied());
        // Flyway takes the file for another migration, and never runs it.
        assertThat(FlywayDifferenceTest.problem(() -> deploy(migrations, taking, BOTH)))
                .contains("type mismatch for migration version 0.3");
        Files.delete(migrations.resolve("V0.3__java.sql"));
        takeOver();
        try (Connection old = postgres.database(OLD).connect()) { // Flyway would look for a class
            Sql.execute(old, "DELETE FROM shard_0003.flyway_schema_history WHERE version = '0.3'");
        }
        write("V0.0.1__below.sql", "SELECT 1 / 0;");
        write("V0.4__later.sql", "ALTER TABLE account ADD COLUMN later int;");
        deployLater();
        based.migrate();
        assertThat(differences()).isEmpty();
        write("V0.3__java.sql", "SELECT 1;");
        assertThat(FlywayDifferenceTest.problem(() -> deploy(migrations, settings(), BOTH)))
                .contains("type mismatch for migration version 0.3");
    }

    @Test
    void aHistoryIsNotTakenOverWhereItIsNotTrue() throws Exception {
        writeFirst();
        flyway().migrate();
        plan(false);
        DeploySettings taking = settings().withApplied(applied());

        assertThat(FlywayDifferenceTest.problem(() -> deploy(migrations, taking, BOTH)))
                .contains("it has none of the tables that this history is about");
        assertThat(deploy(migrations, settings(), ShardSet.of(SHARD)).failures())
                .isEmpty();
        AppliedMigrations before = applied();
        write("V0.3__more.sql", "ALTER TABLE note ADD COLUMN more int;\n");
        flyway().migrate();
        // The changelog is older than the migration, which shards therefore run.
        assertThat(plan(false).kept())
                .anyMatch(
                        kept -> kept.contains(
                                "Flyway has applied migrations since, which shards get by running them; the last version is now 0.3"));
        assertThat(applied()).isEqualTo(before);
        assertThat(plan(true).kept()).isEmpty();
        assertThat(applied().last()).contains("0.3");
        DeploySettings now = settings().withApplied(applied());
        assertThat(FlywayDifferenceTest.problem(() -> deploy(migrations, now, ShardSet.of(SHARD))))
                .contains("it has had other migrations, so it cannot take over this history");

        try (Connection shards = postgres.database(NEW).connect()) {
            Sql.execute(shards, "DROP SCHEMA shard_0003, shardflake_deploy CASCADE");
        }
        deployPlanned();
        assertThat(deploy(migrations, now, ShardSet.of(SHARD)).failures()).isEmpty();
        assertThat(FlywayDifferenceTest.problem(() -> deploy(migrations, settings(), BOTH)))
                .contains("shard 4 on server db1 lacks the history of Flyway that other shards have taken over");
        write("V0.4__failing.sql", "CREATE INDEX CONCURRENTLY failing ON nowhere (id);");
        assertThat(FlywayDifferenceTest.problem(() -> flyway().migrate())).contains("nowhere");
        plan(true);
        refusedAlike(settings().withApplied(applied()), "Detected failed migration to version 0.4 (failing)");
    }
}
