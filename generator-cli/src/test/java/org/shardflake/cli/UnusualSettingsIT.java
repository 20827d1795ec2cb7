/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.postgresql.PGConnection;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.cluster.UnusualSettings;
import org.shardflake.jdbc.Sql;
import org.shardflake.replication.Replication;
import org.shardflake.router.Lookup;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;

/**
 * The whole way on servers with unusual settings: commands answer the same, applications read the same, and rows stay what they are.
 *
 * <p>The settings are those that the server names, so that a new version's are among them. The few that are left out say why.
 */
class UnusualSettingsIT {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    /** An old database, and the gateway's. */
    private static final int THIRD = 2;

    private static final Duration BISECTION = Duration.ofMinutes(5);

    private static final String APP = "settings_app";
    private static final String READER = "settings_reader";

    /** Settings that stop PostgreSQL itself from working, and how. */
    private static final Map<String, String> LEFT_OUT = Map.of(
            "temp_buffers", "a session's first temporary table takes all of it at once, more than the machine has",
            "temp_file_limit", "queries that sort on disk are refused",
            "max_stack_depth", "queries of some depth are refused",
            "wal_sender_timeout", "replication that is silent for a millisecond is ended",
            "output_plugin_libraries", "logical replication is forbidden",
            "wal_consistency_checking", "each change writes its page");

    /** Settings that log every statement in detail, or start parallel workers for most of them: they only make the test slow. */
    private static final Pattern OF_TIME_ONLY = Pattern.compile(
            "debug_print_.*|log_(parser|planner|executor|statement)_stats|log_min_messages|parallel_(setup|tuple)_cost|min_parallel_(table|index)_scan_size");

    /** The ways to find and join rows. Without all of them, a look into PostgreSQL's catalog takes many times as long. */
    private static final Pattern OF_PLANS = Pattern.compile("enable_.*(scan|join)");

    /** Settings of the commands' role only, as the others would stop the application, as they are meant to. */
    private static final Set<String> OF_THE_ROLE = Set.of(
            "statement_timeout",
            "transaction_timeout",
            "idle_session_timeout",
            "idle_in_transaction_session_timeout",
            "lock_timeout",
            "tcp_user_timeout",
            "default_transaction_read_only",
            "exit_on_error",
            "session_replication_role");

    /** Replication workers read values by these, so moves are refused while they are set. */
    private static final Set<String> OF_WORKERS = Set.of("array_nulls", "xmloption", "lc_monetary");

    /** Their largest values ask for more memory than a machine has. */
    private static final Set<String> OF_MEMORY =
            Set.of("work_mem", "hash_mem_multiplier", "maintenance_work_mem", "logical_decoding_work_mem");

    /** It forbids reading from views, and a gateway consists of views. */
    private static final Set<String> OF_VIEWS = Set.of("restrict_nonsystem_relation_kind");

    private static final String SHARDS = """
            --liquibase formatted sql
            --changeset ann:types
            CREATE TYPE mood AS ENUM ('good', 'bad');
            CREATE DOMAIN positive AS float8 CHECK (VALUE > 0);
            CREATE TYPE place AS (x float8, y float4, note text);
            --changeset ann:norm splitStatements:false
            CREATE FUNCTION norm(t text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT lower(t) $$;
            --changeset ann:photo
            CREATE TABLE photo (
                id bigint PRIMARY KEY, uid bigint NOT NULL, slug text, mood mood, size positive, place place, moods mood[], places place[],
                ratio float8, part float4, number numeric, day date, at timestamptz, plain timestamp, time time, zoned timetz, lasts interval,
                raw bytea, doc xml, price money, tags text[], raws bytea[], times timestamptz[], js json, jsb jsonb, during tstzrange, days datemultirange,
                spot point, bits varbit, address inet, words tsvector, odd text,
                made timestamptz NOT NULL DEFAULT '2026-02-01 03:04+05', path text DEFAULT 'back\\slash', CHECK (size IS NULL OR part < 1e30));
            CREATE INDEX ON photo (norm(slug));
            CREATE TABLE note (id bigint PRIMARY KEY, uid bigint NOT NULL, photo_id bigint REFERENCES photo, country text REFERENCES reference.country, body text);
            CREATE VIEW days AS SELECT day, count(*) FROM photo WHERE day > '2020-01-01' GROUP BY day;
            CREATE TABLE old (id bigint PRIMARY KEY, uid bigint NOT NULL, ratio float8, at timestamptz, lasts interval, raw bytea, tags text[], price money, doc xml);
            """;

