/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;

/** Shards on the first two databases, and a gateway in the third. */
class GatewayCommandsIT {

    private static final String READER = "gateway_reader";
    private static final String ANALYST = "gateway_analyst";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    static Path directory;

    private final CliInstallation installation = new CliInstallation(postgres);

    @BeforeEach
    void photos() throws SQLException, IOException {
        for (int server = 0; server < 3; server++) {
            String role = server < 2 ? READER : ANALYST;
            installation.execute(
                    server,
                    "DO $$BEGIN CREATE ROLE %1$s LOGIN PASSWORD 'secret'; EXCEPTION WHEN duplicate_object THEN END$$; GRANT pg_read_all_data TO %1$s"
                            .formatted(role));
        }
        if (!postgres.restore("photos")) {
            succeed("init", "--shards=8", "--server=db1=" + installation.url(0), "--server=db2=" + installation.url(1));
            deploy("""
                    --changeset ann:mood
                    CREATE TYPE mood AS ENUM ('good', 'bad');
                    --changeset ann:photo
                    CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL, shard text, "Mood" mood);
                    --changeset ann:note
                    CREATE TABLE note (id bigint PRIMARY KEY, text varchar(20));
                    """);
            for (int shard = 0; shard < 8; shard++) {
                installation.execute(
                        shard / 4,
                        "INSERT INTO shard_000%1$s.photo (uid, shard, \"Mood\") SELECT %1$s, 's', 'good' FROM generate_series(1, 10 + %1$s)"
                                .formatted(shard));
            }
            postgres.save("photos");
        }
    }

    private void deploy(String changeSets) throws IOException {
        Path changelog = Files.writeString(directory.resolve("photos.sql"), "--liquibase formatted sql\n" + changeSets);
        succeed("schema", "deploy", "--changelog=" + changelog, "--search-path=" + directory, "--no-checks");
    }

    /** A database cannot be dropped while it has a move's slots. */
    @AfterEach
    void endMoves() {
        installation.launch("move", "complete", "1", "--yes");
    }

    private Result succeed(String... args) {
        Result result = installation.launch(args);
        assertThat(result.exitCode()).as(result.toString()).isZero();
        return result;
    }

    private Result deployGateway(String... more) {
        String[] args = new String[4 + more.length];
        System.arraycopy(
                new String[] {"gateway", "deploy", "--on=" + installation.url(2), "--reader=" + READER}, 0, args, 0, 4);
        System.arraycopy(more, 0, args, 4, more.length);
        return installation.launch(args);
    }

    /** As someone who may use the gateway and nothing else. */
    private String asAnalyst(String sql) throws SQLException {
        try (Connection connection = postgres.database(2).connect();
                Statement statement = connection.createStatement()) {
            statement.execute("SET ROLE " + ANALYST);
            try (ResultSet row = statement.executeQuery(sql)) {
                row.next();
                return row.getString(1);
            }
        }
    }

    private String scatter() {
        return succeed("sql", "SELECT * FROM photo", "--count", "-o=csv")
                .out()
                .lines()
                .skip(1)
                .findFirst()
                .orElseThrow();
    }

    private void countsEqual() throws SQLException {
        assertThat(asAnalyst("SELECT count(*) FROM shards.photo")).isEqualTo(scatter());
        assertThat(asAnalyst("SELECT count(*) - count(DISTINCT id) FROM shards.photo"))
                .isEqualTo("0");
        assertThat(asAnalyst("SELECT count(*) FROM shards.photo WHERE shard_number <> shards.shard_of_id(id)"))
                .isEqualTo("0");
    }

    /** They are read again there, by sessions that have what the servers' databases have set. */
    @Test
    void aNullInAConditionIsNotTheTextNullOnAServer() throws SQLException {
        deployGateway("--for=" + ANALYST);
        String database = postgres.database(0).name();
        try {
            installation.execute(0, "ALTER DATABASE %s SET array_nulls = off".formatted(database));

            assertThat(
                            asAnalyst(
                                    "SELECT count(*) FROM shards.photo WHERE array_append(ARRAY[shard], NULL) = ARRAY['s', NULL]"))
                    .isEqualTo(scatter());
        } finally {
            installation.execute(0, "ALTER DATABASE %s RESET array_nulls".formatted(database));
        }
    }

