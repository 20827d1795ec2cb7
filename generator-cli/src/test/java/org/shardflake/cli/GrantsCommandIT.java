/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.ManagedRole;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;

/** Runs exactly the script that the command prints, for a role that has nothing else, and then the commands as that role. */
@Tag("full")
class GrantsCommandIT {

    private static final String CHANGELOG = """
            --liquibase formatted sql
            --changeset ann:photo
            CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL, title text);
            """;

    private static final String PASSWORD = "a secret of grants";

    private static final Path PROCESSES = Path.of("/proc");

    /** The catalog is apart from the servers. */
    private static final int CATALOG = 2;

    private static final String LOG = "current_setting('data_directory') || '/../postgres.log'";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(4);

    @TempDir
    Path directory;

    private final CliInstallation installation = new CliInstallation(postgres);

    @BeforeEach
    void roles() throws SQLException {
        if (!postgres.restore("bare")) {
            postgres.save("bare");
        }
        everywhere(ManagedRole.createByPassword());
        for (String role : List.of("grants_owner", "grants_role")) {
            everywhere(
                    "DROP ROLE IF EXISTS %1$s; CREATE ROLE %1$s LOGIN PASSWORD '%2$s'; GRANT logs_in_by_password TO %1$s"
                            .formatted(role, PASSWORD));
        }
    }

    @AfterEach
    void drop() throws SQLException {
        postgres.restore("bare");
        everywhere("DROP ROLE IF EXISTS grants_owner, grants_role");
    }

    private void everywhere(String sql) throws SQLException {
        for (int server = 0; server < 4; server++) {
            installation.execute(server, sql);
        }
    }

    private String url(String role, int server) {
        return postgres.database(server).uri(role, "");
    }

    private Result as(String role, String... args) {
        return Cli.launch(
                new ByteArrayInputStream(new byte[0]),
                Map.of("SHARDFLAKE_CATALOG", url(role, CATALOG), "PGPASSWORD", PASSWORD, "PGUSER", role),
                args);
    }

    /** The URLs of the map have no user, so each command comes as its own. */
    private String anybody(int server) {
        return url("x", server).replace("x@", "");
    }

    private void succeeds(String role, String... args) {
        Result result = as(role, args);
        assertThat(result.exitCode())
                .as("%s%n%s", Arrays.toString(args), result)
                .isZero();
    }

    private String changelog() throws Exception {
        return Files.writeString(directory.resolve("app.sql"), CHANGELOG).toString();
    }

    /** An installation that belongs to a role with the grants for deployments. */
    private void install() throws Exception {
        for (int server = 0; server < 3; server++) {
            Result script = as(
                    "postgres",
                    "grants",
                    "--for=deploy",
                    "--role=grants_owner",
                    "--server=" + installation.url(server));
            assertThat(script.exitCode()).as(script.toString()).isZero();
            installation.execute(server, script.out());
        }
        succeeds("grants_owner", "init", "--shards=8", "--server=db1=" + anybody(0));
        succeeds("grants_owner", "schema", "deploy", "--search-path=" + directory, "--changelog=" + changelog());
        succeeds("grants_owner", "server", "add", "db2", anybody(1));
        installation.execute(0, "INSERT INTO shard_0001.photo (uid) SELECT 1 + 8 * n FROM generate_series(1, 100) n");
    }

    /** Prints the scripts as someone who may only read the catalog, and runs them as a superuser. */
    private List<String> grant(String work) throws SQLException {
        Result script = as("grants_owner", "grants", "--for=" + work, "--role=grants_role");
        assertThat(script.exitCode()).as(script.toString()).isZero();
        List<String> parts = new ArrayList<>(List.of(script.out().split("\n\n", -1)));
        assertThat(parts).hasSize(3);
        for (int server = 0; server < 3; server++) {
            installation.execute(server, parts.get(server));
        }
        return parts;
    }

    @Test
    void forDeployments() throws Exception {
        install();
        grant("deploy");

        Files.writeString(
                directory.resolve("app.sql"),
                CHANGELOG + "--changeset ann:like\nCREATE TABLE liked (id bigint PRIMARY KEY);\n");
        succeeds(
                "grants_role",
                "schema",
                "deploy",
                "--search-path=" + directory,
                "--changelog=" + directory.resolve("app.sql"));
        succeeds("grants_role", "schema", "status");
    }