    private static final String COUNTRIES = """
            --liquibase formatted sql
            --changeset ann:country
            CREATE TABLE country (code text PRIMARY KEY, area float8 NOT NULL, since date);
            INSERT INTO country VALUES ('DE', 0.1 + 0.2, '1990-10-03'), ('FR', 1e300 / 3, NULL);
            """;

    /** Rows of shard %s, which an ordinary session reads from the old database. */
    private static final String VALUES = """
            SELECT (n << 23) | (s << 10) | n, s + 4 * n, 'Photo ' || n || ' of ' || s, 'good', n / 7.0::float8, ROW(n / 3.0::float8, n / 3.0::float4, 'a "b" \\c'),
                   ARRAY['bad', NULL], ARRAY[ROW(0.1::float8 + 0.2::float8, 0.1::float4, NULL)], n / 3.0::float8, n / 3.0::float4, n / 3.0,
                   '2026-02-01'::date + n::integer, '2026-02-01 12:00:00.123456+00'::timestamptz + n * interval '1 day', '2026-02-03 04:05'::timestamp, '04:05:06.7'::time, '04:05:06.7+09'::timetz,
                   n * interval '-1 month 2 days 3:04:05.6', decode('00ff5c27', 'hex'), '<a>1</a> and text'::xml, (n + 0.5)::numeric::money, ARRAY['NULL', NULL, 'x,y', 'a\\b'],
                   ARRAY[decode('005c', 'hex'), NULL], ARRAY['2026-02-03 04:05+00'::timestamptz], json_build_object('n', n), jsonb_build_object('n', n / 3.0), tstzrange('2026-01-01 00:00+00', NULL),
                   datemultirange(daterange('2026-01-02', '2026-03-04')), point(n / 3.0, -0.1), B'101', '10.1.2.3/8'::inet, 'a fat cat'::tsvector, chr(9) || chr(10) || '\\N '' " Zürich \\. $$' || n
              FROM generate_series(1::bigint, 20) n, (SELECT %s::bigint) t (s)
            """;

    /** Rows of the database that is adopted. */
    private static final String OLD = """
            SELECT n AS id, n %% 9 AS uid, n / 3.0::float8 AS ratio, '2026-02-01 12:00+00'::timestamptz + n * interval '1 hour' AS at, n * interval '-1 month 3:04:05.6' AS lasts,
                   decode('00ff5c27', 'hex') AS raw, ARRAY['NULL', NULL] AS tags, n::numeric::money AS price, '<a>1</a> and text'::xml AS doc FROM generate_series(1, 50) n
            """;

    /** Rows of a whole database that is adopted. */
    private static final String SHOP = """
            CREATE SCHEMA shop;
            CREATE TABLE shop.member AS %1$s;
            ALTER TABLE shop.member DROP COLUMN uid, ADD PRIMARY KEY (id);
            CREATE TABLE shop.purchase AS SELECT o.*, id AS member_id FROM (%1$s) o;
            ALTER TABLE shop.purchase DROP COLUMN uid, ADD PRIMARY KEY (id), ADD FOREIGN KEY (member_id) REFERENCES shop.member;
            GRANT USAGE ON SCHEMA shop TO settings_app;
            GRANT ALL ON ALL TABLES IN SCHEMA shop TO settings_app
            """;

    /** In the words of a session of its own, which doesn't depend on the pins that are tested. */
    private static final String ORDINARY = """
            SET search_path = pg_catalog; SET row_security = on; SET DateStyle = ISO; SET IntervalStyle = postgres; SET TimeZone = UTC; SET extra_float_digits = 3; SET bytea_output = hex;
            SET xmlbinary = base64; SET xmloption = content; SET lc_monetary = 'C'; SET array_nulls = on; SET standard_conforming_strings = on; SET timezone_abbreviations = 'Default';
            SET quote_all_identifiers = off; SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET idle_session_timeout = 0
            """;

