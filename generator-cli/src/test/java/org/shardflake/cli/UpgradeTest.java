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
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.ShardRouter;
import org.shardflake.sql.CatalogSchema;
import org.shardflake.sql.FunctionLibrary;

/** An installation of 0.1.0, from a dump: servers db1 with four shards and db2 with none, and a catalog on a third server. */
class UpgradeTest {

    private static final int CATALOG = 2;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    private Path directory;

    private final CliInstallation databases = new CliInstallation(postgres);

    @BeforeEach
    void restoreTheFirstRelease() throws SQLException, IOException {
        if (postgres.restore("0.1.0")) {
            return;
        }
        FirstRelease.restore(postgres.database(0), postgres.database(1), postgres.database(CATALOG));
        postgres.save("0.1.0");
    }

    private Result launch(String... args) {
        return Cli.launch(
                InputStream.nullInputStream(),
                Map.of("SHARDFLAKE_CATALOG", databases.url(CATALOG), "PGPASSWORD", databases.password()),
                args);
    }

    private Result succeed(String... args) {
        Result result = launch(args);
        assertThat(result.exitCode()).as(result.toString()).isZero();
        return result;
    }

    private static String page() throws IOException {
        return Files.readString(Path.of("../src/docs/guide/upgrading.md"));
    }

    private String everything() throws SQLException {
        return databases.everything(0) + databases.everything(1) + databases.everything(CATALOG);
    }

    private void assertCurrent() throws SQLException {
        for (int server = 0; server < 2; server++) {
            try (Connection connection = postgres.database(server).connect()) {
                assertThat(FunctionLibrary.isCurrent(connection)).isTrue();
            }
        }
        try (Connection connection = postgres.database(CATALOG).connect()) {
            assertThat(CatalogSchema.missing(connection)).isEmpty();
            assertThat(CatalogSchema.version(connection)).isEqualTo(CatalogSchema.version());
        }
    }

    /** Applications that insert rows through a router, and draw ids with SQL, into one set of ids by table. */
    private final class Load implements AutoCloseable {

        private final ShardRouter router = ShardRouter.builder()
                .catalog(postgres.database(CATALOG).uri())
                .credentials(postgres.database(0).server().user(), databases.password())
                .build();
        private final ExecutorService threads = Executors.newCachedThreadPool();
        private final Set<Long> ids = ConcurrentHashMap.newKeySet();
        private final Queue<Object> failures = new ConcurrentLinkedQueue<>();
        private volatile boolean stopped;

        Load() {
            for (int shard = 0; shard < 4; shard++) {
                int uid = shard;
                threads.execute(() -> run(() -> insert(uid)));
            }
            threads.execute(() -> run(this::draw));
            threads.execute(() -> run(this::draw));
        }

        private interface Work {
            void run() throws SQLException;
        }

        private void run(Work work) {
            while (!stopped) {
                AdoptSlicesTest.rest();
                try {
                    work.run();
                } catch (SQLException | RuntimeException e) {
                    failures.add(e);
                }
            }
        }

        private void insert(long uid) throws SQLException {
            add(router.write(uid, tx -> {
                try (PreparedStatement insert = tx.connection()
                        .prepareStatement(tx.sql("INSERT INTO ${shard.schema}.photo (uid) VALUES (?) RETURNING id"))) {
                    insert.setLong(1, uid);
                    return first(insert.executeQuery());
                }
            }));
        }

        private void draw() throws SQLException {
            try (Connection connection = postgres.database(0).connect();
                    Statement statement = connection.createStatement()) {
                for (int i = 0; i < 100; i++) {
                    add(first(statement.executeQuery("SELECT shard_0001.next_id('shard_0001.photo_id_seq')")));
                }
            }
        }

        private static long first(ResultSet row) throws SQLException {
            row.next();
            return row.getLong(1);
        }

        private void add(long id) {
            if (!ids.add(id)) {
                failures.add("id %s came twice".formatted(id));
            }
        }

