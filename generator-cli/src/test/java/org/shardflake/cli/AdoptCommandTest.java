/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardflake.Sharding;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;

/** Shards 0 to 3 are on db1, 4 to 7 on db2, and the table to adopt is in a third database. */
class AdoptCommandTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static final int OLD = 2;

    private static final String PHOTO = """
            CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL, slug text NOT NULL UNIQUE, title text, extra jsonb,
                                shown boolean NOT NULL DEFAULT true, words integer GENERATED ALWAYS AS (length(title)) STORED);
            CREATE TABLE likes (photo_id bigint REFERENCES photo (id), uid bigint, at timestamptz NOT NULL, PRIMARY KEY (uid, photo_id));
            """;

    /** The records that an early version kept of an adoption. It had no plans, and let no single shards leave. */
    private static final String OLDER_ADOPTION = """
            CREATE SCHEMA shardflake_adopt;
            CREATE TABLE shardflake_adopt.adoption (
                id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                source text NOT NULL UNIQUE, installation uuid NOT NULL, target text NOT NULL, key text NOT NULL, shard_count integer NOT NULL,
                state text NOT NULL DEFAULT 'COPYING', copied_to text[], copied_rows bigint NOT NULL DEFAULT 0,
                begun timestamptz NOT NULL DEFAULT now());
            INSERT INTO shardflake_adopt.adoption (source, installation, target, key, shard_count)
            VALUES ('old.photo', '%s', 'photo', 'uid', 8);
            CREATE TABLE shardflake_adopt.lifted (
                adoption integer, shard integer, column_name text NOT NULL, validated boolean NOT NULL, PRIMARY KEY (adoption, shard));
            CREATE TABLE shardflake_adopt.written (adoption integer, server text, xid bigint, PRIMARY KEY (adoption, server, xid));
            CREATE FUNCTION shardflake_adopt.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
            BEGIN
                RAISE EXCEPTION '%% of table %%.%% is refused: %%', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_ARGV[1]
                    USING ERRCODE = TG_ARGV[0], HINT = TG_ARGV[2];
            END $$;
            CREATE TABLE shardflake_adopt.changes_1 (
                shardflake_change bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, shardflake_shard integer, id integer);
            CREATE FUNCTION shardflake_adopt.note_1() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
                SET search_path = pg_catalog, pg_temp SET extra_float_digits = 1 AS $$
            BEGIN
                IF TG_OP <> 'INSERT' THEN
                    INSERT INTO shardflake_adopt.changes_1 (shardflake_shard, id) VALUES ((OLD.uid %% 8 + 8) %% 8, OLD.id);
                END IF;
                IF TG_OP = 'INSERT' OR (TG_OP = 'UPDATE' AND ROW((OLD.uid %% 8 + 8) %% 8, OLD.id)::text <> ROW((NEW.uid %% 8 + 8) %% 8, NEW.id)::text) THEN
                    INSERT INTO shardflake_adopt.changes_1 (shardflake_shard, id) VALUES ((NEW.uid %% 8 + 8) %% 8, NEW.id);
                END IF;
                RETURN NULL;
            END $$;
            CREATE TRIGGER shardflake_adopt_note AFTER INSERT OR UPDATE OR DELETE ON old.photo
                FOR EACH ROW EXECUTE FUNCTION shardflake_adopt.note_1();
            CREATE TRIGGER shardflake_adopt_truncate BEFORE TRUNCATE ON old.photo
                FOR EACH STATEMENT EXECUTE FUNCTION shardflake_adopt.refuse('55006', 'its rows are in shards', 'Delete rows instead.');
            CREATE TRIGGER shardflake_adopt_closed BEFORE INSERT OR UPDATE OR DELETE ON old.photo
                FOR EACH ROW EXECUTE FUNCTION shardflake_adopt.refuse('SF001', 'its rows live in shards now', 'Write to the shards.');
            ALTER TABLE old.photo ENABLE ALWAYS TRIGGER shardflake_adopt_note;
            ALTER TABLE old.photo ENABLE ALWAYS TRIGGER shardflake_adopt_truncate;
            ALTER TABLE old.photo DISABLE TRIGGER shardflake_adopt_closed
            """;

    private final CliInstallation installation = new CliInstallation(postgres);

    @TempDir
    private Path directory;

    @BeforeEach
    void begin() throws SQLException, IOException {
        if (postgres.restore("adoptable")) {
            return;
        }
        installation.init();
        installation.execute(OLD, """
                CREATE SCHEMA old;
                CREATE TABLE old.photo (id serial PRIMARY KEY, uid integer NOT NULL, slug varchar(40) NOT NULL, title varchar, extra jsonb,
                                        words integer GENERATED ALWAYS AS (length(title)) STORED);
                CREATE TABLE old.likes (photo_id bigint, uid bigint NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (uid, photo_id));
                INSERT INTO old.photo (uid, slug, title, extra)
                SELECT n % 97 - 40, 'photo ' || n, NULLIF(E'tab\\t, line\\n, \\\\ ' || n, E'tab\\t, line\\n, \\\\ 5'), jsonb_build_object('n', n)
                  FROM generate_series(1, 1000) n;
                INSERT INTO old.likes SELECT n % 100 + 1, n / 10, '2026-01-01 00:00Z'::timestamptz + n * interval '1 ms' FROM generate_series(1, 500) n
                """);
        deploy(photo());
        postgres.save("adoptable");
    }

    /** Without the foreign key for a role that cannot silence it. */
    private String photo() throws SQLException {
        return silencesForeignKeys() ? PHOTO : PHOTO.replace(" REFERENCES photo (id)", "");
    }

    private boolean silencesForeignKeys() throws SQLException {
        String privilege = "SELECT has_parameter_privilege('%s', 'session_replication_role', 'SET')";
        return installation
                .query(0, privilege.formatted(postgres.database(0).user()))
                .equals("t");
    }

    private void deploy(String tables, String... options) throws IOException {
        Files.writeString(directory.resolve("app.sql"), "--liquibase formatted sql\n--changeset ann:photo\n" + tables);
        List<String> arguments = new ArrayList<>(List.of(
                "schema", "deploy", "--changelog=" + directory.resolve("app.sql"), "--search-path=" + directory));
        arguments.addAll(List.of(options));
        Result deployed = installation.launch(arguments.toArray(String[]::new));
        assertThat(deployed.exitCode()).as(deployed.toString()).isZero();
    }

    private Result adopt(String... options) {
        List<String> arguments = new ArrayList<>(List.of("adopt"));
        arguments.addAll(List.of(options));
        arguments.add("--from=" + installation.url(OLD));
        return installation.launch(arguments.toArray(String[]::new));
    }

    private Result run(String table, String... options) {
        List<String> arguments = new ArrayList<>(List.of("run", "--table=" + table));
        arguments.addAll(List.of(options));
        return adopt(arguments.toArray(String[]::new));
    }

    private String shards(String sql) throws SQLException {
        List<String> all = new ArrayList<>();
        for (int server = 0; server < 2; server++) {
            StringBuilder union = new StringBuilder();
            for (int shard = server * 4; shard < server * 4 + 4; shard++) {
                union.append(union.isEmpty() ? "" : " UNION ALL ")
                        .append(sql.replace("SHARD", Sharding.schema(shard)).replace("NUMBER", "" + shard));
            }
            all.add(installation.query(server, "SELECT string_agg(v, ',' ORDER BY v) FROM (" + union + ") u (v)"));
        }
        all.removeIf("null"::equals);
        return String.join(",", all);
    }

    private void onAllShards(String sql) throws SQLException {
        for (int shard = 0; shard < 8; shard++) {
            installation.execute(shard / 4, sql.formatted(Sharding.schema(shard)));
        }
    }

    private long shardRows(String table) throws SQLException {
        return Stream.of(shards("SELECT count(*)::text FROM SHARD." + table).split(",", -1))
                .mapToLong(Long::parseLong)
                .sum();
    }

    @Test
    void assessSaysWhereTablesAndStatementsGo() throws Exception {
        Path page = directory.resolve("assessment.html");
        Path statements = Files.writeString(
                directory.resolve("app.statements"),
                "SELECT * FROM old.photo WHERE uid = ?; SELECT * FROM old.photo WHERE slug = ?; SELECT * FROM old.photos");

        Result assessed = adopt("assess", "--key=uid", "--statements=" + statements, "--html=" + page);

        assertThat(assessed.exitCode()).as(assessed.toString()).isZero();
        assertThat(assessed.out())
                .contains("key: uid (", "50.0 % of the calls with key or id")
                .containsPattern("old\\.photo +into the shards .* uid")
                .contains("without a key: SELECT * FROM old.photo WHERE slug = ?")
                .contains("""
                          not understood: SELECT * FROM old.photos
                            it needs a table that this login does not find: relation "old.photos" does not exist
                            assess with the application's search_path\
                        """);
        assertThat(adopt("assess", "--key=uid", "--statements=" + statements, "-o=json")
                        .out())
                .contains("\"problem\":\"it needs a table that", "\"remedy\":\"assess with the application's");
        assertThat(adopt("assess", "--key=uid", "--statements=" + statements, "--top=0")
                        .out())
                .endsWith("  and 1 more; --top 1 shows all\n  and 1 more; --top 1 shows all\n");
        assertThat(page).content().contains("\"key\"", "old.photo").doesNotContain("@FACTS@");
        assertThat(adopt("assess", "--key=nothing", "-o=json").err())
                .contains("nothing is not a possible key", "possible are");
        assertThat(installation.query(OLD, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'shardflake%'"))
                .isEqualTo("0");
    }

    @Test
    void planKeepsWhatWasEditedAndNamesWhatItWouldMakeOtherwise() throws Exception {
        Path plan = directory.resolve("adoption.yaml");
        String[] options = {"plan", "--file=" + plan, "--into=" + directory.resolve("db"), "--key=uid"};
        Result first = adopt(options);
        assertThat(first.exitCode()).as(first.toString()).isZero();
        assertThat(first.out())
                .contains("2 tables by uid: 2 into the shards, 0 reference tables, 0 stay", "wrote " + plan);
        Path shards = directory.resolve("db/shards.sql");
        assertThat(shards).content().contains("CREATE TABLE photo", "COMMENT ON COLUMN photo.uid IS 'shard key'");
        assertThat(adopt("plan", "--file=" + plan).out()).contains("the files are up to date");

        String edited = Files.readString(plan)
                .replace("goes: shards, key: uid, id: next_id", "goes: shards, key: uid, id: kept");
        Files.writeString(plan, edited);
        Files.writeString(shards, Files.readString(shards).replace("at timestamp with time zone", "at timestamptz"));
        installation.execute(
                OLD,
                "ALTER TABLE old.likes ADD COLUMN how text; CREATE TABLE old.album (id bigserial PRIMARY KEY, uid bigint NOT NULL)");
        Result again = adopt("plan", "--file=" + plan, "--rewrite");

        assertThat(again.exitCode()).as(again.toString()).isZero();
        assertThat(again.out())
                .contains(
                        "kept as it is:\n  db/shards.sql: changeset adopt:table-likes was edited, and would now be made otherwise");
        assertThat(plan).content().contains("key: uid, id: kept", "old.album: {goes: shards, key: uid, id: next_id}");
        assertThat(shards)
                .content()
                .contains("CREATE TABLE album", "at timestamptz")
                .doesNotContain("how text");

        Files.writeString(plan, edited.replace("goes: shards", "goes: shard"));
        Result refused = adopt("plan", "--file=" + plan);
        assertThat(refused.exitCode()).isEqualTo(4);
        assertThat(refused.err()).contains("goes is shard, not one of shards, reference, stays", "line ");
        assertThat(installation.query(OLD, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'shardflake%'"))
                .isEqualTo("0");
    }

    @Test
    void theCheckOfIdsIsLiftedForOldOnesWhichTheDryRunSays() throws SQLException {
        String checks =
                "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'SHARD.photo'::regclass AND conname = 'id_of_shard'";
        assertThat(shards(checks)).doesNotContain("true");
        Result dryRun = run("old.photo", "--key=uid", "--dry-run");
        assertThat(dryRun.out() + dryRun.err())
                .contains("the check that id contains the shard is lifted for photo, since old ids do not contain it");
        assertThat(shards(checks)).doesNotContain("true");

        assertThat(run("old.photo", "--key=uid").exitCode()).isZero();

        assertThat(shards(checks)).isEqualTo(String.join(",", Collections.nCopies(8, "CHECK (true)")));
        assertThat(installation.launch("schema", "check").exitCode()).isZero();
    }

    /** Skipped unless the tests' role is a model of Cloud SQL's. */
    @Test
    void foreignKeysAreRefusedToARoleThatCannotSilenceThem() throws SQLException {
        assumeFalse(silencesForeignKeys());
        onAllShards("ALTER TABLE %1$s.likes ADD FOREIGN KEY (photo_id) REFERENCES %1$s.photo (id)");

        Result refused = run("old.photo", "--key=uid");

        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(4);
        assertThat(refused.err()).contains("this role may not set session_replication_role on db1");
        assertThat(shardRows("photo")).isZero();
    }

    @Test
    void bringsRowsWithTheirIdsToTheirShards() throws SQLException {
        Result adopted = run("old.photo", "--key=uid", "--finish", "--yes");

        assertThat(adopted)
                .isEqualTo(new Result(
                        0, """
                TABLE      INTO   STATE     COPIED  CHANGES  COMPARED
                old.photo  photo  finished  1,000   0        1,000
                """, "old.photo is closed to writes; copying the last changes, then comparing\n"));
        assertThat(shardRows("photo")).isEqualTo(1000);
        assertThat(shards("SELECT id::text FROM SHARD.photo WHERE uid - 8 * floor(uid / 8.0) <> NUMBER"))
                .isEmpty();
        assertThat(
                        shards(
                                "SELECT concat_ws('|', id, uid, slug, title, extra, shown, words) FROM SHARD.photo WHERE id = 7"))
                .isEqualTo("7|-33|photo 7|tab\t, line\n, \\ 7|{\"n\": 7}|t|16");
        assertThat(shards("SELECT id::text FROM SHARD.photo WHERE title IS NULL"))
                .isEqualTo("5");
        assertThatThrownBy(() -> installation.execute(OLD, "DELETE FROM old.photo WHERE id = 7"))
                .hasMessageContaining("DELETE of table old.photo is refused: its rows live in shards now");
        assertThatThrownBy(() -> installation.execute(OLD, "TRUNCATE old.photo"))
                .hasMessageContaining("TRUNCATE of table old.photo is refused");
        assertThat(run("old.photo", "--key=uid").out()).endsWith("old.photo  photo  finished  1,000   0\n");
        assertThat(run("old.photo", "--key=uid", "--cancel", "--yes").err())
                .startsWith("error: old.photo has been adopted, and the shards may have newer rows\nhint: ");
        assertThat(run("old.photo", "--key=uid", "--reopen").exitCode()).isZero();
        installation.execute(OLD, "DELETE FROM old.photo WHERE id = 7");
        assertThat(run("old.photo", "--key=uid", "--finish", "--yes").out())
                .containsPattern(" finished +1,000 +1 +999\n");
        newerRowsAreNamedAndWrittenByHand();
        installation.execute(OLD, "ALTER TABLE old.photo DISABLE TRIGGER shardflake_adopt_closed");
        assertThat(run("old.photo", "--key=uid", "--finish", "--yes").err())
                .startsWith("error: old.photo was adopted, and has been made to take writes again by other means\n");
    }

    private void newerRowsAreNamedAndWrittenByHand() throws SQLException {
        installation.execute(0, "UPDATE shard_0003.photo SET title = 'newer' WHERE id = 51");
        Result differs = run("old.photo", "--key=uid", "--reopen");
        assertThat(differs.exitCode()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(differs.err())
                .contains("shard 3 has other values\nhint: stop writes to the shards first: they would be lost. "
                        + advised("verify") + " names the rows.");
        assertThat(installation.query(0, "SELECT count(*) FROM shardflake_catalog.adoption"))
                .isEqualTo("0");
        Result named = adopt("verify", "--table=old.photo", "-o=json");
        assertThat(named.exitCode()).as(named.toString()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(named.out()).contains("\"different\":[\"(51)\"]");
        installation.execute(OLD, """
                ALTER TABLE old.photo DISABLE TRIGGER shardflake_adopt_closed;
                UPDATE old.photo SET title = 'newer' WHERE id = 51;
                ALTER TABLE old.photo ENABLE ALWAYS TRIGGER shardflake_adopt_closed
                """);
        installation.execute(0, "UPDATE shard_0003.photo SET title = 'newest' WHERE id = 51");
        assertThat(adopt("verify", "--table=old.photo").exitCode()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(installation.query(0, "SELECT title FROM shard_0003.photo WHERE id = 51"))
                .as("what was written to the old table does not go into the shard")
                .isEqualTo("newest");
        installation.execute(0, "UPDATE shard_0003.photo SET title = 'newer' WHERE id = 51");
        assertThat(run("old.photo", "--reopen").exitCode()).isZero();
        assertThat(run("old.photo", "--finish", "--yes").exitCode()).isZero();
    }

    /** The command that is advised to someone who adopts a table by its name and key. */
    private String advised(String command) {
        return "shardflake adopt %s --table old.photo --key uid --from %s".formatted(command, installation.url(OLD));
    }

    @Test
    void newIdsComeAfterOldOnes() throws SQLException {
        run("old.photo", "--key=uid", "--finish", "--yes");

        installation.execute(0, "INSERT INTO shard_0003.photo (uid, slug) VALUES (3, 'new')");

        assertThat(installation.query(0, "SELECT slug FROM shard_0003.photo ORDER BY id DESC LIMIT 1"))
                .isEqualTo("new");
        assertThat(installation.query(0, "SELECT shardflake.id_shard(max(id)) FROM shard_0003.photo"))
                .isEqualTo("3");
    }

    /** With the options of the other commands, as people type them. */
    private void statusShowsWhatWasAskedFor() throws IOException {
        Path plan = directory.resolve("status.yaml");
        assertThat(adopt("plan", "--file=" + plan, "--into=" + directory.resolve("status"), "--key=uid")
                        .exitCode())
                .isZero();
        assertThat(adopt("status", "--plan=" + plan).out()).contains("\nold.photo  photo  following");
        Files.writeString(plan, Files.readString(plan).replace("photo", "likeness"));
        assertThat(adopt("status", "--plan=" + plan).out())
                .startsWith(
                        "no such adoption is in progress; without --plan and --from, one is: old.photo of postgresql://");
        assertThat(installation
                        .launch("adopt", "status", "--from=" + installation.url(0))
                        .out())
                .startsWith("no such adoption is in progress; ");
        Result unknown = installation.launch("adopt", "status", "--from=" + installation.url(OLD) + "0");
        assertThat(unknown.exitCode()).isEqualTo(ExitCodes.FAILURE);
        assertThat(unknown.err()).contains("does not exist");
    }

    @Test
    void whatChangesIsBroughtOver() throws Exception {
        assertThat(run("old.photo", "--key=uid").out()).isEqualTo("""
                TABLE      INTO   STATE      COPIED  CHANGES  COMPARED
                old.photo  photo  following  1,000   0

                when the application is ready to write to the shards, add --finish
                """);
        assertThat(installation.launch("adopt", "status").out())
                .startsWith("TABLE      INTO   STATE")
                .contains("\nold.photo  photo  ")
                .endsWith(
                        "\nto continue: shardflake adopt run --plan FILE --from URL, or shardflake adopt run --table TABLE --from URL; with --finish to end it, with --cancel to give it up\n");
        statusShowsWhatWasAskedFor();
        installation.execute(OLD, """
                INSERT INTO old.photo (uid, slug) VALUES (3, 'inserted');
                UPDATE old.photo SET title = 'updated' WHERE id = 10;
                DELETE FROM old.photo WHERE id = 11;
                UPDATE old.photo SET uid = uid + 1 WHERE id = 12;
                UPDATE old.photo SET id = 5000 WHERE id = 13;
                UPDATE old.photo SET slug = CASE id WHEN 14 THEN 'photo 15' ELSE 'photo 14' END WHERE id IN (14, 15);
                INSERT INTO old.photo (id, uid, slug) VALUES (6000, 1, 'short'); DELETE FROM old.photo WHERE id = 6000;
                """);
        assertThat(installation.launch("adopt", "status", "-o=json").out()).matches("""
                        \\[\\{"table":"old.photo","from":"postgresql://[^"]+","into":"photo","begunAt":"[0-9T:.-]+Z",\
                        "state":"following","commandRuns":false,"copied":1000,"changes":11,"oldestChangeAt":"[0-9T:.-]+Z",\
                        "triggers":\\[],"problem":""}]
                        """);

        Result finished = run("old.photo", "--key=uid", "--finish", "--yes", "-o", "json");

        assertThat(finished.exitCode()).as(finished.toString()).isZero();
        assertThat(finished.out()).contains("\"state\":\"finished\"", "\"changes\":11,\"compared\":1000");
        assertThat(installation.launch("adopt", "status").out()).isEqualTo("no adoption is in progress\n");
        assertThat(installation.launch("adopt", "old.photo").err())
                .isEqualTo("error: unknown command \"old.photo\"\nhint: see shardflake adopt --help\n");
        assertThat(shards("SELECT id || ' in ' || NUMBER FROM SHARD.photo WHERE id IN (11, 12, 13, 5000, 6000)"))
                .isEqualTo("12 in 5,5000 in 5");
    }

    @Test
    void aDryRunChangesNothing() throws SQLException {
        installation.execute(OLD, "ANALYZE old.photo");

        assertThat(run("old.photo", "--key=uid", "--dry-run"))
                .isEqualTo(new Result(0, """
                about 1,000 rows of old.photo would go into photo of 8 shards
                columns: id, uid, slug, title, extra
                warning: (slug) will be unique within a shard, not over all of them
                warning: old ids do not contain their shard: look such rows up by uid
                warning: the check that id contains the shard is lifted for photo, since old ids do not contain it
                """, "dry run: nothing was changed\n"));
        assertThat(installation.query(OLD, "SELECT to_regnamespace('shardflake_adopt')"))
                .isEqualTo("null");
        assertThat(shardRows("photo")).isZero();
    }

    @Test
    void rowsThatDifferAreFoundAndTheTableIsOpenAgain() throws SQLException {
        run("old.photo", "--key=uid");
        installation.execute(
                0, "UPDATE shard_0003.photo SET title = 'tampered' WHERE id = (SELECT min(id) FROM shard_0003.photo)");
        installation.execute(1, "DELETE FROM shard_0004.photo WHERE id = (SELECT min(id) FROM shard_0004.photo)");

        Result finished = run("old.photo", "--key=uid", "--finish", "--yes");

        assertThat(finished.exitCode()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(finished.err())
                .containsPattern(
                        "error: the rows of old.photo differ in 2 shards: shard 3 has other values; shard 4 has \\d+ rows, not \\d+\n")
                .contains("old.photo takes writes again\n");
        installation.execute(OLD, "UPDATE old.photo SET title = 'open' WHERE id = 1");
    }

    /** As the row that has what another one had: in a journal of many batches the change of the other may be far behind. */
    @Test
    @Tag("full")
    void aValueThatWentFromRowToRowIsNoClash() throws SQLException {
        run("old.photo", "--key=uid");
        installation.execute(OLD, "UPDATE old.photo SET slug = 'taken' WHERE id = 1");
        installation.execute(OLD, "UPDATE old.photo SET title = 'again' WHERE id > 900");
        installation.execute(OLD, "UPDATE old.photo SET uid = 3 WHERE id IN (1, 2)");
        installation.execute(OLD, "UPDATE old.photo SET slug = 'free' WHERE id = 2");
        installation.execute(OLD, "UPDATE old.photo SET slug = 'photo 2' WHERE id = 1");

        Result finished = run("old.photo", "--key=uid", "--batch=2", "--finish", "--yes");

        assertThat(finished.exitCode()).as(finished.toString()).isZero();
        assertThat(shards("SELECT id || slug FROM SHARD.photo WHERE id IN (1, 2)"))
                .isEqualTo("1photo 2,2free");
    }

    /** The copy ends although rows are appended as fast as it goes. */
    @Test
    void whileRowsAreAppended() throws Exception {
        AtomicBoolean stop = new AtomicBoolean();
        ExecutorService threads = Executors.newSingleThreadExecutor();
        Future<Integer> writer = threads.submit(() -> append(stop));

        Result finished = run("old.photo", "--key=uid", "--batch=200", "--finish", "--yes");

        stop.set(true);
        assertThat(writer.get()).isPositive();
        threads.shutdown();
        assertThat(finished.exitCode()).as(finished.toString()).isZero();
        assertThat(shardRows("photo"))
                .isEqualTo(Long.parseLong(installation.query(OLD, "SELECT count(*) FROM old.photo")));
    }

    private int append(AtomicBoolean stop) throws SQLException {
        int written = 0;
        try (Connection connection = postgres.database(OLD).connect();
                Statement statement = connection.createStatement()) {
            while (!stop.get()) {
                statement.execute("INSERT INTO old.photo (uid, slug) VALUES (%s, 'n %s')".formatted(written, written));
                written++;
            }
        } catch (SQLException e) {
            assertThat(e.getSQLState()).isEqualTo("SF001");
        }
        return written;
    }

    @Test
    @Tag("full")
    void whatCannotBeFinishedIsOpenAgain() throws SQLException {
        run("old.photo", "--key=uid");
        installation.execute(OLD, "UPDATE old.photo SET title = 'last' WHERE uid = 2");
        installation.execute(0, "SELECT shardflake.fence_shard(2)");

        // The change of a fenced shard is met before the table is closed, so it never is.
        assertThat(run("old.photo", "--key=uid", "--finish", "--yes").exitCode())
                .isEqualTo(ExitCodes.FAILURE);
        installation.execute(OLD, "UPDATE old.photo SET title = 'open' WHERE id = 1");
        installation.execute(0, "SELECT shardflake.unfence_shard(2)");
        // As after a kill -9 while it was closed.
        installation.execute(OLD, """
                UPDATE shardflake_adopt.adoption SET state = 'CLOSED';
                ALTER TABLE old.photo ENABLE ALWAYS TRIGGER shardflake_adopt_closed
                """);
        assertThat(run("old.photo", "--key=uid").out())
                .contains("closed tables take no writes, since --finish was killed");
        assertThat(run("old.photo", "--key=uid", "--reopen").exitCode()).isZero();
        installation.execute(OLD, "UPDATE old.photo SET title = 'open' WHERE id = 2");
        assertThat(run("old.photo", "--key=uid", "--finish", "--yes").exitCode())
                .isZero();
    }

    @Test
    @Tag("full")
    void namesTypesAndColumnsOfAllKinds() throws SQLException, IOException {
        installation.execute(OLD, """
                CREATE DOMAIN old.label AS text NOT NULL CHECK (VALUE <> '');
                CREATE TYPE old.feeling AS ENUM ('sad', 'glad');
                CREATE TABLE old."Odd ""Table" ("Key" text, "n$note$" integer, d old.label, m old.feeling, f float8, t timestamptz, b bytea, a text[],
                    doubled integer GENERATED ALWAYS AS ("n$note$" * 2) STORED, halved integer, PRIMARY KEY ("Key", "n$note$"));
                INSERT INTO old."Odd ""Table" ("Key", "n$note$", d, m, f, t, b, a, halved)
                SELECT v, n, 'x', 'glad', f, 'infinity', '\\x00ff', ARRAY[v, NULL, '{"'], n / 2
                  FROM unnest(ARRAY['', '\\.', 'a b', E'tab\t', 'ä', 'Z', 'z']) v, generate_series(1, 9) n, unnest(ARRAY['NaN'::float8]) f
                """);
        for (int server = 0; server < 2; server++) {
            installation.execute(
                    server,
                    "DROP DOMAIN IF EXISTS label; DROP TYPE IF EXISTS feeling; CREATE DOMAIN label AS text NOT NULL CHECK (VALUE <> ''); CREATE TYPE feeling AS ENUM ('sad', 'glad')");
        }
        deploy(photo() + """

                --changeset ann:odd
                CREATE TABLE "odd" ("Key" text, "n$note$" integer, d public.label, m public.feeling, f float8, t timestamptz, b bytea, a text[],
                    doubled integer, halved integer GENERATED ALWAYS AS ("n$note$" / 2) STORED, PRIMARY KEY ("Key", "n$note$"));
                """, "--allow-public");
        String table = "old.\"Odd \"\"Table\"";

        Result copied = run(table, "--key=Key", "--into=odd", "--batch=5");
        assertThat(copied.exitCode()).as(copied.toString()).isZero();
        installation.execute(OLD, """
                DELETE FROM old."Odd ""Table" WHERE "n$note$" = 3; UPDATE old."Odd ""Table" SET "Key" = "Key" || '!' WHERE "n$note$" = 4
                """);
        Result finished = run(table, "--key=Key", "--into=odd", "--batch=5", "--finish", "--yes");

        assertThat(finished.exitCode()).as(finished.toString()).isZero();
        assertThat(shardRows("odd")).isEqualTo(56);
        assertThat(
                        shards(
                                "SELECT concat_ws('|', a, f, t, b, doubled, halved) FROM SHARD.odd WHERE \"Key\" = '\\.' AND \"n$note$\" = 7"))
                .isEqualTo("{\"\\\\.\",NULL,\"{\\\"\"}|NaN|infinity|\\x00ff|14|3");
    }

    private static final String ID_CHECKS =
            "SELECT 'NUMBER ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'SHARD.photo'::regclass AND conname = 'id_of_shard'";

    private static final String ROWS = "SELECT 'NUMBER ' || p::text FROM SHARD.photo p";

    private Result cancel() {
        return run("old.photo", "--key=uid", "--cancel", "--yes");
    }

    @Test
    void cancelRemovesWhatItBroughtAndPutsTheChecksBack() throws SQLException {
        installation.execute(
                0, "ALTER TABLE shard_0001.photo DROP CONSTRAINT id_of_shard, ADD CONSTRAINT id_of_shard CHECK (true)");
        installation.execute(
                1,
                "ALTER TABLE shard_0006.photo DROP CONSTRAINT id_of_shard, ADD CONSTRAINT id_of_shard CHECK ((id >> 10 & 8191) = 6) NOT VALID");
        String checks = shards(ID_CHECKS);
        run("old.photo", "--key=uid", "--batch=300");
        installation.execute(
                OLD, "UPDATE old.photo SET title = 'later' WHERE id < 50; DELETE FROM old.photo WHERE id > 990");
        assertThat(run("old.photo", "--key=uid", "--cancel").err()).isEqualTo("""
                error: cannot ask whether to remove all rows of old.photo from the shards: there is no terminal
                hint: add --yes; the old database keeps all of them
                """);

        assertThat(cancel()).isEqualTo(new Result(0, """
                        TABLE      INTO   STATE      COPIED  CHANGES  COMPARED
                        old.photo  photo  cancelled  0       0
                        """, ""));

        assertThat(shardRows("photo")).isZero();
        assertThat(installation.query(OLD, "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'old.photo'::regclass"))
                .isEqualTo("0");
        assertThat(cancel().err())
                .isEqualTo("error: old.photo is not being adopted\nhint: begin with " + advised("run") + "\n");
        assertThat(shards(ID_CHECKS)).isEqualTo(checks);
        assertThat(installation.query(OLD, "SELECT to_regnamespace('shardflake_adopt')"))
                .isEqualTo("null");
        assertThat(installation.query(OLD, "SELECT count(*) FROM old.photo")).isEqualTo("990");
        assertThat(run("old.photo", "--key=uid", "--finish", "--yes").out())
                .containsPattern(" finished +990 +0 +990\n");
    }

    @Test
    void cancelRefusesWhatOthersWroteAndNamesIt() throws SQLException {
        run("old.photo", "--key=uid");
        installation.execute(OLD, "UPDATE old.photo SET title = 'old' WHERE id = 7");
        installation.execute(0, """
                INSERT INTO shard_0003.photo (id, uid, slug) VALUES (7777777, 3, 'new');
                UPDATE shard_0002.photo SET shown = false WHERE id = 2
                """); // a column that the old table lacks
        installation.execute(1, "UPDATE shard_0007.photo SET title = 'new' WHERE id = 7");
        String rows = shards(ROWS);

        Result refused = cancel();

        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(refused.err())
                .contains(
                        "the shards have 3 rows of photo that adopt did not bring, or that someone has changed since: ")
                .contains("shard_0003.photo (7777777)", "shard_0002.photo (2)", "shard_0007.photo (7)")
                .contains("\nhint: they would be lost");
        assertThat(shards(ROWS)).isEqualTo(rows);
        onAllShards("DELETE FROM %s.photo WHERE id IN (2, 7, 7777777)");
        assertThat(cancel().exitCode()).isZero();
        assertThat(shardRows("photo")).isZero();
    }

    /** Without what is known of its transactions, as after a kill, rows that are equal to the old table's are its own. */
    @Test
    @Tag("full")
    void cancelKnowsItsRowsByTheirValuesToo() throws SQLException {
        run("old.photo", "--key=uid");
        installation.execute(OLD, "DELETE FROM shardflake_adopt.written");
        installation.execute(0, "UPDATE shard_0002.photo SET shown = false WHERE id = 2");
        String rows = shards(ROWS);

        assertThat(cancel().err()).contains("the shards have 1 row of photo", "shard_0002.photo (2)");

        assertThat(shards(ROWS)).isEqualTo(rows);
        installation.execute(0, "UPDATE shard_0002.photo SET shown = true WHERE id = 2");
        Result cancelled = cancel();
        assertThat(cancelled.exitCode()).as(cancelled.toString()).isZero();
        assertThat(shardRows("photo")).isZero();
    }

    @ParameterizedTest
    @CsvSource({"1", "2", "3", "4", "5", "6"})
    @Tag("full")
    void cancelAtRandomMomentsKeepsWhatTheApplicationWrote(long seed) throws SQLException {
        Random random = new Random(seed);
        Set<String> others = new TreeSet<>();
        for (int turn = 0; turn < 3; turn++) {
            run("old.photo", "--key=uid", "--batch=" + random.nextInt(50, 400));
            others.clear(); // as far as the old rows were brought over these
            for (int i = 0; i < 10; i++) {
                int id = random.nextInt(1, 1001);
                installation.execute(
                        OLD,
                        random.nextBoolean()
                                ? "UPDATE old.photo SET title = 'old %s' WHERE id = %s".formatted(i, id)
                                : "DELETE FROM old.photo WHERE id = %s".formatted(id));
            }
        }
        if (random.nextBoolean()) {
            // Without its transaction, a row is recognized only while the old table's row is equal.
            run("old.photo", "--key=uid");
            installation.execute(OLD, "DELETE FROM shardflake_adopt.written WHERE random() < 0.5");
        }
        for (int i = 0; i < random.nextInt(12); i++) {
            int shard = random.nextInt(8);
            int id = random.nextInt(1, 1001);
            String sql = random.nextBoolean()
                    ? "INSERT INTO %1$s.photo (id, uid, slug) VALUES (%2$s, %3$s, 'new %2$s') RETURNING id"
                    : "UPDATE %1$s.photo SET shown = NOT shown WHERE id = (SELECT id FROM %1$s.photo ORDER BY abs(id - %2$s) LIMIT 1) RETURNING id";
            others.add(installation.query(
                    shard / 4, sql.formatted(Sharding.schema(shard), id + 1_000_000 * (i + 1), shard)));
        }
        String rows = shards(ROWS);

        Result first = cancel();

        if (!others.isEmpty()) {
            assertThat(first.exitCode()).as(first.toString()).isEqualTo(ExitCodes.PRECONDITION);
            assertThat(shards(ROWS)).isEqualTo(rows);
            onAllShards("DELETE FROM %s.photo WHERE id IN (" + String.join(",", others) + ")");
        }
        Result last = others.isEmpty() ? first : cancel();
        assertThat(last.exitCode()).as(last + " after " + others).isZero();
        assertThat(shardRows("photo")).isZero();
        assertThat(shards(ID_CHECKS)).doesNotContain("true");
    }

    @Test
    @Tag("full")
    void aLockOnOneShardLeavesTheChecksOfAll() throws SQLException {
        String checks = shards(ID_CHECKS);
        try (Connection reader = postgres.database(1).connect()) {
            reader.setAutoCommit(false);
            reader.createStatement().execute("SELECT count(*) FROM shard_0005.photo");

            Result failed = run("old.photo", "--key=uid");

            assertThat(failed.exitCode()).as(failed.toString()).isEqualTo(ExitCodes.FAILURE);
            assertThat(failed.err()).contains("lock timeout");
            assertThat(shards(ID_CHECKS)).isEqualTo(checks);
            reader.rollback();
        }
        assertThat(run("old.photo", "--key=uid").exitCode()).isZero();
        assertThat(shards(ID_CHECKS)).isNotEqualTo(checks);
        // As after a kill while the checks were lifted.
        installation.execute(
                0,
                "ALTER TABLE shard_0002.photo DROP CONSTRAINT id_of_shard, ADD CONSTRAINT id_of_shard CHECK ((id >> 10 & 8191) = 2) NOT VALID");
        assertThat(cancel().exitCode()).isZero();
        assertThat(shards(ID_CHECKS).replace(" NOT VALID", "")).isEqualTo(checks);
    }

    @Test
    void adoptionsAndMovesExcludeEachOtherByName() throws SQLException {
        assertThat(run("old.photo", "--key=uid").exitCode()).isZero();

        for (String[] command : new String[][] {
            {"move", "start", "--shards=2", "--to=db2", "--dry-run"}, {"move", "run", "--shards=2", "--to=db2"}
        }) {
            Result refused = installation.launch(command);
            assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
            assertThat(refused.out() + refused.err())
                    .contains("old.photo of postgresql://", " is being adopted into photo");
        }
        assertThat(installation.launch("doctor").out()).contains("old.photo of postgresql://", "adoption");
        assertThat(cancel().exitCode()).isZero();
        assertThat(installation.launch("doctor").out()).doesNotContain("adopt");

        Result moving = installation.launch("move", "start", "--shards=2", "--to=db2");
        assertThat(moving.exitCode()).as(moving.toString()).isZero();
        String checks = shards(ID_CHECKS);
        for (String option : List.of("--dry-run", "--batch=100", "--finish")) {
            Result refused = run("old.photo", "--key=uid", option, "--yes");
            assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
            assertThat(refused.err()).contains("old.photo cannot be adopted during a move: move 1 from db1 to db2");
        }
        assertThat(shards(ID_CHECKS)).isEqualTo(checks);
        assertThat(installation.query(OLD, "SELECT to_regnamespace('shardflake_adopt')"))
                .isEqualTo("null");
        assertThat(installation.launch("move", "cancel", "1", "--yes").exitCode())
                .isZero();
        assertThat(run("old.photo", "--key=uid", "--finish", "--yes").exitCode())
                .isZero();
        assertThat(installation.query(0, "SELECT count(*) FROM shardflake_catalog.adoption"))
                .isEqualTo("0");
    }

    @Test
    void largeObjectsAreRefusedAndDoctorNamesThem() throws SQLException {
        onAllShards("ALTER TABLE %s.photo ADD picture oid");
        installation.execute(OLD, "ALTER TABLE old.photo ADD picture oid");
        assertThat(run("old.photo", "--key=uid").err())
                .contains(
                        "old.photo has columns that may refer to large objects, which would stay behind: photo.picture\nhint: ");
        assertThat(installation.launch("doctor").out())
                .contains(
                        "has columns in 4 shards that may refer to large objects, which moves leave behind: photo.picture");
        installation.execute(OLD, """
                ALTER TABLE old.photo DROP picture;
                UPDATE old.photo SET title = CASE WHEN id < 500 THEN lo_from_bytea(0, 'pixels')::text END
                """);

        Result refused = run("old.photo", "--key=uid");

        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(refused.err()).contains("which would stay behind: photo.title\n");
        // A number of the house is no large object's.
        installation.execute(OLD, "UPDATE old.photo SET title = id");
        assertThat(run("old.photo", "--key=uid").exitCode()).isZero();
    }

    @Test
    void aTableThatComesAfterShardsHaveLeftIsBroughtWhole() throws SQLException {
        Result left = adopt("cutover", "--table=old.photo", "--key=uid", "--shards=0-1", "--yes");
        assertThat(left.exitCode()).as(left.toString()).isZero();
        onAllShards("ALTER TABLE %s.likes DROP CONSTRAINT IF EXISTS likes_photo_id_fkey");
        String[] likes = {"--table=old.likes", "--key=uid", "--shards=2", "--yes"};

        assertThat(run("old.likes", "--key=uid").exitCode()).isZero();
        assertThat(shardRows("likes")).isEqualTo(500);
        Result refused = adopt("cutover", likes[0], likes[1], likes[2], likes[3]);

        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(refused.err())
                .contains(
                        "shards 0,1 left the old database without the rows of old.likes",
                        "shardflake adopt run --table old.likes --key uid --from %s --finish"
                                .formatted(installation.url(OLD)));
        installation.execute(OLD, "DELETE FROM old.likes WHERE uid = 8");
        Result finished = run("old.likes", "--key=uid", "--finish", "--yes");
        assertThat(finished.exitCode()).as(finished.toString()).isZero();
        assertThat(installation.query(0, "SELECT count(*) FROM shard_0000.likes"))
                .isEqualTo(installation.query(OLD, "SELECT count(*) FROM old.likes WHERE uid % 8 = 0"));
        assertThat(shardRows("likes")).isEqualTo(490);
    }

    /** Its changes are brought to the shards that have left without it, too. */
    @Test
    void aTableThatStaysWhileShardsLeaveIsBroughtWhole() throws SQLException {
        onAllShards("ALTER TABLE %s.likes DROP CONSTRAINT IF EXISTS likes_photo_id_fkey");
        assertThat(run("old.likes", "--key=uid").exitCode()).isZero();
        Result left = adopt("cutover", "--table=old.photo", "--key=uid", "--shards=0-1", "--yes");
        assertThat(left.exitCode()).as(left.toString()).isZero();
        installation.execute(OLD, "DELETE FROM old.likes WHERE uid = 8; INSERT INTO old.likes VALUES (1, 8, now())");

        Result refused = adopt("cutover", "--table=old.likes", "--key=uid", "--shards=2", "--yes");
        Result finished = run("old.likes", "--key=uid", "--finish", "--yes");

        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(finished.exitCode()).as(finished.toString()).isZero();
        assertThat(finished.out()).endsWith(" 491\n");
        assertThat(installation.query(0, "SELECT count(*) FROM shard_0000.likes WHERE uid = 8"))
                .isEqualTo("1");
    }

    @Test
    void shardsLeaveAndReturnWithAllTablesThatLeaveByShards() throws SQLException {
        onAllShards("ALTER TABLE %s.likes DROP CONSTRAINT IF EXISTS likes_photo_id_fkey");
        String[] both = {"cutover", "--table=old.photo", "--table=old.likes", "--key=uid", "--shards=0-1", "--yes"};
        Result left = adopt(both);
        assertThat(left.exitCode()).as(left.toString()).isZero();

        for (String verb : List.of("cutover", "reverse")) {
            Result refused = adopt(verb, "--table=old.photo", "--key=uid", "--shards=1-2", "--yes");

            assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
            assertThat(refused.err())
                    .startsWith(
                            "error: a shard leaves or returns with all of its tables, and old.likes would be left out\n");
        }
    }

    /** Shard 1 comes back for one table; the other, adopted by itself, is given up. */
    @Test
    void shardsThatCameBackStayClosedWhenAnotherTableIsGivenUp() throws SQLException {
        onAllShards("ALTER TABLE %s.likes DROP CONSTRAINT IF EXISTS likes_photo_id_fkey");
        onAllShards("ALTER TABLE %s.photo DROP shown");
        succeeds(adopt("cutover", "--table=old.photo", "--key=uid", "--shards=0-1", "--yes"));
        succeeds(adopt("reverse", "--table=old.photo", "--shards=1", "--yes"));
        succeeds(run("old.likes", "--key=uid"));

        succeeds(run("old.likes", "--cancel", "--yes"));

        String write = "UPDATE shard_0001.photo SET title = 'x' WHERE uid = 9";
        assertThatThrownBy(() -> installation.execute(0, write)).hasMessageContaining("shard 1");
        succeeds(adopt("reverse", "--table=old.photo", "--shards=0", "--yes"));
        succeeds(run("old.photo", "--cancel", "--yes"));
        installation.execute(0, write);
    }

    private static void succeeds(Result result) {
        assertThat(result.exitCode()).as(result.toString()).isZero();
    }

    @Test
    void anAdoptionOfAnOlderVersionGoesOn() throws SQLException {
        onAllShards("ALTER TABLE %s.photo DROP shown");
        installation.execute(
                OLD, OLDER_ADOPTION.formatted(installation.query(0, "SELECT id FROM shardflake_catalog.installation")));
        installation.execute(
                OLD, "DELETE FROM old.photo WHERE id = 7; UPDATE old.photo SET title = 'noted' WHERE id = 8");

        assertThat(run("old.photo").out()).containsPattern(" following +999 +2\n");
        installation.execute(OLD, "UPDATE old.photo SET uid = uid + 1, title = 'later' WHERE id = 9");
        assertThat(installation.launch("adopt", "status", "-o=json").out())
                .contains("\"state\":\"following\",\"commandRuns\":false,\"copied\":999,\"changes\":2,\"triggers\":[]");
        assertThat(adopt("verify", "--table=old.photo").out()).contains("no row differs");
        succeeds(adopt("cutover", "--table=old.photo", "--shards=0-1", "--yes"));
        succeeds(adopt("reverse", "--table=old.photo", "--shards=1", "--yes"));
        succeeds(adopt("cutover", "--table=old.photo", "--percent=100", "--yes"));
        assertThat(shardRows("photo")).isEqualTo(999);
        assertThat(shards("SELECT title FROM SHARD.photo WHERE id IN (8, 9)")).isEqualTo("later,noted");
    }

    @Test
    void twoTablesDoNotGoIntoOne() throws SQLException {
        installation.execute(OLD, "CREATE SCHEMA older; CREATE TABLE older.photo (LIKE old.photo INCLUDING ALL)");

        Result refused = run("old.photo", "--table=older.photo", "--key=uid");

        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(refused.err())
                .startsWith("error: rows of two tables would go into photo of the shards, the second is older.photo\n");
    }

    /** Named one after the other, without their keys: the shards say them. */
    @Test
    void tablesThatSayTheirKeysAreFinishedTogether() throws SQLException {
        onAllShards("COMMENT ON COLUMN %1$s.photo.uid IS 'shard key'; COMMENT ON COLUMN %1$s.likes.uid IS 'shard key'");
        onAllShards("ALTER TABLE %s.likes DROP CONSTRAINT IF EXISTS likes_photo_id_fkey");

        Result finished = run("old.photo", "--table=old.likes", "--finish", "--yes");

        assertThat(finished)
                .isEqualTo(new Result(
                        0,
                        """
                        TABLE      INTO   STATE     COPIED  CHANGES  COMPARED
                        old.photo  photo  finished  1,000   0        1,000
                        old.likes  likes  finished  500     0        500
                        """,
                        "each of the 2 tables is closed to writes; copying the last changes, then comparing\n"));
    }

    /** The likes have the key of who likes, so many of their photos are in other shards. */
    @Test
    void brokenForeignKeysAreNamedByTheTableThatIsFinishedLast() throws SQLException {
        assumeTrue(silencesForeignKeys());
        String broken = "foreign key likes_photo_id_fkey of likes to photo: ";
        run("old.photo", "--key=uid");
        Result first = run("old.likes", "--key=uid", "--finish", "--yes");
        assertThat(first.exitCode()).as(first.toString()).isZero();

        Result last = run("old.photo", "--key=uid", "--finish", "--yes");

        assertThat(last.exitCode()).as(last.toString()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(last.err())
                .contains("with the rows of old.photo the shards have broken foreign keys: " + broken)
                .contains("rows in 8 shards, in shard_000", "old.photo takes writes again");
        Result doctor = installation.launch("doctor", "--rows");
        assertThat(doctor.exitCode()).as(doctor.toString()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(doctor.out()).contains("foreign-key-broken", broken, "rows in 4 shards, in shard_000");
        // One that is to hold for new rows only keeps nobody from finishing.
        onAllShards(
                "ALTER TABLE %1$s.likes DROP CONSTRAINT likes_photo_id_fkey, ADD CONSTRAINT likes_photo_id_fkey FOREIGN KEY (photo_id) REFERENCES %1$s.photo NOT VALID");
        Result finished = run("old.photo", "--key=uid", "--finish", "--yes");
        assertThat(finished.exitCode()).as(finished.toString()).isZero();
        assertThat(finished.err()).contains("warning: NOT VALID, and broken: " + broken);
    }

    @Test
    @Tag("full")
    void cancelKeepsRowsThatOthersReferTo() throws SQLException {
        assumeTrue(silencesForeignKeys());
        run("old.photo", "--key=uid");
        installation.execute(0, "INSERT INTO shard_0003.likes SELECT id, 3, now() FROM shard_0003.photo LIMIT 1");

        Result refused = cancel();

        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(refused.err())
                .contains(
                        "rows of others refer to those of photo, by foreign key likes_photo_id_fkey of likes to photo: 1 row");
        assertThat(shardRows("photo")).isEqualTo(1000);
    }

    @Test
    void whatTheShardsComputeIsComparedAllTheSame() throws SQLException {
        installation.execute(OLD, """
                ALTER TABLE old.photo DROP words, ADD words integer;
                UPDATE old.photo SET words = CASE id WHEN 8 THEN 1000 ELSE length(title) END
                """);
        Result adopted = run("old.photo", "--key=uid", "--dry-run");
        assertThat(adopted.out()).contains("the shards compute words themselves");

        Result differs = run("old.photo", "--key=uid", "--finish", "--yes");

        assertThat(differs.exitCode()).as(differs.toString()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(differs.err()).contains("differ in 1 shard: shard 0 has other values", "only words differs");
        installation.execute(OLD, "UPDATE old.photo SET words = length(title) WHERE id = 8");
        assertThat(run("old.photo", "--key=uid", "--finish", "--yes").exitCode())
                .isZero();
    }

    @ParameterizedTest
    @CsvSource({
        "--key=uid, 'missing: --plan FILE, or --table TABLE'",
        "--plan=a.yaml --table=photo, --plan and --table exclude each other",
        "--plan=a.yaml --into=photo, '--key and --into go with --table: a plan says them for each of its tables'",
        "--table=photo --table=likes --into=photo, --into is for one --table",
    })
    void tablesComeFromAPlanOrByTheirNames(String options, String message) {
        List<String> arguments = new ArrayList<>(List.of("run"));
        arguments.addAll(List.of(options.split(" ")));

        Result refused = adopt(arguments.toArray(String[]::new));

        assertThat(refused.exitCode()).isEqualTo(ExitCodes.USAGE);
        assertThat(refused.err()).startsWith("error: " + message + "\n");
    }

    @Test
    void anotherInstallationIsRefused() throws SQLException {
        run("old.photo", "--key=uid");
        installation.execute(OLD, "UPDATE shardflake_adopt.adoption SET installation = gen_random_uuid()");

        for (String action : List.of("--finish", "--cancel", "--reopen")) {
            assertThat(run("old.photo", "--key=uid", action, "--yes").err())
                    .startsWith(
                            "error: old.photo is being adopted into the shards of another installation\nhint: name that one's catalog");
        }
        assertThat(shardRows("photo")).isEqualTo(1000);
    }

    @Test
    void anotherKeyOrAnotherTableIsAnotherAdoption() {
        run("old.photo", "--key=uid");

        assertThat(run("old.photo", "--key=id").err())
                .isEqualTo("""
                error: old.photo is being adopted into photo by its uid, over 8 shards
                hint: continue with these, or cancel with these first: FIRST
                """.replace("FIRST", advised("run").replace(" --from", " --into photo --from")));
    }

    /** The shards do not say the key, and the name differs: the adoption knows both. */
    @Test
    void advisedCommandsRunAsTheyAre() throws SQLException {
        installation.execute(OLD, "ALTER TABLE old.photo RENAME TO picture");
        assertThat(run("old.picture", "--key=uid", "--into=photo").exitCode()).isZero();

        Result unconfirmed = adopt("cutover", "--table=old.picture", "--percent=1");
        Matcher doctor = Pattern.compile("end it with shardflake (adopt run .* --finish), or give it up with ")
                .matcher(installation.launch("doctor", "-o=json").out());

        assertThat(unconfirmed.err())
                .contains(
                        "hint: add --yes; shardflake adopt run --table old.picture --from %s brings their rows over without that\n"
                                .formatted(installation.url(OLD)));
        assertThat(doctor.find()).isTrue();
        Result finished = installation.launch((doctor.group(1) + " --yes").split(" "));
        assertThat(finished.exitCode()).as(finished.toString()).isZero();
        assertThat(shardRows("photo")).isEqualTo(1000);
    }

    @Test
    void aShardThatIsMovingTakesNoRows() throws SQLException {
        installation.execute(0, "SELECT shardflake.fence_shard(2)");

        Result refused = run("old.photo", "--key=uid");

        assertThat(refused.exitCode()).isEqualTo(ExitCodes.FAILURE);
        assertThat(refused.err())
                .startsWith("error: shard 2 on db1 is being moved, or has moved; run it again when that is done\n");
        installation.execute(0, "SELECT shardflake.unfence_shard(2)");
        assertThat(run("old.photo", "--key=uid", "--finish", "--yes").exitCode())
                .isZero();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "SELECT 1 | old.fotos | uid | there is no table old.fotos",
                "SELECT 1 | old.photo | user | table old.photo has no column user",
                "SELECT 1 | old.photo | extra | column extra is of type jsonb, from which no uid can be derived",
                "CREATE COLLATION old.loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false); ALTER TABLE old.photo ALTER slug TYPE text COLLATE old.loose | old.photo | slug | slug of old.photo takes different texts as equal, by collation old.loose, and they would be in different shards",
                "ALTER TABLE old.photo DROP CONSTRAINT photo_pkey | old.photo | uid | old.photo has no primary key",
                "CREATE EXTENSION citext SCHEMA public; ALTER TABLE old.photo DROP CONSTRAINT photo_pkey, ALTER slug TYPE public.citext, ADD PRIMARY KEY (slug) | old.photo | uid | the primary key of old.photo has columns of types that an extension compares: slug public.citext",
                "ALTER TABLE old.photo RENAME title TO shardflake_gone | old.photo | uid | old.photo has a column shardflake_gone",
                "CREATE VIEW old.v AS SELECT * FROM old.photo | old.v | uid | old.v is not a plain table",
                "ALTER TABLE old.photo ADD COLUMN place text | old.photo | uid | shard_0000.photo cannot take the rows of old.photo: it has no column place",
                "ALTER TABLE old.photo ALTER COLUMN title TYPE bytea USING NULL, DROP words | old.photo | uid | its column title is of type text, not bytea",
                "ALTER TABLE old.photo DROP slug | old.photo | uid | its column slug is NOT NULL without a default",
                "ALTER TABLE old.photo ALTER slug DROP NOT NULL; UPDATE old.photo SET slug = NULL WHERE id = 3 | old.photo | uid | its column slug is NOT NULL, and there are rows without",
                "ALTER TABLE old.photo ALTER uid DROP NOT NULL; UPDATE old.photo SET uid = NULL WHERE id = 3 | old.photo | uid | old.photo has rows whose uid is null, and no shard",
                "ALTER TABLE old.photo ALTER uid DROP NOT NULL; UPDATE old.photo SET uid = NULL WHERE id = 3; DO 'BEGIN IF current_setting(''server_version_num'')::integer >= 180000 THEN EXECUTE ''ALTER TABLE old.photo ADD NOT NULL uid NOT VALID''; END IF; END' | old.photo | uid | old.photo has rows whose uid is null, and no shard",
                "ALTER TABLE old.photo ALTER id TYPE bigint; UPDATE old.photo SET id = 2100000000000000000 WHERE id = 3 | old.photo | uid | ids of old.photo go up to 2100000000000000000, and new ones would begin at",
                "ALTER TABLE old.photo RENAME TO pictures | old.pictures | uid | table pictures is missing in 4 shards on db1, such as shard_0000",
            })
    void whatCannotBeAdoptedIsSaidBeforeAnythingIsChanged(String change, String table, String key, String message)
            throws SQLException {
        installation.execute(OLD, change);

        Result refused = run(table, "--key=" + key);

        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(refused.err()).contains(message).contains("\nhint: ");
        assertThat(installation.query(OLD, "SELECT to_regnamespace('shardflake_adopt')"))
                .isEqualTo("null");
    }

    @Test
    void shardsWithRowsAreNotOverwritten() throws SQLException {
        installation.execute(1, "INSERT INTO shard_0005.photo (uid, slug) VALUES (5, 'mine')");

        assertThat(run("old.photo", "--key=uid").err()).isEqualTo("""
                error: photo has rows in 1 shard on db2 already, shard 5 for one
                hint: adopted rows might replace them; empty these tables first
                """);
    }

    private static final String OWN_TYPES = """
            CREATE TYPE mood AS ENUM ('sad', 'so so', 'happy'%s);
            CREATE DOMAIN year AS integer CHECK (VALUE > 1800);
            CREATE TYPE "Place" AS (name text, at point, feels mood);
            CREATE TYPE span AS RANGE (subtype = date);
            """;

    private static final String OF_OWN_TYPES =
            "id bigint PRIMARY KEY, uid bigint NOT NULL, m mood NOT NULL, ms mood[], y year, ys year[], p \"Place\", ps \"Place\"[], s span, plain text";

    /** Types that each shard has for itself, each with an identity of its own. */
    private void makeVisits() throws SQLException, IOException {
        Files.writeString(
                directory.resolve("visit.sql"),
                "--liquibase formatted sql\n--changeset ann:visit\n" + OWN_TYPES.formatted(", 'new'")
                        + "CREATE TABLE visit (%s);\n".formatted(OF_OWN_TYPES));
        Result deployed = installation.launch(
                "schema", "deploy", "--changelog=" + directory.resolve("visit.sql"), "--search-path=" + directory);
        assertThat(deployed.exitCode()).as(deployed.toString()).isZero();
        installation.execute(OLD, "SET search_path = old; " + OWN_TYPES.formatted("") + """
                CREATE TABLE visit (%s);
                INSERT INTO visit
                SELECT n, n %% 23, (enum_range(NULL::mood))[n %% 3 + 1], enum_range(NULL::mood), 1900 + n, ARRAY[1901, NULL, 1900 + n]::year[],
                       ROW('at, "' || n, point(n, 1), 'happy')::"Place", ARRAY[ROW('a', NULL, 'so so')::"Place", NULL],
                       span('2025-01-01', '2025-01-02'), 'x'
                  FROM generate_series(1, 200) n
                """.formatted(OF_OWN_TYPES));
    }

    @Test
    @Tag("full")
    void bringsColumnsOfTypesThatAreTheShardsOwn() throws SQLException, IOException {
        makeVisits();

        assertThat(run("old.visit", "--key=uid", "--dry-run").exitCode()).isZero();
        Result copied = run("old.visit", "--key=uid");
        assertThat(copied.exitCode()).as(copied.toString()).isZero();
        installation.execute(OLD, """
                SET search_path = old;
                UPDATE visit SET m = 'sad', ps = NULL, y = 2000 WHERE id %% 5 = 0;
                DELETE FROM visit WHERE id %% 7 = 0
                """.replace("%%", "%"));
        Result finished = run("old.visit", "--key=uid", "--finish", "--yes");

        assertThat(finished.exitCode()).as(finished.toString()).isZero();
        assertThat(finished.out()).endsWith(" 172\n");
        assertThat(shards("SELECT concat_ws('|', m, ms, y, ys, p, ps, s, plain) FROM SHARD.visit WHERE id = 8"))
                .isEqualTo(
                        "happy|{sad,\"so so\",happy}|1908|{1901,NULL,1908}|(\"at, \"\"8\",\"(8,1)\",happy)|{\"(a,,\\\"so so\\\")\",NULL}|[2025-01-01,2025-01-02)|x");
    }

    @Test
    @Tag("full")
    void keysMayBeOfTypesThatAreTheShardsOwn() throws SQLException, IOException {
        Files.writeString(directory.resolve("key.sql"), """
                --liquibase formatted sql
                --changeset ann:key
                CREATE TYPE mood AS ENUM ('sad', 'happy');
                CREATE TABLE feeling (uid bigint, m mood, note text, PRIMARY KEY (uid, m));
                """);
        installation.launch(
                "schema", "deploy", "--changelog=" + directory.resolve("key.sql"), "--search-path=" + directory);
        installation.execute(OLD, """
                SET search_path = old;
                CREATE TYPE mood AS ENUM ('sad', 'happy');
                CREATE TABLE feeling (uid bigint, m mood, note text, PRIMARY KEY (uid, m));
                INSERT INTO feeling SELECT n, m, 'x' FROM generate_series(1, 50) n, unnest(enum_range(NULL::mood)) m
                """);
        Result copied = run("old.feeling", "--key=uid");
        assertThat(copied.exitCode()).as(copied.toString()).isZero();
        installation.execute(
                OLD, "UPDATE old.feeling SET note = 'y' WHERE m = 'sad'; DELETE FROM old.feeling WHERE uid = 3");

        Result finished = run("old.feeling", "--key=uid", "--finish", "--yes");

        assertThat(finished.exitCode()).as(finished.toString()).isZero();
        assertThat(finished.out()).endsWith(" 98\n");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "ALTER TYPE old.mood ADD VALUE 'gone'           | its column m is of type mood, which has no 'gone'",
                "ALTER TYPE old.\"Place\" ADD ATTRIBUTE z text  | its column p is of type \"Place\", with other attributes",
                "ALTER TYPE old.mood RENAME TO temper           | its column m is of type mood, not temper",
            })
    @Tag("full")
    void refusesTypesThatDifferInADryRun(String change, String reason) throws SQLException, IOException {
        makeVisits();
        installation.execute(OLD, change);

        Result result = run("old.visit", "--key=uid", "--dry-run");

        assertThat(result.exitCode()).as(result.toString()).isEqualTo(4);
        assertThat(result.err()).contains(reason);
    }
}
