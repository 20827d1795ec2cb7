/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.Sharding;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Poll;

/**
 * A database that comes in by the commands that its users run one after the other: each has what the one before has made, and says what
 * comes next. Shards 0 to 3 are on db1, 4 to 7 on db2, and the old database is a third.
 */
class AdoptDatabaseCommandsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static final int OLD = 2;

    private static final String CLINIC = """
            CREATE SCHEMA clinic;
            CREATE TYPE clinic.mood AS ENUM ('calm', 'wild');
            CREATE TABLE clinic."Kinds" (id serial PRIMARY KEY, name text NOT NULL UNIQUE);
            CREATE TABLE clinic.owners (id serial PRIMARY KEY, name text NOT NULL, email varchar(80) NOT NULL UNIQUE, updated timestamptz NOT NULL DEFAULT now());
            CREATE TABLE clinic.pets (id serial PRIMARY KEY, owner_id integer NOT NULL REFERENCES clinic.owners ON DELETE CASCADE,
                                      kind_id integer NOT NULL REFERENCES clinic."Kinds", mood clinic.mood NOT NULL DEFAULT 'calm', name text);
            CREATE INDEX ON clinic.pets (owner_id);
            CREATE TABLE clinic."Visits" (id serial PRIMARY KEY, pet_id integer NOT NULL REFERENCES clinic.pets ON DELETE CASCADE, "What's done" text);
            CREATE INDEX ON clinic."Visits" (pet_id);
            CREATE TABLE clinic.settings (name text PRIMARY KEY, value text);
            CREATE FUNCTION clinic.touch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.updated := now(); RETURN NEW; END $$;
            CREATE TRIGGER touch BEFORE UPDATE ON clinic.owners FOR EACH ROW EXECUTE FUNCTION clinic.touch();
            INSERT INTO clinic."Kinds" (name) VALUES ('cat'), (E'dog\\t\\\\');
            INSERT INTO clinic.owners (name, email, updated) SELECT 'owner ' || n, 'o' || n || '@x.org', '2026-01-01Z' FROM generate_series(1, 60) n;
            INSERT INTO clinic.pets (owner_id, kind_id, mood, name) SELECT n % 60 + 1, n % 2 + 1, (enum_range(NULL::clinic.mood))[n % 2 + 1], 'pet ' || n FROM generate_series(1, 120) n;
            INSERT INTO clinic."Visits" (pet_id, "What's done") SELECT n % 120 + 1, 'visit ' || n FROM generate_series(1, 300) n;
            INSERT INTO clinic.settings VALUES ('open', 'yes');
            """;

    /** The rows of each table of the shards, and the same of the old tables, with the key. */
    private static final Map<String, String> TABLES = Map.of(
            "SELECT id AS key, t.* FROM SCHEMA.owners t",
            "SELECT id AS key, t.* FROM clinic.owners t",
            "SELECT owner_id AS key, t.* FROM SCHEMA.pets t",
            "SELECT owner_id AS key, t.* FROM clinic.pets t",
            "SELECT owner_id AS key, id, pet_id, \"What's done\" FROM SCHEMA.\"Visits\"",
            "SELECT p.owner_id AS key, v.* FROM clinic.\"Visits\" v JOIN clinic.pets p ON p.id = v.pet_id");

    private final CliInstallation installation = new CliInstallation(postgres);

    @TempDir
    private Path directory;

    @BeforeEach
    void begin() throws SQLException {
        installation.init();
        installation.execute(OLD, CLINIC);
    }

    private Result launch(int exitCode, String... arguments) {
        Result result = installation.launch(arguments);
        assertThat(result.exitCode()).as(result.toString()).isEqualTo(exitCode);
        return result;
    }

    private Result adopt(int exitCode, String... options) {
        return launch(
                exitCode,
                Stream.concat(
                                Stream.of("adopt", "run", "--plan=" + plan(), "--from=" + installation.url(OLD)),
                                Stream.of(options))
                        .toArray(String[]::new));
    }

    private Path plan() {
        return directory.resolve("adoption.yaml");
    }

    private void deploy(String what, String changelog, String... options) {
        launch(
                ExitCodes.OK,
                Stream.concat(
                                Stream.of(
                                        what,
                                        "deploy",
                                        "--changelog=" + directory.resolve(changelog),
                                        "--search-path=" + directory),
                                Stream.of(options))
                        .toArray(String[]::new));
    }

    /** Fills them the way psql would with the line that the command prints. */
    private void copyKinds() throws Exception {
        installation.copy(OLD, "COPY \"clinic\".\"Kinds\" TO STDOUT", "", "COPY reference.\"Kinds\" FROM STDIN");
        assertThat(Poll.everyMillis(20, Duration.ofMinutes(1))
                        .until(() -> installation
                                .query(1, "SELECT count(*) FROM reference.\"Kinds\"")
                                .equals("2")))
                .isTrue();
    }

    /** The rows of a shard as the old database has them. */
    private List<String> slice(int shard) throws SQLException {
        return rows(OLD, TABLES.values().stream().toList(), "WHERE mod(key, 8) = %s".formatted(shard));
    }

    private List<String> shard(int shard) throws SQLException {
        return rows(
                shard / 4,
                TABLES.keySet().stream()
                        .map(query -> query.replace("SCHEMA", Sharding.schema(shard)))
                        .toList(),
                "");
    }

    private List<String> rows(int server, List<String> queries, String condition) throws SQLException {
        List<String> rows = new ArrayList<>();
        for (String query : queries) {
            rows.addAll(List.of(installation
                    .query(
                            server,
                            "SELECT string_agg(to_json(q)::text, E'\\n') FROM (%s) q %s".formatted(query, condition))
                    .split("\n", -1)));
        }
        rows.sort(null);
        return rows;
    }

    /** Its third kind is missing in the reference table. */
    private void theOldDatabaseLeadsUntilTheEnd() throws SQLException {
        Result last = launch(
                ExitCodes.VERIFICATION,
                "adopt",
                "cutover",
                "--plan=" + plan(),
                "--from=" + installation.url(OLD),
                "--percent=100",
                "--yes");
        assertThat(last.err()).contains("reference tables do not have the rows of the old database", "1 missing (3)");
        assertThat(installation.query(
                        OLD, "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'zz_shardflake_adopt_fence%'"))
                .isEqualTo("0");
        assertThat(adopt(ExitCodes.VERIFICATION, "--finish", "--yes").err())
                .contains("1 missing (3)")
                .doesNotContain("closed");
    }

    @Test
    void eachCommandFindsWhatTheOneBeforeHasMade() throws Exception {
        Result planned = launch(
                ExitCodes.OK,
                "adopt",
                "plan",
                "--from=" + installation.url(OLD),
                "--key=clinic.owners.id",
                "--file=" + plan());
        assertThat(planned.out())
                .contains("3 into the shards, 1 reference table, 1 stays")
                .contains("shardflake reference deploy --home SERVER --changelog ", "shardflake adopt run --plan ");
        String another = installation.url(OLD).replaceFirst("/\\w+(\\?|$)", "/postgres$1");
        assertThat(launch(ExitCodes.USAGE, "adopt", "plan", "--from=" + another, "--file=" + plan())
                        .err())
                .contains("is the plan of database ", ", not of postgres");
        assertThat(adopt(ExitCodes.PRECONDITION).err()).contains("is missing in 4 shards on db1");
        deploy("reference", "reference.sql", "--home=db1");
        deploy("schema", "shards.sql");

        Result copied = adopt(ExitCodes.OK);
        assertThat(copied.out())
                .contains(
                        "psql OLD_URL -c 'COPY \"clinic\".\"Kinds\" TO STDOUT' | psql HOME_URL -c 'COPY reference.\"Kinds\" FROM STDIN'");
        assertThat(launch(ExitCodes.OK, "adopt", "status").out())
                .contains("to continue: shardflake adopt run --plan FILE --from URL, or ");
        String[] verify = {"adopt", "verify", "--plan=" + plan(), "--from=" + installation.url(OLD)};
        installation.execute(OLD, "ALTER TABLE clinic.pets ADD more text DEFAULT 'lost'");
        assertThat(launch(ExitCodes.PRECONDITION, verify).err()).contains("it has no column more");
        installation.execute(OLD, "ALTER TABLE clinic.pets DROP more");
        assertThat(launch(ExitCodes.VERIFICATION, verify).out())
                .containsPattern("clinic\\.\"Kinds\" +reference\\.\"Kinds\" +2 +- +yes +0\n")
                .contains("reference.\"Kinds\": 2 missing (1) (2)");
        // The triggers that are there now are not the application's.
        assertThat(launch(ExitCodes.OK, "adopt", "plan", "--from=" + installation.url(OLD), "--file=" + plan())
                        .out())
                .doesNotContain("wrote ", "otherwise");
        installation.execute(OLD, """
                UPDATE clinic.owners SET name = 'renamed' WHERE id = 3;
                UPDATE clinic.pets SET owner_id = owner_id + 1 WHERE owner_id BETWEEN 10 AND 20;
                DELETE FROM clinic.owners WHERE id = 30;
                INSERT INTO clinic."Visits" (pet_id, "What's done") SELECT id, 'later' FROM clinic.pets
                """);

        Result refused = adopt(ExitCodes.VERIFICATION, "--finish", "--yes");
        assertThat(refused.err())
                .contains(
                        "pets_kind_id_fkey of pets to Kinds",
                        "insert the rows that the reference table lacks on its home")
                .doesNotContain("closed");
        installation.execute(OLD, "INSERT INTO clinic.\"Visits\" (pet_id, \"What's done\") VALUES (1, 'still open')");
        copyKinds();
        installation.execute(OLD, "INSERT INTO clinic.\"Kinds\" VALUES (3, 'bird')");
        assertThat(launch(ExitCodes.VERIFICATION, verify).out())
                .contains("nothing follows changes of clinic.\"Kinds\"");
        String[] json = Stream.concat(Stream.of(verify), Stream.of("-o=json")).toArray(String[]::new);
        assertThat(launch(ExitCodes.VERIFICATION, json).out()).contains("\"equal\":false,\"behind\":true");
        theOldDatabaseLeadsUntilTheEnd();
        installation.execute(OLD, "DELETE FROM clinic.\"Kinds\" WHERE id = 3");
        assertThat(launch(ExitCodes.OK, verify).out()).contains("no row differs");
        installation.execute(0, "INSERT INTO reference.\"Kinds\" VALUES (4, 'fish')");
        assertThat(launch(ExitCodes.OK, verify).out())
                .contains(
                        "1 extra (4): only the reference table has these; fine if they are newer than clinic.\"Kinds\"");
        assertThat(launch(ExitCodes.OK, json).out()).contains("\"equal\":false,\"behind\":false");
        Result finished = adopt(ExitCodes.OK, "--finish", "--yes");
        assertThat(finished.err()).contains("warning: clinic.\"Kinds\" lacks rows, which stay: ");
        assertThat(launch(ExitCodes.OK, verify).out())
                .contains("no row differs")
                .doesNotContain("Kinds");

        assertThat(finished.out())
                .containsPattern("clinic\\.owners +owners +finished +60 +[0-9]+ +59\n")
                .contains(
                        "shardflake lookup create visits.id --table Visits --column id --uid-column owner_id --unique\n");
        for (int shard = 0; shard < 8; shard++) {
            assertThat(shard(shard)).as("shard " + shard).hasSizeGreaterThan(20).isEqualTo(slice(shard));
        }
        finished.out()
                .lines()
                .filter(line -> line.contains(" create visits.id "))
                // The shards say which column has the key.
                .map(line -> line.replace("  shardflake ", "").replace(" --uid-column owner_id", ""))
                .forEach(line -> launch(ExitCodes.OK, line.split(" ", -1)));
        assertThat(
                        installation.query(
                                OLD,
                                "SELECT string_agg(DISTINCT tgname, ',') FROM pg_trigger WHERE tgrelid = 'clinic.settings'::regclass"))
                .isEqualTo("null");
        assertThat(launch(ExitCodes.OK, "adopt", "status").out()).isEqualTo("no adoption is in progress\n");
    }
}