        void awaitMore() throws InterruptedException {
            int enough = ids.size() + 500;
            long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(2);
            while (ids.size() < enough) {
                assertThat(System.nanoTime())
                        .as("no 500 ids in two minutes: %s", failures.peek())
                        .isLessThan(deadline);
                Thread.sleep(5);
            }
        }

        @Override
        public void close() throws InterruptedException {
            stopped = true;
            threads.shutdown();
            assertThat(threads.awaitTermination(1, TimeUnit.MINUTES)).isTrue();
            router.close();
        }
    }

    @Test
    void theFirstReleaseIsBroughtUpWhileApplicationsRun() throws Exception {
        try (Load load = new Load()) {
            load.awaitMore();
            Result upgrade = succeed("upgrade");
            assertThat(upgrade.out())
                    .startsWith("SERVER   FROM  TO  CHANGES\n")
                    .containsPattern("catalog +1 +%s +\\d+\n".formatted(CatalogSchema.version()));
            assertThat(upgrade.err()).endsWith("catalog is at version %s\n".formatted(CatalogSchema.version()));
            assertThat(page()).contains((upgrade.err() + upgrade.out()).indent(7));
            load.awaitMore();
            assertThat(load.failures).isEmpty();
        }
        assertCurrent();
        assertThat(succeed("upgrade").out()).isEqualTo("2 servers and the catalog are up to date\n");

        assertThat(succeed("doctor").out()).isEqualTo("2 servers with 4 shards: nothing found\n");
        assertThat(databases.query(0, "SELECT string_agg(title, ',' ORDER BY title) FROM shard_0002.photo"))
                .isEqualTo("d,e");
        succeed("move", "run", "--shards=2", "--to=db2");
        assertThat(databases.query(1, "SELECT string_agg(title, ',' ORDER BY title) FROM shard_0002.photo"))
                .isEqualTo("d,e");
        succeed("restore-point", "upgraded");
    }

    @Test
    void doctorSaysThatTheCatalogIsBehind() {
        assertThat(launch("doctor").out())
                .containsPattern("warning +catalog +catalog-version +is of version 1, and this command has %s\n"
                        .formatted(CatalogSchema.version()));
        assertThat(launch("restore-point", "early").err()).isEqualTo("""
                error: the catalog is missing, or of a version without restore points
                hint: bring it up to date with shardflake upgrade
                """);
    }

    /** Only an upgrade brings the catalog up to date, after every server. */
    @Test
    void anOlderCatalogKeepsNoApplicationUrls() throws SQLException, IOException {
        String pooler = "postgresql://app@pooler:6432/app";
        refuses(
                "the catalog is of an older version, which keeps no application URL, as server db1 has",
                "server",
                "change",
                "db1",
                "--application-url=" + pooler);
        refuses(
                "hint: bring it up to date with shardflake upgrade",
                "server",
                "add",
                "db3",
                databases.url(CATALOG),
                "--application-url=" + pooler);
        Path map = directory.resolve("map.yaml");
        Files.writeString(
                map,
                succeed("map", "export").out().replaceFirst("( +)url: .*\n", "$0$1applicationUrl: " + pooler + "\n"));
        refuses("which keeps no application URL", "map", "import", map.toString());
    }

