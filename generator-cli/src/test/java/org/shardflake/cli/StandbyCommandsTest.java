/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.cluster.PostgresStandby;

/** Two servers, each with a standby that every URL lists first; the catalog is on the first server. */
class StandbyCommandsTest {

    private static final String CHANGELOG = """
            --liquibase formatted sql
            --changeset ann:note
            CREATE TABLE note (id bigint PRIMARY KEY, uid bigint NOT NULL);
            --changeset ann:note_ids runWith:jdbc splitStatements:false
            SELECT shardflake.add_id_sequence('note', 'id');
            """;

    @TempDir
    static Path directory;

    private static PostgresCluster cluster;
    private static PostgresStandby standby1;
    private static PostgresStandby standby2;

    @BeforeAll
    static void start() throws IOException {
        cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(2)
                .start();
        standby1 = cluster.standbyOf(cluster.server(0));
        standby2 = cluster.standbyOf(cluster.server(1));
        succeed(launch("init", "--shards=8", "--server=db1=" + both(0), "--server=db2=" + both(1)));
        Path changelog = Files.writeString(directory.resolve("notes.sql"), CHANGELOG);
        succeed(launch("schema", "deploy", "--changelog=" + changelog, "--search-path=" + directory));
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    @AfterEach
    void replay() throws SQLException {
        standby1.resumeReplay();
        standby1.awaitReplay();
    }

    /** The standby first. */
    private static String both(int server) {
        return (server == 0 ? standby1 : standby2).uriOfBoth("postgres");
    }

    private static Result launch(String... args) {
        return launchWith(both(0), args);
    }

    private static Result launchWith(String catalog, String... args) {
        return Cli.launch(InputStream.nullInputStream(), Map.of("SHARDFLAKE_CATALOG", catalog), args);
    }

    private static Result succeed(Result result) {
        assertThat(result.exitCode()).as(result.toString()).isZero();
        return result;
    }

    private static String query(PostgresServer server, String sql) throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return String.valueOf(row.getString(1));
        }
    }

    private static void execute(PostgresServer server, String sql) throws SQLException {
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static String onlyStandby() {
        return standby1.uri("postgres");
    }

    /** What a split does is in SplitterIT; here both servers' URLs have the standby, so it is refused. */
    @Test
    void aServerIsNotSplitByAStandbyThatItsUrlNames() {
        Result missing = launch("server", "split", "db1", "--yes");
        assertThat(missing.exitCode()).isEqualTo(2);
        assertThat(missing.err()).contains("--standby is missing");

        Result none = launch("server", "split", "db1", "--cancel", "--yes");
        assertThat(none.exitCode()).isEqualTo(4);
        assertThat(none.err()).contains("db1 is not being split");

        String[] split = {"server", "split", "db1", "--standby=" + onlyStandby(), "--as=db9", "--shards=0-1"};
        Result checked = launch(
                Stream.concat(Arrays.stream(split), Stream.of("--dry-run")).toArray(String[]::new));
        assertThat(checked.exitCode()).as(checked.toString()).isEqualTo(4);
        assertThat(checked.out()).containsPattern("standby +ok").containsPattern("standby-unknown +failed");

        Result refused =
                launch(Stream.concat(Arrays.stream(split), Stream.of("--yes")).toArray(String[]::new));
        assertThat(refused.exitCode()).isEqualTo(4);
        assertThat(refused.err()).contains("check standby-unknown failed").contains("hint: take the standby out");
        assertThat(launch("server", "list").out()).doesNotContain("db9");
    }

    @Test
    void everyCommandGoesToThePrimaryOfAnUrlThatListsAStandbyFirst() throws Exception {
        Result init = launch("init", "--dry-run", "--shards=8", "--server=db1=" + both(0), "--catalog=" + both(1));
        assertThat(init.exitCode()).as(init.toString()).isEqualTo(4);
        assertThat(init.err())
                .startsWith("error: there are servers of other installations among these"); // so it was asked
        succeed(launch("id", "next", "--server=" + both(0), "--shard=1", "--table=note"));
        succeed(launch("server", "change", "db1", "--label=zone=a"));
        succeed(launch("map", "import", "--dry-run", exported().toString()));
        succeed(launch("move", "run", "--shards=1", "--to=db2"));
        succeed(launch("move", "run", "--shards=1", "--to=db1"));
        succeed(launch("reconcile"));
        succeed(launch("doctor", "--fix"));
        succeed(launch("rebalance", "plan"));

        assertThat(query(cluster.server(1), "SELECT count(*) FROM pg_subscription"))
                .isEqualTo("0");
    }

    private static Path exported() throws IOException {
        return Files.writeString(
                directory.resolve("map.yaml"), succeed(launch("map", "export")).out());
    }

    @Test
    @Tag("full")
    void reconcileDoesNotTakeAMoveForAnOrphanBecauseTheStandbyOfTheCatalogLags() throws SQLException {
        standby1.awaitReplay();
        standby1.pauseReplay();
        succeed(launchWith(cluster.server(0).uri("postgres"), "move", "start", "--shards=2", "--to=db2"));
        try {
            Result reconciled = launch("reconcile");

            assertThat(reconciled.out()).doesNotContain("fixed");
            assertThat(query(cluster.server(0), "SELECT string_agg(pubname, ' ' ORDER BY pubname) FROM pg_publication"))
                    .matches("(shardflake_\\w+_forward) \\1_all");
            assertThat(query(
                            cluster.server(0), "SELECT count(*) FROM pg_replication_slots WHERE slot_type = 'logical'"))
                    .isEqualTo("1");
            assertThat(query(cluster.server(1), "SELECT count(*) FROM pg_subscription"))
                    .isEqualTo("1");
        } finally {
            succeed(launchWith(cluster.server(0).uri("postgres"), "move", "cancel", "--yes"));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "reconcile",
                "reconcile --dry-run",
                "schema deploy --changelog=notes.sql --search-path=.",
                "server change db1 --label=zone=b",
                "server remove db2 --yes",
                "map import map.yaml",
                "move start --shards=3 --to=db2",
                "move run --shards=3 --to=db2",
                "move complete 99",
                "server drain db2",
                "rebalance plan",
                "rebalance apply plan.yaml",
                "rebalance run",
                "adopt run --table=note --key=uid --from=postgresql://nowhere/app",
                "doctor --fix",
            })
    void whatDecidesOrWritesRefusesACatalogThatIsAStandby(String command) throws IOException {
        exported();
        Files.deleteIfExists(directory.resolve("plan.yaml"));
        succeed(launch("rebalance", "plan", "--file=" + directory.resolve("plan.yaml")));
        String[] args = command.replace(
                        "notes.sql", directory.resolve("notes.sql").toString())
                .replace("map.yaml", directory.resolve("map.yaml").toString())
                .replace("plan.yaml", directory.resolve("plan.yaml").toString())
                .split(" ");

        Result result = launchWith(onlyStandby(), args);

        assertThat(result.exitCode()).as(result.toString()).isEqualTo(4);
        assertThat(result.err())
                .contains("error: ")
                .contains("is a standby (in recovery)")
                .contains("hint: give the URL of the primary");
    }

    @Test
    void whatDecidesOrWritesRefusesAServerThatIsAStandby() {
        Result initialized =
                launch("init", "--dry-run", "--shards=8", "--server=db1=" + onlyStandby(), "--catalog=" + both(1));
        Result drawn = launch("id", "next", "--server=" + onlyStandby(), "--shard=1", "--table=note");

        assertThat(initialized.exitCode()).as(initialized.toString()).isEqualTo(4);
        assertThat(initialized.err()).contains("is a standby (in recovery)");
        assertThat(drawn.exitCode()).as(drawn.toString()).isEqualTo(4);
        assertThat(drawn.err()).contains("is a standby (in recovery)");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "adopt run --table=old_note --into=note --key=uid --from=db2",
                "rebalance plan",
                "server drain db2",
                "move start --dry-run --shards=1 --to=db2"
            })
    void whatReadsShardsRefusesAServerOfTheMapThatIsAStandby(String command) throws SQLException {
        String whole = query(cluster.server(0), "SELECT url FROM shardflake_catalog.server WHERE name = 'db1'");
        execute(cluster.server(1), "CREATE TABLE old_note (id bigint PRIMARY KEY, uid bigint NOT NULL)");
        execute(
                cluster.server(0),
                "UPDATE shardflake_catalog.server SET url = '%s' WHERE name = 'db1'".formatted(onlyStandby()));
        try {
            Result result =
                    launch(command.replace("from=db2", "from=" + both(1)).split(" "));

            assertThat(result.exitCode()).as(result.toString()).isEqualTo(4);
            assertThat(result.err())
                    .contains("error: ")
                    .contains("is a standby (in recovery)")
                    .contains("hint: give the URL of the primary");
        } finally {
            execute(
                    cluster.server(0),
                    "UPDATE shardflake_catalog.server SET url = '%s' WHERE name = 'db1'".formatted(whole));
            execute(cluster.server(1), "DROP TABLE old_note");
        }
    }

    @Test
    void adoptRefusesAnOldDatabaseThatIsAStandby() {
        Result result = launch("adopt", "run", "--table=note", "--key=uid", "--from=" + onlyStandby());

        assertThat(result.exitCode()).as(result.toString()).isEqualTo(4);
        assertThat(result.err()).contains("is a standby (in recovery)").contains("hint: give the URL of the primary");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"map show", "map locate --shard 3", "map export", "map history", "server list", "move status"})
    void whatOnlyReadsTakesAStandbyWhereThereIsNoPrimaryAndSaysSo(String command) {
        Result fromPrimary = succeed(launch(command.split(" ")));
        Result fromStandby = succeed(launchWith(onlyStandby(), command.split(" ")));

        assertThat(fromPrimary.err()).isEmpty();
        assertThat(fromStandby.out()).isEqualTo(fromPrimary.out());
        assertThat(fromStandby.err())
                .startsWith("warning: the catalog at ")
                .contains(" is a standby (in recovery): what is shown may be old");
    }
}
