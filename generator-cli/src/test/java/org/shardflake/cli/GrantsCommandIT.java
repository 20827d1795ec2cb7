/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.ManagedRole;
import org.shardflake.cluster.PostgresExtension;

/** Runs exactly the script that the command prints, for a role that has nothing else, and then the commands as that role. */
@Tag("full")
class GrantsCommandIT {

    private static final String CHANGELOG = """
            --liquibase formatted sql
            --changeset ann:photo
            CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL, title text);
            """;

    private static final String PASSWORD = "a secret of grants";

    /** The catalog is apart from the servers. */
    private static final int CATALOG = 2;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(4);

    @TempDir
    Path directory;

    private final Installation installation = new Installation(postgres);

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

    /** Prints the scripts as somebody who may only read the catalog, and runs them as a superuser. */
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

        succeeds("grants_role", "adopt", "photo", "--key=uid", "--from=" + anybody(3));
        succeeds("grants_role", "adopt", "photo", "--key=uid", "--from=" + anybody(3), "--finish", "--yes");
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