    @Test
    void theTablesAreTheShards() throws Exception {
        Result deployed = deployGateway("--for=" + ANALYST);
        assertThat(deployed)
                .isEqualTo(new Result(
                        0, "schema shards on %s: 2 tables in 4 parts, 4 changed\n".formatted(installation.url(2)), ""));

        countsEqual();
        assertThat(asAnalyst("SELECT string_agg(DISTINCT \"Mood\", ' ') FROM shards.photo"))
                .isEqualTo("good");
        assertThat(asAnalyst(
                        "SELECT count(*) FROM shards.photo WHERE shard_number = shards.shard_of_uid(5) AND uid = 5"))
                .isEqualTo("15");
        assertThat(asAnalyst("EXPLAIN (VERBOSE, FORMAT JSON) SELECT * FROM shards.photo WHERE shard_number = 5"))
                .containsOnlyOnce("Foreign Scan");
        assertThatExceptionOfType(SQLException.class)
                .isThrownBy(() -> asAnalyst("INSERT INTO shards.photo (shard_number, id) VALUES (1, 1) RETURNING id"))
                .withMessageContaining("permission denied");
        assertThat(deployGateway("--for=" + ANALYST).out()).endsWith("2 tables in 4 parts, as before\n");
        assertThat(succeed("gateway", "refresh").out()).endsWith("as before\n");
        assertThat(succeed("gateway", "status").out()).contains("reads all shards");
        String url = installation.url(2);
        Map<String, String> environment = Map.of(
                "SHARDFLAKE_CATALOG",
                installation.url(0),
                "PGPASSWORD",
                installation.password(),
                "SHARDFLAKE_READER_PASSWORD",
                "secret");
        assertThat(Cli.launch(
                                InputStream.nullInputStream(),
                                environment,
                                "gateway",
                                "deploy",
                                "--on=" + url,
                                "--reader=" + READER,
                                "--for=" + ANALYST)
                        .exitCode())
                .isZero();
        assertThat(installation.query(2, "SELECT string_agg(umoptions::text, ' ') FROM pg_user_mappings"))
                .isEqualTo("{user=gateway_reader,password=secret} {user=gateway_reader,password=secret}");
        for (String told : new String[] {
            succeed("gateway", "status", "-o=json").out(),
            installation.query(0, "SELECT string_agg(g::text, ' ') FROM shardflake_catalog.gateway g")
        }) {
            assertThat(told).doesNotContain("secret");
        }

        deployGateway("--for=" + ANALYST);
        deploy("""
                --changeset ann:mood
                CREATE TYPE mood AS ENUM ('good', 'bad');
                --changeset ann:photo
                CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL, shard text, "Mood" mood);
                --changeset ann:note
                CREATE TABLE note (id bigint PRIMARY KEY, text varchar(20));
                --changeset ann:likes
                ALTER TABLE photo ADD COLUMN likes integer DEFAULT 2;
                """);
        assertThat(installation.launch("gateway", "status").exitCode()).isEqualTo(ExitCodes.VERIFICATION);
        succeed("gateway", "refresh", "gateway");
        assertThat(asAnalyst("SELECT sum(likes) / 2 FROM shards.photo")).isEqualTo(scatter());

        assertThat(succeed("gateway", "drop", "gateway", "--yes").out()).isEqualTo("dropped gateway gateway\n");
        for (int server = 0; server < 3; server++) {
            assertThat(
                            installation.query(
                                    server,
                                    "SELECT (SELECT count(*) FROM pg_namespace WHERE nspname ~ 'shardflake_gateway|^shards') + (SELECT count(*) FROM pg_foreign_server)"))
                    .isEqualTo("0");
        }
        assertThat(succeed("gateway", "status").out()).isEqualTo("there are no gateways\n");
    }

