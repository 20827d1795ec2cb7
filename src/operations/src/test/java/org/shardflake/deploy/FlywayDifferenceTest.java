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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import org.flywaydb.core.api.FlywayException;
import org.flywaydb.core.api.MigrationInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.IdLayout;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.Sharding;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.flyway.FlywayDirectory;
import org.shardflake.flyway.FlywayOrder;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.FunctionLibrary;

/**
 * Migrations made at random, by Flyway itself in one schema and by deployments in shards: the same schema, rows, checksums and order, and the
 * same refusals.
 *
 * <p>{@code -Dtests.seed} repeats a run, and {@code -Dtests.rounds} makes it longer.
 */
class FlywayDifferenceTest {

    private static final long SEED = Long.getLong("tests.seed", 7);
    private static final int ROUNDS = Integer.getInteger("tests.rounds", 1);
    private static final int NAMES = 40;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    static DeploySettings settings(Path directory, FlywayOrder order) {
        DeploySettings plain = LiquibaseDifferenceTest.settings(directory);
        return new DeploySettings(
                directory,
                "",
                "",
                RandomMigrations.PLACEHOLDERS,
                plain.lockTimeout(),
                plain.statementTimeout(),
                plain.tries(),
                plain.connections(),
                plain.rest(),
                false,
                false,
                plain.checks(),
                Optional.of(order),
                Optional.empty());
    }

    @Test
    void migrationsDoInAShardWhatFlywayDoesInASchema() throws Exception {
        System.out.println("random migrations: -Dtests.seed=" + SEED);
        Random random = new Random(SEED);
        try (Connection plain = postgres.database(0).connect();
                Connection shards = postgres.database(1).connect();
                Connection target = postgres.database(2).connect()) {
            FunctionLibrary.deploy(plain, IdLayout.DEFAULT.epochMillis());
            FunctionLibrary.deploy(target, IdLayout.DEFAULT.epochMillis());
            for (int round = 0; round < ROUNDS; round++) {
                Path its = Files.createDirectory(directory.resolve("round" + round));
                RandomMigrations migrations = new RandomMigrations(random, its);
                int shard = 2 * round + 1;
                ShardSet both = ShardSet.of(shard, shard + 1);
                Sql.execute(
                        plain,
                        "SELECT shardflake.create_shard(%s), shardflake.create_shard(%s)".formatted(shard, shard + 1));
                for (int step = 0; step < 3; step++) {
                    for (int i = 0; i < 5; i++) {
                        migrations.add();
                    }
                    migrations.addRepeatable();
                    if (step == 2) {
                        migrations.addLower();
                    }
                    compareRefusals(migrations, its, shard, random);
                    boolean any = step == 2;
                    PlainFlyway.of(postgres.database(0), shard, its, RandomMigrations.PLACEHOLDERS, any)
                            .migrate();
                    FlywayOrder order = any ? FlywayOrder.OUT_OF_ORDER : FlywayOrder.STRICT;
                    assertThat(deploy(its, step == 2 ? both : ShardSet.of(shard), order))
                            .isEmpty();
                    compare(plain, shards, shard);
                }
                PlainFlyway.of(postgres.database(0), shard + 1, its, RandomMigrations.PLACEHOLDERS, false)
                        .migrate();
                compare(plain, shards, shard + 1); // which got everything in one deployment
                ShardSchemaCopy copy = new ShardSchemaCopy(shards, target);
                assertThat(copy.rehearse(both)).isEmpty();
                copy.create(both);
                assertThat(copy.differences(both)).isEmpty();
            }
        }
    }

    private static void compare(Connection plain, Connection shards, int shard) throws SQLException {
        Sql.execute(plain, "SET shardflake.checks = off; SELECT shardflake.complete_tables(%s)".formatted(shard));
        assertThat(history(shards, shard)).isEqualTo(PlainFlyway.history(plain, shard));
        PlainFlyway.without(plain, shard, () -> {
            assertThat(ShardDescription.describe(shards, shard, false))
                    .isEqualTo(ShardDescription.describe(plain, shard, false));
            assertThat(PlainLiquibase.rows(shards, shard)).isEqualTo(PlainLiquibase.rows(plain, shard));
        });
    }

    /** What a shard has had, in order, as Flyway's table says it. */
    private static List<String> history(Connection connection, int shard) throws SQLException {
        return Sql.list(
                connection,
                "SELECT CASE WHEN id = 'R' THEN id ELSE description END, author, split_part(md5sum, ':', 2) FROM %s WHERE filename ~ '^~?%s/flyway$' ORDER BY orderexecuted"
                        .formatted(ShardHistory.TABLE, Sharding.schema(shard)),
                row -> "%s %s %s"
                        .formatted(
                                row.getString(1)
                                        .replaceFirst(".*V([0-9._]*?)(__.*)?[.]sql", "$1")
                                        .replace('_', '.'),
                                row.getString(2),
                                row.getString(3)));
    }