    @Test
    void forMoves() throws Exception {
        assumeTrue(postgres.database(0).server().majorVersion() >= 16, "PostgreSQL 15 has no such role");
        install();
        grant("moves");

        succeeds("grants_role", "move", "run", "--shards=1", "--to=db2");
        succeeds("grants_role", "move", "start", "--shards=2,3", "--to=db2");
        succeeds("grants_role", "move", "verify", "2");
        succeeds("grants_role", "move", "cutover", "2", "--shards=2");
        succeeds("grants_role", "move", "status", "2");
        succeeds("grants_role", "move", "reverse", "2");
        succeeds("grants_role", "move", "cancel", "2", "--yes");
        succeeds("grants_role", "rebalance", "plan", "--by=count", "--file=" + directory.resolve("plan.yaml"));
        succeeds(
                "grants_role",
                "rebalance",
                "apply",
                directory.resolve("plan.yaml").toString());
        succeeds("grants_role", "rebalance", "run", "--over=1s", "--watch=1s");
        succeeds("grants_role", "server", "drain", "db2", "--yes");
        succeeds("grants_role", "reconcile");
        succeeds("grants_role", "doctor");
        assertThat(installation.query(0, "SELECT count(*) FROM shard_0001.photo"))
                .isEqualTo("100");
    }

    /**
     * Not in the list of processes, what the command says, the servers' log of all statements, what they show of their sessions, the
     * catalog, nor any table of the servers but one, and there until the move ends.
     */
    @Test
    void thePasswordIsNowhereButInTheSubscriptionsOfTheMove() throws Exception {
        assumeTrue(postgres.database(0).server().majorVersion() >= 16, "PostgreSQL 15 has no such role");
        assumeTrue(postgres.database(0).server().canRestart(), "needs servers whose logs are known");
        assumeTrue(Files.isDirectory(PROCESSES), "needs Linux");
        install();
        grant("moves");
        everywhere(
                "ALTER ROLE grants_role SET log_statement = 'all'; ALTER ROLE grants_role SET log_min_duration_statement = 0");
        List<Long> logged = new ArrayList<>(); // Other tests of these servers may have logged gigabytes.
        for (int server = 0; server < 3; server++) {
            logged.add(Long.parseLong(installation.query(server, "SELECT size FROM pg_stat_file(%s)".formatted(LOG))));
        }
        String said;
        try (Onlooker onlooker = new Onlooker()) {
            said = runs("move", "start", "--shards=1-3", "--to=db2");
            for (int server = 0; server < 2; server++) {
                assertThat(tablesWithThePassword(server)).containsExactly("pg_subscription");
            }
            said += runs("move", "cutover", "1") + runs("move", "status", "1");
            said += runs("move", "reverse", "1")
                    + runs("move", "cutover", "1")
                    + runs("move", "complete", "1", "--yes");
            assertThat(onlooker.commands()).anyMatch(line -> line.contains("move complete"));
            assertThat(onlooker.commands()).noneMatch(line -> line.contains(PASSWORD));
            assertThat(onlooker.queries()).anyMatch(query -> query.contains("shardflake"));
            assertThat(onlooker.queries()).noneMatch(query -> query.contains(PASSWORD));
        }
        assertThat(said).contains("db2 follows db1").doesNotContain(PASSWORD);
        for (int server = 0; server < 3; server++) {
            assertThat(tablesWithThePassword(server)).isEmpty();
            assertThat(installation.query(
                            server, "SELECT pg_read_file(%s, %s, 1000000000)".formatted(LOG, logged.get(server))))
                    .contains(server == CATALOG ? "shardflake_catalog.move" : "shardflake.claim_move")
                    .doesNotContain(PASSWORD);
        }
    }