    @Test
    @Tag("full")
    void movesBringItAlong() throws Exception {
        deployGateway("--for=" + ANALYST);
        succeed("move", "run", "--shards=1-2", "--to=db2");
        assertThat(succeed("gateway", "status").out()).contains("reads all shards");
        countsEqual();

        succeed("move", "run", "--shards=6", "--to=db1", "--keep");
        countsEqual();
        installation.execute(0, "INSERT INTO shard_0006.photo (uid) VALUES (6)");
        countsEqual();
        succeed("move", "reverse", "2");
        countsEqual();
        succeed("move", "cancel", "2", "--yes");
        countsEqual();
        assertThat(succeed("doctor").out()).contains("nothing found");
    }

    /** A shard that is copied, and one that has moved behind the gateway's back, whose old copy is still there. */
    @Test
    @Tag("full")
    void noCopyIsReadAndNoShardIsMissedInSilence() throws Exception {
        deployGateway("--for=" + ANALYST);
        succeed("move", "start", "--shards=0", "--to=db2");
        countsEqual();
        String before = scatter();
        try (Connection inTheWay = postgres.database(2).connect();
                Statement statement = inTheWay.createStatement()) {
            statement.execute("SET ROLE " + ANALYST);
            inTheWay.setAutoCommit(false);
            statement.executeQuery("SELECT count(*) FROM shards.photo").close();

            Result cutOver = installation.launch("move", "cutover", "1");

            assertThat(cutOver.exitCode()).as(cutOver.toString()).isZero();
            assertThat(cutOver.err()).contains("warning: gateways have not followed yet");
            // It goes on seeing what it has seen.
            try (ResultSet row = statement.executeQuery("SELECT count(*) FROM shards.photo")) {
                row.next();
                assertThat(row.getString(1)).isEqualTo(before);
            }
            assertThatExceptionOfType(SQLException.class)
                    .isThrownBy(() -> asAnalyst("SELECT count(*) FROM shards.photo"))
                    .withMessageContaining("shard 0 is not open on this server");
            assertThat(asAnalyst("SELECT count(*) FROM shards.photo WHERE shard_number = 5"))
                    .isEqualTo("15");
        }
        succeed("gateway", "refresh");
        countsEqual();
        succeed("move", "reverse", "1");
        countsEqual();
        succeed("move", "cancel", "1", "--yes");
    }

    /** As superuser, the gateway's commands run what owners of shards have named. */
    @Test
    void aNameInAShardIsNotRun() throws Exception {
        String evil = "ALTER ROLE gateway_reader SUPERUSER;--";
        String[] columns = {
            "a$shardflake$;" + evil + "\"\"",
            "b$$;" + evil,
            "c');" + evil,
            "d\\');" + evil,
            "shard_number",
            "%1$s?{fn x}"
        };
        for (int shard = 0; shard < 8; shard++) {
            for (String column : columns) {
                installation.execute(
                        shard / 4,
                        "ALTER TABLE shard_000%s.photo ADD \"%s\" integer DEFAULT 1".formatted(shard, column));
            }
        }
        assertThat(deployGateway("--for=" + ANALYST).exitCode()).isZero();

        assertThat(asAnalyst("SELECT sum(\"shard_number\" + \"%1$s?{fn x}\") / 2 FROM shards.photo"))
                .isEqualTo(scatter());
        for (int server = 0; server < 3; server++) {
            assertThat(installation.query(
                            server, "SELECT count(*) FROM pg_roles WHERE rolsuper AND rolname LIKE 'gateway%'"))
                    .isEqualTo("0");
        }
    }