    /** Changes what a shard has had already, in each of the ways that Flyway refuses, and takes the change back. */
    private void compareRefusals(RandomMigrations migrations, Path its, int shard, Random random) throws Exception {
        List<Path> had = migrations
                .versioned()
                .subList(0, Math.max(0, migrations.versioned().size() - 5));
        if (had.isEmpty()) {
            return;
        }
        Path file = had.get(random.nextInt(had.size()));
        String text = Files.readString(file);
        Files.writeString(file, text + "\n-- edited");
        refusedAlike(its, shard);
        Files.writeString(file, text.replace("\n", "\r"));
        String name = file.getFileName().toString();
        Path renamed = file.resolveSibling(name.replaceFirst("(__.*)?[.]sql", "__another name.sql"));
        Files.move(file, renamed);
        refusedAlike(its, shard);
        Files.delete(renamed);
        refusedAlike(its, shard);
        Files.writeString(file, text);
        if (!migrations.repeatable().isEmpty()) {
            Path view = migrations.repeatable().get(0);
            Path away = view.resolveSibling("away.txt");
            Files.move(view, away);
            refusedAlike(its, shard);
            Files.move(away, view);
        }
        Path lower = its.resolve("V0.0.1.sql");
        Files.writeString(lower, "SELECT 1;");
        refusedAlike(its, shard);
        Files.delete(lower);
    }

    /** Has both refuse before anything is changed, in the same words. */
    private static void refusedAlike(Path its, int shard) {
        String ofFlyway =
                problem(() -> PlainFlyway.of(postgres.database(0), shard, its, RandomMigrations.PLACEHOLDERS, false)
                        .migrate());
        String ours = problem(() -> deploy(its, ShardSet.of(shard), FlywayOrder.STRICT));
        assertThat(ofFlyway).startsWith("Validate failed");
        assertThat(ours).startsWith("shard ");
        for (String line : ours.replaceFirst(" \\(and \\S+ more\\)$", "")
                .replaceFirst("^shard .*?: ", "")
                .split("\n", -1)) {
            // Equal versions have one text here, without zeros in front and at the end.
            assertThat(ofFlyway).contains(line.replaceFirst("(not resolved locally: )[0-9.]+$", "$1"));
        }
    }

    /** Names made at random: those that Flyway takes for migrations, and what it says of others. */
    @Test
    void filesMeanWhatFlywaySaysTheyMean() throws Exception {
        Random random = new Random(SEED);
        int taken = 0;
        int refused = 0;
        for (int round = 0; round < NAMES; round++) {
            Path its = Files.createDirectory(directory.resolve("names" + round));
            List<String> names = new ArrayList<>();
            for (int i = 0; i <= random.nextInt(3); i++) {
                names.add(RandomMigrations.name(random));
                write(its.resolve(names.get(i)), random);
            }
            List<String> expected = new ArrayList<>();
            String ofFlyway = problem(() -> Arrays.stream(PlainFlyway.of(postgres.database(0), 0, its, Map.of(), false)
                            .info()
                            .all())
                    .map(FlywayDifferenceTest::facts)
                    .forEach(expected::add));
            List<String> actual = new ArrayList<>();
            String ours = problem(() -> FlywayDirectory.read(its, Map.of(), "s").stream()
                    .map(migration -> "%s %s %s"
                            .formatted(
                                    migration.isRepeatable() ? "R" : migration.version(),
                                    migration.description(),
                                    migration.checksum().split(":", -1)[1]))
                    .forEach(actual::add));
            if (ours.startsWith("there is no migration")) {
                ours = "";
            }
            assertThat(actual)
                    .as("%s: %s, %s", names, ofFlyway, ours)
                    .isEqualTo(ofFlyway.isEmpty() ? expected : List.of());
            assertThat(ours.isEmpty()).as("%s: %s, %s", names, ofFlyway, ours).isEqualTo(ofFlyway.isEmpty());
            for (String line : ofFlyway.split("\r?\n", -1)) {
                if (line.matches("(Unrecognised|Invalid (versioned|repeatable)|Found more).*")) {
                    // Either of two equal versions may come first.
                    assertThat(ours).contains(line.replaceFirst("(with version) [0-9.]+$", "$1"));
                }
            }
            taken += actual.size();
            refused += ours.isEmpty() ? 0 : 1;
        }
        assertThat(List.of(taken, refused)).allMatch(count -> count > 3);
    }

    private static String facts(MigrationInfo info) {
        return "%s %s %s"
                .formatted(
                        info.getVersion() == null ? "R" : info.getVersion().toString(),
                        info.getDescription(),
                        info.getChecksum());
    }

    private static void write(Path file, Random random) throws IOException {
        if (file.toString().endsWith(".conf")) {
            Files.writeString(file, "executeInTransaction=true");
            return;
        }
        StringBuilder text = new StringBuilder();
        for (int i = random.nextInt(12); i > 0; i--) {
            text.append(List.of(
                            "a",
                            "\n",
                            "\r",
                            "\r\n",
                            "\ufeff",
                            "ü",
                            "\ud83d\ude00",
                            "'",
                            "$",
                            "{",
                            "--",
                            ";",
                            "\t",
                            "\u2028",
                            "\f")
                    .get(random.nextInt(15)));
        }
        // Whether a placeholder is one is compared by migrations that run.
        Files.writeString(file, text.toString().replace("${", "$"));
    }

    private static List<ShardFailure> deploy(Path its, ShardSet shards, FlywayOrder order) throws Exception {
        DeployTarget db =
                new DeployTarget("db1", ServerUrl.parse(postgres.database(1).uri()), shards);
        try (SchemaDeployer deployer =
                SchemaDeployer.prepare(its, List.of(db), IdLayout.DEFAULT, settings(its, order))) {
            return deployer.deploy(done -> {}).failures();
        }
    }

    /** Returns the message of the refusal, or an empty text if there is none. */
    static String problem(Attempt attempt) {
        try {
            attempt.run();
            return "";
        } catch (FlywayException | ShardflakeException | IllegalArgumentException e) {
            return String.valueOf(e.getMessage());
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    @FunctionalInterface
    interface Attempt {
        void run() throws Exception;
    }
}