    private static final String COUNTRIES_THERE = "SELECT * FROM reference.country ORDER BY code";

    private static final String IS_OPEN =
            "SELECT to_regnamespace('%s') IS NOT NULL AND NOT EXISTS (SELECT FROM shardflake.placement WHERE shard = %s AND NOT here)";

    /** The commands that a test runs. */
    private enum Way {
        THERE_AND_BACK,
        ALL_COMMANDS,
        WHOLE_DATABASE
    }

    /** The usual answers, which tests compare with. */
    private static final Map<Way, List<String>> USUAL = new EnumMap<>(Way.class);

    private final CliInstallation installation = new CliInstallation(postgres);
    private final List<String> answers = new ArrayList<>();
    private int shards;

    @TempDir
    private static Path directory;

    @BeforeEach
    void begin() throws SQLException, IOException {
        Files.writeString(directory.resolve("shards.sql"), SHARDS);
        Files.writeString(directory.resolve("countries.sql"), COUNTRIES);
        answers.clear();
        if (!postgres.restore("empty")) {
            for (int server = 0; server < 3; server++) {
                for (String role : List.of(APP, READER)) {
                    execute(
                            server,
                            "DO $$BEGIN CREATE ROLE %s LOGIN PASSWORD 'secret'; EXCEPTION WHEN duplicate_object THEN END$$"
                                    .formatted(role));
                }
                execute(server, "GRANT pg_read_all_data TO %s; CREATE SCHEMA hostile".formatted(READER));
            }
            execute(
                    THIRD,
                    "CREATE TABLE public.old AS " + OLD.formatted() + "; ALTER TABLE public.old ADD PRIMARY KEY (id)");
            execute(THIRD, SHOP.formatted(OLD.formatted()));
            postgres.save("empty");
        }
    }

    /** Databases cannot be dropped while something replicates from them. */
    @AfterEach
    void end() throws SQLException {
        for (int server = 0; server < 3; server++) {
            take(server);
        }
        for (int server = 0; server < 2; server++) {
            try (Connection connection = connect(server)) {
                for (String name : Sql.list(
                        connection,
                        "SELECT subname FROM pg_subscription WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())",
                        row -> row.getString(1))) {
                    Replication.dropSubscription(connection, name, "");
                }
            }
        }
        for (int server = 0; server < 2; server++) {
            try (Connection connection = connect(server)) {
                for (String name : Sql.list(
                        connection,
                        "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()",
                        row -> row.getString(1))) {
                    Replication.dropSlot(connection, name);
                }
            }
        }
    }

    private Connection connect(int server) throws SQLException {
        return ServerUrl.parse(postgres.database(server).uri()).connect("a test");
    }

    private void execute(int server, String sql) throws SQLException {
        try (Connection connection = connect(server)) {
            Sql.execute(connection, sql);
        }
    }

    private Set<String> give(int server, Map<String, String> unusual) throws SQLException {
        TestDatabase database = postgres.database(server);
        Map<String, String> ofTheDatabase = new TreeMap<>(unusual);
        ofTheDatabase.keySet().removeAll(OF_THE_ROLE);
        ofTheDatabase.keySet().removeAll(LEFT_OUT.keySet());
        ofTheDatabase.keySet().removeIf(OF_TIME_ONLY.asMatchPredicate());
        Map<String, String> ofTheRole = new TreeMap<>(unusual);
        ofTheRole.keySet().retainAll(OF_THE_ROLE);
        // Servers that follow each other log in with it, too, and PostgreSQL has them wait and ask.
        ofTheRole.replaceAll((name, value) -> name.endsWith("_timeout") ? "'2s'" : value);
        try (Connection connection = connect(server)) {
            Set<String> given = UnusualSettings.give(connection, "DATABASE " + database.name(), ofTheDatabase);
            given.addAll(UnusualSettings.give(
                    connection, "ROLE %s IN DATABASE %s".formatted(database.user(), database.name()), ofTheRole));
            return given;
        }
    }