    @Test
    void rowsThatAPolicyHidesAreAnErrorAndNotLeftOut() throws Exception {
        assertThat(deployGateway("--for=" + ANALYST).exitCode()).isZero();
        installation.execute(0, "ALTER TABLE shard_0001.photo ENABLE ROW LEVEL SECURITY");

        assertThatExceptionOfType(SQLException.class)
                .isThrownBy(() -> asAnalyst("SELECT count(*) FROM shards.photo"))
                .withMessageContaining("row-level security policy for table \"photo\"");
        assertThat(installation.launch("doctor").out()).contains("gateway-rows-hidden");
        installation.execute(2, "ALTER SERVER shards_db1 OPTIONS (DROP options)"); // as one of before has it
        assertThat(asAnalyst("SELECT count(*) FROM shards.photo")).isNotEqualTo(scatter());
        succeed("gateway", "refresh");
        assertThatExceptionOfType(SQLException.class).isThrownBy(() -> asAnalyst("SELECT count(*) FROM shards.photo"));
        Result again = deployGateway("--for=" + ANALYST);
        assertThat(again.exitCode()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(again.err())
                .contains("row-level security hides rows of shard_0001.photo on db1 from role gateway_reader")
                .contains("ALTER ROLE \"gateway_reader\" BYPASSRLS");
    }

    @Test
    void badInput() throws Exception {
        Result nobody = deployGateway("--for=nobody_here");
        assertThat(nobody.exitCode()).isEqualTo(ExitCodes.USAGE);
        assertThat(nobody.err()).contains("the gateway's database has no role nobody_here");
        Result noReader =
                installation.launch("gateway", "deploy", "--on=" + installation.url(2), "--reader=nobody_at_all");
        assertThat(noReader.exitCode()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(noReader.err()).contains("db1 has no role nobody_at_all", "CREATE ROLE");
        assertThat(installation.query(2, "SELECT count(*) FROM pg_foreign_server"))
                .isEqualTo("0");
        assertThat(deployGateway("--name=Big-One").exitCode()).isEqualTo(ExitCodes.USAGE);
        assertThat(installation.launch("gateway", "drop", "nothing", "--yes").err())
                .contains("there is no gateway nothing");
        Result password = installation.launch(
                "gateway", "deploy", "--reader=r", "--on=" + installation.url(2).replace("@", ":secret@"));
        assertThat(password.exitCode()).isEqualTo(ExitCodes.USAGE);
        assertThat(password.err()).contains("holds a password").doesNotContain("secret");
        installation.execute(2, "CREATE SCHEMA shards");
        Result taken = deployGateway();
        assertThat(taken.exitCode()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(taken.err()).contains("has a schema shards that is not this gateway's");
    }

    @Test
    @Tag("full")
    void aGatewayThatIsDownHoldsUpNoMove() throws Exception {
        deployGateway("--for=" + ANALYST);
        postgres.database(2).server().stop();
        try {
            Result moved = installation.launch("move", "run", "--shards=3", "--to=db2");
            assertThat(moved.exitCode()).as(moved.toString()).isZero();
            assertThat(moved.err()).contains("warning: gateway gateway has not followed: cannot connect to gateway");
            Result doctor = installation.launch("doctor");
            assertThat(doctor.exitCode()).as(doctor.toString()).isZero();
            assertThat(doctor.out()).contains("gateway-behind");
            assertThat(installation.launch("gateway", "status").exitCode()).isEqualTo(ExitCodes.VERIFICATION);
        } finally {
            postgres.database(2).server().start();
        }
        assertThatExceptionOfType(SQLException.class)
                .isThrownBy(() -> asAnalyst("SELECT count(*) FROM shards.photo"))
                .withMessageContaining("shard_0003");
        succeed("gateway", "refresh");
        countsEqual();
    }

    /** While shards go to and fro, a query counts every row once, or says that it cannot. */
    @Test
    @Tag("full")
    void countsAreRightOrRefusedDuringMoves() throws Exception {
        deployGateway("--for=" + ANALYST);
        String all = scatter();
        CompletableFuture<Void> moves = CompletableFuture.runAsync(() -> {
            succeed("move", "run", "--shards=1-3", "--to=db2");
            succeed("move", "run", "--shards=1,4-5", "--to=db1");
        });
        int right = 0;
        for (int i = 0; i < 100_000 && !moves.isDone(); i++) {
            try {
                assertThat(asAnalyst("SELECT count(*) FROM shards.photo")).isEqualTo(all);
                right++;
            } catch (SQLException e) {
                assertThat(e.getMessage()).contains("is not open on this server");
            }
        }
        moves.join();
        assertThat(right).isPositive();
        countsEqual();
    }
}
