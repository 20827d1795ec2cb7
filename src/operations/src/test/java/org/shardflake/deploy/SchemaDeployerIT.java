/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.BufferedReader;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.deploy.DeployReport.ServerReport;
import org.shardflake.jdbc.Sql;

@Tag("full")
class SchemaDeployerIT {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private static final String SESSIONS =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'";

    @TempDir
    private Path directory;

    @Test
    void leavesTheOneShardOfHundredsThatFailsAsItWas() throws Exception {
        int shards = 400;
        int failing = 234;
        int half = shards / 2;
        DeployFixture fixture = new DeployFixture(postgres, 2, shards, directory);
        fixture.deploy(fixture.photos());
        fixture.execute(failing, "CREATE VIEW place AS SELECT 1 AS one");
        Path more = fixture.photos(
                "<changeSet id='title' author='ann'><dropColumn tableName='photo' columnName='title'/></changeSet>",
                "<changeSet id='place' author='ann'><createTable tableName='place'><column name='id' type='bigint'><constraints primaryKey='true'/></column></createTable></changeSet>");

        DeployReport report = fixture.deploy(more);

        assertThat(report.servers())
                .containsExactly(
                        new ServerReport("db1", half, half - 1, 0, 1), new ServerReport("db2", half, half, 0, 0));
        assertThat(report.failures()).singleElement().satisfies(failure -> {
            assertThat(failure.shard()).isEqualTo(failing);
            assertThat(failure.changeSet()).isEqualTo("app.xml::place::ann");
            assertThat(failure.sql()).startsWith("CREATE TABLE place (");
            assertThat(failure.error()).contains("relation \"place\" already exists");
        });
        assertThat(fixture.history(failing)).isEqualTo(2);
        assertThat(fixture.text(failing, "SELECT count(title) FROM photo")).isEqualTo("0");

        fixture.execute(failing, "DROP VIEW place");
        DeployReport again = fixture.deploy(more);

        assertThat(again.isComplete()).isTrue();
        assertThat(again.servers())
                .containsExactly(
                        new ServerReport("db1", half, 1, half - 1, 0), new ServerReport("db2", half, 0, half, 0));
        fixture.drop();
    }

    /** Every round adds tables to the shards, is killed when a random number of them is done, and run again. */
    @Test
    void goesOnWhereItWasKilled() throws Exception {
        int shards = 100;
        int kills = 10;
        DeployFixture fixture = new DeployFixture(postgres, 2, shards, directory);
        fixture.deploy(fixture.photos());
        Random random = new Random(5);
        List<String> tables = new ArrayList<>();
        int halfway = 0;
        for (int round = 0; round < kills; round++) {
            tables.add(
                    "<changeSet id='t%1$s' author='ann'><createTable tableName='t%1$s'><column name='id' type='bigint'><constraints primaryKey='true'/></column></createTable><createTable tableName='u%1$s'><column name='id' type='bigint'><constraints primaryKey='true'/></column></createTable></changeSet>"
                            .formatted(round));
            Path changelog = fixture.photos(tables.toArray(String[]::new));

            killWhenDone(random.nextInt(shards * 3 / 4), round, fixture, changelog);
            int done = wholeShards(fixture, round);
            halfway += done > 0 && done < shards ? 1 : 0;

            DeployReport report = fixture.deploy(changelog);
            assertThat(report.isComplete()).isTrue();
            assertThat(report.servers().stream()
                            .mapToInt(ServerReport::deployed)
                            .sum())
                    .isEqualTo(shards - done);
            assertThat(wholeShards(fixture, round)).isEqualTo(shards);
        }
        for (int shard = 0; shard < shards; shard++) {
            assertThat(fixture.history(shard)).isEqualTo(2 + kills);
        }
        assertThat(halfway).isPositive();
        System.out.printf("killed %s times, %s of them halfway: every shard whole or as it was%n", kills, halfway);
        fixture.drop();
    }

    /** Kills a deployment when so many shards are done, or soon afterwards. */
    private void killWhenDone(int shards, int round, DeployFixture fixture, Path changelog) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                DeployProcess.class.getName(),
                directory.toString(),
                changelog.toString()));
        List<DeployTarget> targets = fixture.targets();
        for (int server = 0; server < 2; server++) {
            command.add(fixture.database(server).uri());
            command.add(targets.get(server).shards().toString());
        }
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader out = process.inputReader()) {
            assertThat(out.readLine()).isEqualTo("begin");
            await().atMost(Duration.ofMinutes(2))
                    .pollInterval(Duration.ofMillis(20))
                    .until(() -> !process.isAlive() || wholeShards(fixture, round) >= shards);
            process.destroyForcibly().waitFor();
        }
        // A session whose client is gone ends its statement first, and that may be a commit.
        for (int server = 0; server < 2; server++) {
            try (Connection connection = fixture.database(server).connect()) {
                await().atMost(Duration.ofMinutes(2)).until(() -> Sql.number(connection, SESSIONS) == 0);
            }
        }
    }

    /** How many shards have both tables of a round and its line in the history; fails for any that has some of them. */
    private static int wholeShards(DeployFixture fixture, int round) throws SQLException {
        int whole = 0;
        for (int server = 0; server < 2; server++) {
            try (Connection connection = fixture.database(server).connect();
                    Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery("""
                            SELECT n.nspname,
                                   (SELECT count(*) FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname IN ('t%1$s', 'u%1$s')),
                                   (SELECT count(*) FROM %2$s h WHERE h.id = 't%1$s' AND h.filename = n.nspname || '/app.xml')
                              FROM pg_namespace n WHERE n.nspname ~ '^shard_[0-9]{4}$'
                            """.formatted(round, ShardHistory.TABLE))) {
                while (row.next()) {
                    assertThat(row.getInt(2)).as(row.getString(1)).isEqualTo(2 * row.getInt(3));
                    whole += row.getInt(3);
                }
            }
        }
        return whole;
    }
}