    private void take(int server) throws SQLException {
        TestDatabase database = postgres.database(server);
        execute(
                server,
                "ALTER DATABASE %1$s RESET ALL; ALTER ROLE %2$s IN DATABASE %1$s RESET ALL"
                        .formatted(database.name(), database.user()));
    }

    private void take(Set<String> names) throws SQLException {
        for (int server = 0; server < 3; server++) {
            String database = postgres.database(server).name();
            execute(
                    server,
                    names.stream()
                            .map(name -> "ALTER DATABASE %s RESET %s".formatted(database, name))
                            .filter(reset -> !reset.contains("restrict_") || has("restrict_nonsystem_relation_kind"))
                            .collect(Collectors.joining("; ")));
        }
    }

    private boolean has(String setting) {
        try (Connection connection = connect(0)) {
            return Sql.isTrue(connection, "SELECT current_setting(?, true) IS NOT NULL", setting);
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    /** The part that every move has: from a server and back to it. */
    private void commonWay(Map<String, String> unusual) throws SQLException {
        String moved = "--shards=0-" + (shards / 2 - 1);
        run("init", "--shards=" + shards, "--server=db1=" + installation.url(0), "--server=db2=" + installation.url(1));
        run(
                "reference",
                "deploy",
                "--changelog=" + directory.resolve("countries.sql"),
                "--search-path=" + directory,
                "--home=db1");
        deploy();
        run(
                "sql",
                "--write",
                "--yes",
                "--all-shards",
                "INSERT INTO photo " + casts(VALUES.formatted("right(current_schema(), 4)")));
        run(
                "sql",
                "--write",
                "--yes",
                "--all-shards",
                "INSERT INTO note (uid, photo_id, country, body) SELECT uid, id, 'DE', slug FROM photo");
        run("lookup", "create", "photo.slug", "--unique");
        run("lookup", "backfill", "photo.slug");
        granted();
        String rows = rows();
        refusedForWorkers(unusual, moved);
        run("move", "start", moved, "--to=db2");
        run("move", "verify");
        run("move", "cutover", "--pause=10s");
        assertThat(rows()).as("rows after a cutover").isEqualTo(rows);
        run(
                "sql",
                "--write",
                "--yes",
                "--all-shards",
                "UPDATE photo SET path = path || '!', part = part / 3, tags = tags || NULL::text, size = NULL WHERE size > 2");
        application();
        rows = rows();
        run("move", "reverse", "--pause=10s");
        assertThat(rows()).as("rows after going back").isEqualTo(rows);
        run("schema", "status", "--drift");
        run("doctor");
    }

    /** Names of types lead to the shard. */
    private static String casts(String values) {
        return values.replace("'a \"b\" \\c')", "'a \"b\" \\c')::place")
                .replace("ARRAY['bad', NULL]", "ARRAY['bad', NULL]::mood[]")
                .replace(
                        "ARRAY[ROW(0.1::float8 + 0.2::float8, 0.1::float4, NULL)]",
                        "ARRAY[ROW(0.1::float8 + 0.2::float8, 0.1::float4, NULL)::place]");
    }

    private void deploy() {
        run("schema", "deploy", "--changelog=" + directory.resolve("shards.sql"), "--search-path=" + directory);
    }

    /** By what the workers of replication would read other values, moves do not begin. The way goes on without. */
    private void refusedForWorkers(Map<String, String> unusual, String moved) throws SQLException {
        Set<String> ofWorkers = new TreeSet<>(unusual.keySet());
        ofWorkers.retainAll(OF_WORKERS);
        if (ofWorkers.contains("array_nulls") || ofWorkers.contains("xmloption")) {
            Result refused = installation.launch("move", "start", moved, "--to=db2");
            assertThat(refused.exitCode()).as("%s", refused).isEqualTo(4);
            assertThat(refused.err()).contains("check worker-settings failed: ");
        }
        take(OF_WORKERS);
    }

    /** The commands that the short test leaves out. */
    private void rest(Map<String, String> unusual, List<Integer> servers) throws SQLException {
        run("id", "next", "--shard=1", "--table=photo", "--count=3", "--server=" + installation.url(0));
        run("id", "decode", "11637205501278089");
        String rows = rows();
        run("move", "cutover", "--pause=10s");
        run("move", "complete", "--yes");
        deploy();
        run("move", "run", "--shards=2", "--to=db1", "--pause=10s");
        assertThat(rows()).as("rows after all moves").isEqualTo(rows);
        for (int server : servers) {
            give(server, unusual);
        }
        run("adopt", "run", "--table=old", "--key=uid", "--from=" + installation.url(THIRD), "--yes");
        execute(
                THIRD,
                "UPDATE public.old SET ratio = ratio / 7, lasts = lasts * 3 WHERE id < 10; DELETE FROM public.old WHERE id = 20");
        run("adopt", "run", "--table=old", "--key=uid", "--from=" + installation.url(THIRD), "--finish", "--yes");
        assertThat(rows("SELECT * FROM %s.old").lines())
                .containsExactlyInAnyOrderElementsOf(
                        copied(THIRD, "SELECT * FROM public.old").lines().toList());
        run("lookup", "verify", "photo.slug");
        take(OF_VIEWS);
        run("gateway", "deploy", "--on=" + installation.url(THIRD), "--reader=" + READER);
        read();
        run("gateway", "refresh");
        run("gateway", "status");
        run("schema", "check");
        run("reference", "status");
        run("reference", "delete", "country", "FR", "--yes");
        run("sql", "SELECT id, ratio, at, lasts, raw, tags, price, path, place FROM photo", "--limit=100000", "-o=csv");
        run("sql", "SELECT id, zoned, doc, js, during, odd FROM photo", "--limit=100000", "-o=json");
        run("sql", "SELECT * FROM photo", "--count");
        run("map", "show");
        run("map", "export");
        run("map", "locate", "--shard=1");
        run("server", "list");
        run("rebalance", "plan");
        run("restore-point", "here");
        take(OF_WORKERS); // doctor tells of them
        run("doctor", "--rows");
        application();
    }

    /** A whole database, to which an application with the settings of its server writes on. */
    private void adoptAll() throws SQLException, IOException {
        run("init", "--shards=" + shards, "--server=db1=" + installation.url(0), "--server=db2=" + installation.url(1));
        Path plan = Files.createTempDirectory(directory, "shop").resolve("adoption.yaml");
        String from = "--from=" + installation.url(THIRD);
        run("adopt", "assess", from, "--key=shop.member.id");
        run("adopt", "plan", from, "--key=shop.member.id", "--file=" + plan);
        run(
                "schema",
                "deploy",
                "--changelog=" + plan.resolveSibling("shards.sql"),
                "--search-path=" + plan.getParent());
        run("adopt", "run", "--plan=" + plan, from);
        written("UPDATE shop.member SET ratio = ratio / 7, lasts = lasts * 3 WHERE id < 10");
        written("DELETE FROM shop.purchase WHERE id = 20");
        run("adopt", "verify", "--plan=" + plan, from);
        run("adopt", "cutover", "--plan=" + plan, from, "--shards=0-1", "--yes");
        assertThatThrownBy(() -> written("UPDATE shop.purchase SET lasts = NULL WHERE member_id = 8"))
                .hasMessageContaining("shard 0 has left this database");
        written("UPDATE shop.purchase SET lasts = lasts * 5, tags = tags || NULL::text WHERE member_id % 4 > 1");
        run(
                "sql",
                "--write",
                "--yes",
                "--shards=1",
                "UPDATE purchase SET lasts = lasts * 7, tags = tags || NULL::text");
        String member = rows("SELECT * FROM %s.member");
        run("adopt", "reverse", "--plan=" + plan, from, "--shards=1", "--yes");
        run("adopt", "verify", "--plan=" + plan, from);
        run("adopt", "cutover", "--plan=" + plan, from, "--percent=100", "--yes");
        run("adopt", "run", "--plan=" + plan, from, "--finish", "--yes");
        assertThat(rows("SELECT * FROM %s.member")).isEqualTo(member);
        for (String table : List.of("member", "purchase")) {
            assertThat(rows("SELECT * FROM %s." + table).lines())
                    .containsExactlyInAnyOrderElementsOf(
                            copied(THIRD, "SELECT * FROM shop." + table).lines().toList());
        }
        take(OF_WORKERS); // doctor tells of them
        run("doctor", "--rows");
    }

    private static void written(String sql) throws SQLException {
        try (Connection connection = postgres.database(THIRD).connectAs(APP, "secret")) {
            Sql.execute(connection, sql);
        }
    }

    private void run(String... command) {
        Result result = installation.launch(command);
        String out = result.out();
        boolean isRows = command[0].equals("sql") && !command[1].equals("--write");
        if (!isRows) { // Ids, sizes and times differ from run to run.
            out = out.replaceAll("\\d+([.,]\\d+)*( ?[µm]?s\\b| [kMG]?B\\b)?", "#")
                    .replaceAll(" +", " ")
                    .replaceAll("#/[0-9A-F#]+", "#");
        }
        String err = result.err()
                .lines()
                .filter(line -> line.matches("(error|hint|warning).*"))
                .toList()
                .toString();
        String answer = "%s: %s %s %s"
                .formatted(
                        Arrays.stream(command)
                                .map(word -> word.replaceAll("\\s+", " ")
                                        .replaceAll("localhost:\\d+|/tmp/[^ ]*|_[0-9a-f]{8}", "#"))
                                .collect(Collectors.joining(" ")),
                        result.exitCode(),
                        // The first and the last row are not the same ones in another order.
                        out.lines()
                                .map(line -> isRows ? line.replaceAll("^\\[|[\\],]+$", "") : line)
                                .sorted()
                                .toList(),
                        err);
        answers.add(answer);
        assertThat(result.exitCode()).as(answer).isZero();
    }

    /** Grants what the command prints for applications. */
    private void granted() throws SQLException {
        String[] scripts = installation
                .launch("grants", "--for=application", "--role=" + APP)
                .out()
                .split("\n\n(?=-- on )", -1);
        answers.add("grants: " + scripts.length);
        for (int i = 0; i < scripts.length; i++) {
            execute(i % 2, scripts[i]);
        }
    }

    /** An application's sessions have all that its databases have. */
    private void application() throws SQLException {
        try (ShardRouter router = ShardRouter.builder()
                .catalog(postgres.database(0).uri())
                .credentials(APP, "secret")
                .build()) {
            Lookup lookup = router.lookup("photo.slug");
            for (int uid = 0; uid < shards; uid++) {
                int shard = uid;
                long id = router.write(uid, tx -> {
                    long drawn = number(
                            tx.connection(),
                            "INSERT INTO %s.photo (uid, slug, doc, lasts, tags, ratio) VALUES (?, 'new' || ?, '<b/>', '-1 day 02:00', ARRAY['NULL', NULL], 0.1::float8 + 0.2) RETURNING id"
                                    .formatted(tx.schema()),
                            (long) shard,
                            shard);
                    lookup.claim("new" + shard, shard, drawn);
                    return drawn;
                });
                router.run(uid, tx -> {
                    lookup.change("new" + shard, "newer" + shard, shard, id);
                    number(
                            tx.connection(),
                            "UPDATE %s.photo SET slug = 'newer' || ?, part = 0.1 WHERE id = ? RETURNING uid"
                                    .formatted(tx.schema()),
                            shard,
                            id);
                });
                String found = String.valueOf(lookup.find("newer" + shard).isPresent())
                        + lookup.find("new" + shard).isPresent();
                answers.add("application: %s %s %s %s"
                        .formatted(
                                id >> 10 & 8191,
                                found,
                                router.fetch(
                                                List.of(id),
                                                ShardQuery.of(
                                                        "SELECT id, slug FROM ${shard.schema}.photo",
                                                        row -> row.getString("slug")))
                                        .values(),
                                router.read(
                                        uid,
                                        tx -> number(
                                                tx.connection(),
                                                "SELECT count(*) FROM %s.note WHERE photo_id IS NOT NULL"
                                                        .formatted(tx.schema())))));
                router.run(uid, tx -> {
                    lookup.release("newer" + shard, shard, id);
                    number(
                            tx.connection(),
                            "DELETE FROM %s.photo WHERE id = ? RETURNING uid".formatted(tx.schema()),
                            id);
                });
            }
            ShardQuery<Long> photos = ShardQuery.of("SELECT id, uid FROM ${shard.schema}.photo", row -> row.getLong(1));
            List<Long> all = new ArrayList<>();
            router.forEach(photos, all::add);
            answers.add("all shards: %s %s %s %s"
                    .formatted(router.count(photos), router.sum("uid", photos), router.newest(3, photos), all.size()));
            router.reference()
                    .write(
                            connection -> number(
                                    connection,
                                    "INSERT INTO reference.country VALUES ('IT', 0.1::float8 + 0.2, '2026-02-01') ON CONFLICT (code) DO UPDATE SET area = 1e300 / 3 RETURNING 1"));
        }
    }

    private static long number(Connection connection, String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                statement.setObject(i + 1, values[i]);
            }
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                return row.getLong(1);
            }
        }
    }

    /** By the gateway, whose sessions on the servers are postgres_fdw's. */
    private void read() throws SQLException {
        String shown = copied(
                THIRD,
                "SELECT id, ratio, lasts, raw, tags, at, doc, price, place, odd FROM shards.photo WHERE tags IS DISTINCT FROM ARRAY['NULL', NULL] ORDER BY id");
        assertThat(shown.lines()).hasSizeGreaterThanOrEqualTo(80);
        answers.add(shown);
        answers.add(
                copied(
                        THIRD,
                        "SELECT count(*), sum(uid) FROM shards.photo WHERE lasts < '-1 day' AND at > '2026-02-03 04:05+00' AND tags[1:3] = ARRAY['NULL', NULL, 'x,y']"));
    }

    /** The rows of all shards, each where it is open. */
    private String rows() throws SQLException {
        String rows = rows("SELECT * FROM %s.photo ORDER BY id")
                + rows("SELECT uid, photo_id, country, body FROM %s.note ORDER BY photo_id")
                + copied(0, COUNTRIES_THERE);
        assertThat(copied(1, COUNTRIES_THERE)).isEqualTo(copied(0, COUNTRIES_THERE));
        answers.add(rows);
        return rows;
    }

    private String rows(String query) throws SQLException {
        StringBuilder rows = new StringBuilder();
        for (int shard = 0; shard < shards; shard++) {
            String schema = "shard_000" + shard;
            for (int server = 0; server < 2; server++) {
                if (copied(server, IS_OPEN.formatted(schema, shard)).startsWith("t")) {
                    rows.append(copied(server, query.formatted(schema)));
                }
            }
        }
        return rows.toString();
    }

    private static String copied(int server, String query) throws SQLException {
        ByteArrayOutputStream copied = new ByteArrayOutputStream();
        try (Connection connection = postgres.database(server).connect()) {
            Sql.execute(connection, ORDINARY);
            connection.unwrap(PGConnection.class).getCopyAPI().copyOut("COPY (" + query + ") TO STDOUT", copied);
        } catch (IOException e) {
            throw new SQLException(e);
        }
        return copied.toString(UTF_8);
    }

    /** Runs the commands with these settings on these servers; returns the first difference, or null. */
    private @Nullable String difference(Map<String, String> unusual, List<Integer> servers, Way way)
            throws SQLException, IOException {
        begin();
        shards = way == Way.THERE_AND_BACK ? 2 : 4;
        for (int server : servers) {
            give(server, unusual);
        }
        try {
            if (way == Way.WHOLE_DATABASE) {
                adoptAll();
            } else {
                commonWay(unusual);
            }
            if (way == Way.ALL_COMMANDS) {
                rest(unusual, servers);
            }
        } catch (AssertionError | SQLException | RuntimeException e) {
            return String.valueOf(e);
        } finally {
            end();
        }
        List<String> usual = USUAL.getOrDefault(way, List.of());
        for (int i = 0; i < usual.size() && i < answers.size(); i++) {
            if (!usual.get(i).equals(answers.get(i))) {
                return "in place of\n%s\nit was\n%s".formatted(usual.get(i), answers.get(i));
            }
        }
        return null;
    }

    /** Asks with halves of the settings, until it is known which of them it takes, or until that takes too long. */
    private void assertNothingDiffers(Map<String, String> unusual, List<Integer> servers, Way way)
            throws SQLException, IOException {
        String difference = difference(unusual, servers, way);
        if (difference == null) {
            return;
        }
        System.err.println("UnusualSettingsIT looks for the settings by which " + difference);
        assertThat(difference(Map.of(), List.of(), way))
                .as("without any, while with some it was %s", difference)
                .isNull();
        long end = System.nanoTime() + BISECTION.toNanos();
        Map<String, String> left = unusual;
        boolean isSmaller = true;
        while (isSmaller && left.size() > 1) {
            isSmaller = false;
            int half = (left.size() + 1) / 2;
            for (int first = 0; first < left.size() && !isSmaller && System.nanoTime() < end; first += half) {
                Map<String, String> some = part(left, first, half);
                String its = difference(some, servers, way);
                if (its != null) {
                    difference = its;
                    left = some;
                    isSmaller = true;
                }
            }
        }
        throw new AssertionError("with %s on servers %s: %s".formatted(left, servers, difference));
    }

    private static Map<String, String> part(Map<String, String> settings, int first, int size) {
        Map<String, String> part = new TreeMap<>();
        settings.entrySet().stream()
                .skip(first)
                .limit(size)
                .forEach(setting -> part.put(setting.getKey(), setting.getValue()));
        return part;
    }

    private void learn(Way way) throws SQLException, IOException {
        if (!USUAL.containsKey(way)) {
            assertThat(difference(Map.of(), List.of(), way)).isNull();
            assertThat(answers).allSatisfy(answer -> assertThat(answer).doesNotContain("error: "));
            USUAL.put(way, List.copyOf(answers));
        }
    }

    private Map<String, String> small() throws SQLException {
        try (Connection connection = connect(0)) {
            return UnusualSettings.small(connection);
        }
    }

    /**
     * Without the usual answers, which would take as long again: a row that changes on its way is seen, and so is a failure. {@link #theWholeWay} has the
     * settings {@link #OF_PLANS}, too.
     */
    @Test
    @Tag("full")
    void aMoveThereAndBackWithAllSettingsAtOnce() throws SQLException, IOException {
        Map<String, String> unusual = small();
        assertThat(unusual).hasSizeGreaterThan(120);
        unusual.keySet().removeIf(OF_PLANS.asMatchPredicate());

        assertNothingDiffers(unusual, List.of(0, 1, 2), Way.THERE_AND_BACK);
    }

    /** One side alone, the other alone, and all: what one of them writes, another reads. {@code -Dsettings.seed} takes other settings. */
    @ParameterizedTest
    @CsvSource({
        "ALL_COMMANDS, 0, 29903",
        "ALL_COMMANDS, 1, 51243",
        "ALL_COMMANDS, 0 1 2, 207",
        "WHOLE_DATABASE, 2, 4711",
        "WHOLE_DATABASE, 0 1 2, 207"
    })
    @Tag("full")
    void theWholeWay(Way way, String on, long usualSeed) throws SQLException, IOException {
        learn(way);
        List<Integer> servers =
                Arrays.stream(on.split(" ", -1)).map(Integer::valueOf).toList();
        long seed = Long.getLong("settings.seed", usualSeed);
        Map<String, String> small = small();
        Map<String, String> unusual;
        try (Connection connection = connect(0)) {
            unusual = UnusualSettings.random(connection, new Random(seed));
        }
        small.forEach((name, value) -> {
            if (OF_WORKERS.contains(name) || OF_MEMORY.contains(name)) {
                unusual.put(name, value);
            }
        });
        try {
            assertNothingDiffers(unusual, servers, way);
        } catch (AssertionError e) {
            throw new AssertionError("seed " + seed, e);
        }
    }
}