    /** The command in a process of its own, as people run it; returns what it says. */
    private String runs(String... args) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Shardflake.class.getName()));
        command.addAll(List.of(args));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment()
                .putAll(Map.of(
                        "SHARDFLAKE_CATALOG",
                        url("grants_role", CATALOG),
                        "PGPASSWORD",
                        PASSWORD,
                        "PGUSER",
                        "grants_role"));
        Process process = builder.start();
        String said = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor()).as(said).isZero();
        return said;
    }

    /** Of PostgreSQL and of ours, for a superuser. */
    private List<String> tablesWithThePassword(int server) throws SQLException {
        List<String> found = new ArrayList<>();
        try (Connection connection = postgres.database(server).connect()) {
            List<String> tables = Sql.list(
                    connection,
                    "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relpersistence <> 't'",
                    row -> row.getString(1));
            assertThat(tables).contains("pg_subscription", "pg_foreign_server");
            for (String table : tables) {
                if (Sql.isTrue(
                        connection,
                        "SELECT EXISTS (SELECT FROM %s t WHERE position(? IN t::text) > 0)".formatted(table),
                        PASSWORD)) {
                    found.add(table);
                }
            }
        }
        return found;
    }

    /** Notes, again and again until closed, the command line of every process and the statement of every session. */
    private static final class Onlooker implements AutoCloseable {
        private final Set<String> commands = ConcurrentHashMap.newKeySet();
        private final Set<String> queries = ConcurrentHashMap.newKeySet();
        private final ExecutorService thread = Executors.newSingleThreadExecutor();
        private final Future<?> looking = thread.submit(this::lookOn);
        private volatile boolean closed;

        private Void lookOn() throws Exception {
            try (Connection first = postgres.database(0).connect();
                    Connection second = postgres.database(1).connect()) {
                while (!closed) {
                    try (Stream<Path> all = Files.list(PROCESSES)) {
                        all.map(Onlooker::commandLine).forEach(commands::add);
                    }
                    for (Connection connection : List.of(first, second)) {
                        // What this test itself asks for has the password, since it looks for it.
                        queries.addAll(Sql.list(
                                connection,
                                "SELECT COALESCE(query, '') FROM pg_stat_activity WHERE usename IS DISTINCT FROM current_user",
                                row -> row.getString(1)));
                    }
                }
            }
            return null;
        }

        private static String commandLine(Path process) {
            try {
                return Files.readString(process.resolve("cmdline"), ISO_8859_1).replace('\0', ' ');
            } catch (IOException e) { // It has ended, or is no process.
                return "";
            }
        }

        Set<String> commands() {
            return commands;
        }

        Set<String> queries() {
            return queries;
        }

        @Override
        public void close() throws Exception {
            closed = true;
            looking.get(1, TimeUnit.MINUTES);
            thread.shutdown();
        }
    }

    @Test
    void forAnApplication() throws Exception {
        install();
        grant("application");

        succeeds("grants_role", "map", "show");
        succeeds("grants_role", "id", "next", "--server=" + url("grants_role", 0), "--shard=1", "--table=photo");
    }

    @Test
    void forAdoptions() throws Exception {
        install();
        installation.execute(0, "DELETE FROM shard_0001.photo");
        installation.execute(
                3,
                "CREATE TABLE public.photo (id bigint PRIMARY KEY, uid bigint NOT NULL, title text); INSERT INTO public.photo SELECT n, n, 'old' FROM generate_series(1, 1000) n; ALTER TABLE public.photo OWNER TO grants_role");
        installation.execute(
                3,
                "DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO grants_role', current_database()); END $$; GRANT CREATE ON SCHEMA public TO grants_role");
        grant("adopt");

        succeeds("grants_role", "adopt", "run", "--table=photo", "--key=uid", "--from=" + anybody(3));
        succeeds(
                "grants_role",
                "adopt",
                "run",
                "--table=photo",
                "--key=uid",
                "--from=" + anybody(3),
                "--finish",
                "--yes");
        assertThat(installation.query(0, "SELECT count(*) FROM shard_0001.photo"))
                .isEqualTo("125");
    }

    @Test
    void forDoctor() throws Exception {
        install();
        List<String> script = grant("doctor");

        succeeds("grants_role", "doctor", "--rows");
        succeeds("grants_role", "schema", "status", "--drift");
        assertThat(String.join("\n", script)).doesNotContain("INSERT", "UPDATE", "DELETE", "GRANT grants_owner");
    }
}