    @Test
    void aDryRunShowsWhatWouldChangeAndChangesNothingAsThePageSays() throws SQLException, IOException {
        String before = everything();
        String page = page();

        Result dryRun = succeed("upgrade", "--dry-run");
        assertThat(dryRun.err()).isEqualTo("dry run: nothing was changed\n");
        assertThat(dryRun.out())
                .startsWith("SERVER   FROM  TO  CHANGES\ndb1 ")
                .contains("\ncatalog gets catalog_restore_points\n");
        assertThat(dryRun.out().lines()).allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(80));
        assertThat(dryRun.out().lines().toList())
                .containsAll(page.lines()
                        .map(String::strip)
                        .filter(line -> line.matches("\\w+ gets \\w+"))
                        .toList());
        assertThat(page)
                .contains(
                        dryRun.out().substring(0, dryRun.out().indexOf("\n\n")).indent(7));
        assertThat(succeed("upgrade", "--dry-run", "-o", "json").out())
                .startsWith("[{\"server\":\"db1\",\"from\":1,\"to\":")
                .contains("\"catalog_restore_points\"");
        assertThat(everything()).isEqualTo(before);
    }

    /** A function of both servers is out of date in any case, and the catalog refuses what it gets. */
    @Test
    @Tag("full")
    void anUpgradeThatWasInterruptedIsTakenUpByTheSameCommand() throws SQLException {
        for (int server = 0; server < 2; server++) {
            databases.execute(
                    server, "UPDATE shardflake.databasechangelog SET md5sum = '9:old' WHERE id = 'is_fenced'");
        }
        databases.execute(CATALOG, """
                CREATE FUNCTION refuse_tables() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no room''; END';
                CREATE EVENT TRIGGER refuse_tables ON ddl_command_start WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION refuse_tables()
                """);

        Result interrupted = launch("upgrade");
        assertThat(interrupted.exitCode()).isEqualTo(ExitCodes.FAILURE);
        assertThat(interrupted.err())
                .startsWith(
                        "db1 is at version %1$s\ndb2 is at version %1$s\nerror: ".formatted(FunctionLibrary.version()))
                .contains("no room");
        databases.execute(CATALOG, "DROP EVENT TRIGGER refuse_tables");

        Result rest = succeed("upgrade");
        // The servers still lack the installation's id, which a catalog of the older version could not give.
        assertThat(rest.err())
                .isEqualTo("db1 is at version %1$s\ndb2 is at version %1$s\ncatalog is at version %2$s\n"
                        .formatted(FunctionLibrary.version(), CatalogSchema.version()));
        assertThat(rest.out()).containsPattern("db1 +%1$s +%1$s +1\n".formatted(FunctionLibrary.version()));
        assertCurrent();
    }

    @Test
    @Tag("full")
    void aNewerServerOrCatalogIsRefusedAndNothingIsChanged() throws SQLException {
        databases.execute(
                1, "CREATE OR REPLACE FUNCTION shardflake.library_version() RETURNS integer LANGUAGE sql RETURN 99");
        refusesUpgrade("the function library is deployed in version 99");

        databases.execute(
                1, "CREATE OR REPLACE FUNCTION shardflake.library_version() RETURNS integer LANGUAGE sql RETURN 1");
        databases.execute(
                CATALOG,
                "CREATE OR REPLACE FUNCTION shardflake_catalog.catalog_version() RETURNS integer LANGUAGE sql RETURN 99");
        refusesUpgrade("the catalog is deployed in version 99");
    }

    @Test
    void aMoveThatSomebodyWorksOnIsLeftInPeace() throws SQLException {
        databases.execute(
                CATALOG,
                "INSERT INTO shardflake_catalog.move (tag, source, target) VALUES ('m1_abcdef', 'db1', 'db2')");
        try (Connection lease = postgres.database(CATALOG).connect();
                Statement statement = lease.createStatement()) {
            statement.execute("SELECT pg_advisory_lock(hashtext('shardflake.move'), 1)");
            refusesUpgrade("a command works on move 1; nothing was changed");
        }
    }

    @Test
    @Tag("full")
    void aDeploymentIsLeftInPeace() throws SQLException {
        try (Connection deployment = postgres.database(1).connect();
                Statement statement = deployment.createStatement()) {
            statement.execute("SELECT pg_advisory_lock(hashtext('shardflake.schema'))");
            refusesUpgrade("another schema deployment works on server db2");
        }
    }

    private void refusesUpgrade(String message) throws SQLException {
        refuses(message, "upgrade");
    }

    private void refuses(String message, String... args) throws SQLException {
        String before = everything();
        Result refused = launch(args);
        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(refused.err()).contains(message);
        assertThat(everything()).isEqualTo(before);
    }
}
