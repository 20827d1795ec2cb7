/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.shardflake.server.SqlText.literal;
import static org.shardflake.server.SqlText.name;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.ManagedRole;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.jdbc.Sql;

/**
 * The whole way with names that are anything but plain. It must end as with plain ones: the same rows, no difference between shards, and
 * nothing run that a name says. The seed tells the names.
 */
class HostileNamesIT {

    private static final int SHARDS = 4;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private final Map<String, String> names = new HashMap<>();
    private HostileNames hostile = new HostileNames(0);
    private List<TestDatabase> databases = List.of();

    @Test
    void deploymentAdoptionGatewayAndMove() throws Exception {
        run(20261126, () -> {
            gateway();
            move("3", "db2", insert());
            adopt();
        });
    }

    @ParameterizedTest
    @Tag("full")
    @ValueSource(longs = {1, 2, 3})
    void theWholeWay(long seed) throws Exception {
        run(seed, () -> {
            Map<String, String> rows = insert();
            assertThat(rows.values()).noneMatch("null"::equals);
            moveThereAndBack(rows);
            adopt();
            adoptAll();
            gateway();
            move("3", "db2", rows(0));
            reference();
            lookups();
            remaining();
        });
    }

    /** Its tables Liquibase would look for in vain, and make again. */
    @Test
    void aDatabaseWhoseNameEndsWithABlankIsRefusedFirst() throws SQLException {
        try (Connection connection = postgres.database(0).connect()) {
            Sql.execute(connection, "CREATE DATABASE \"blank \"");
            TestDatabase blank = TestDatabase.existing(postgres.database(0).server(), "blank ");
            try {
                Result refused =
                        Cli.launch("init", "--catalog=" + blank.uri(), "--shards=4", "--server=db1=" + blank.uri());

                assertThat(refused.exitCode()).isEqualTo(1);
                assertThat(refused.err()).contains("the name of database \"blank \" begins or ends with a blank");
                try (Connection its = blank.connect()) {
                    assertThat(Sql.text(its, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'shard%'"))
                            .isEqualTo("0");
                }
            } finally {
                Sql.execute(connection, "DROP DATABASE \"blank \" WITH (FORCE)");
            }
        }
    }

    private interface Part {
        void run() throws Exception;
    }

    private void run(long seed, Part part) throws Exception {
        hostile = new HostileNames(seed);
        try {
            set();
            deploy();
            part.run();
            succeed("postgres", "doctor", "--rows");
            assertThat(onAll("SELECT count(*) FROM public.canary")).isEqualTo("1 1 1");
            assertThat(onAll("SELECT count(*) FROM pg_roles WHERE rolsuper AND rolname <> 'postgres'"))
                    .isEqualTo("0 0 0");
        } catch (AssertionError | Exception e) {
            throw new AssertionError("seed %s, names %s".formatted(seed, shown()), e);
        }
    }

    private String shown() {
        return names.entrySet().stream()
                .map(entry -> entry.getKey() + "=" + escaped(entry.getValue()))
                .collect(Collectors.joining("\n"));
    }

    private static String escaped(String text) {
        return text.replace("\n", "<LF>").replace("\r", "<CR>").replace("\t", "<TAB>");
    }

    /** The name of something, quoted; always the same. */
    private String q(String what) {
        return name(raw(what));
    }

    private String raw(String what) {
        return names.computeIfAbsent(what, first -> hostile.next());
    }

    private void set() throws SQLException {
        for (String role : List.of("owner", "app", "reader", "analyst")) {
            names.put(role, hostile.without(",", "\r", "\u202e"));
        }
        do {
            names.put("database", hostile.without("\r", "\u202e"));
        } while (!raw("database").trim().equals(raw("database")));
        for (String given : List.of("parent", "t", "label")) { // which the command sql gets
            names.put(given, hostile.without("${"));
        }
        for (String given : List.of("code", "key", "t", "fkcode")) { // which a changelog is printed with
            names.put(given, hostile.without("${", "\n", "\r", "\u202e"));
        }
        for (String given : List.of( // which adopt plan refuses otherwise
                "kind",
                "customer",
                "order",
                "item",
                "cid",
                "ct",
                "ce",
                "cpk",
                "cfk",
                "ccheck",
                "cindex",
                "owned",
                "ordered",
                "line",
                "clabel",
                "clabel2")) {
            names.put(given, hostile.without("${", "\n", "\r"));
        }
        List<TestDatabase> made = new ArrayList<>();
        for (int server = 0; server < 3; server++) {
            TestDatabase plain = postgres.database(server);
            try (Connection connection = plain.connect()) {
                Sql.execute(connection, ManagedRole.createByPassword());
                Sql.execute(connection, "CREATE ROLE canary");
                for (String role : List.of("owner", "app", "reader", "analyst")) {
                    Sql.execute(
                            connection,
                            "CREATE ROLE %s LOGIN PASSWORD %s; GRANT %s TO %1$s"
                                    .formatted(q(role), literal(password()), ManagedRole.BY_PASSWORD));
                }
                Sql.execute(connection, "GRANT pg_read_all_data TO " + q("reader"));
                Sql.execute(connection, "CREATE DATABASE " + q("database"));
            }
            made.add(TestDatabase.existing(plain.server(), raw("database")));
        }
        databases = made;
        for (int server = 0; server < 3; server++) {
            as("postgres", server, "CREATE TABLE public.canary (n integer); INSERT INTO public.canary VALUES (1)");
        }
    }

    private String password() {
        return raw("password");
    }

    @AfterEach
    void drop() throws SQLException {
        for (TestDatabase database : databases) {
            try (Connection connection = database.connect()) {
                for (String subscription : Sql.list(
                        connection,
                        "SELECT quote_ident(subname) FROM pg_subscription WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())",
                        row -> row.getString(1))) {
                    Sql.execute(connection, "ALTER SUBSCRIPTION " + subscription + " DISABLE");
                    Sql.execute(connection, "ALTER SUBSCRIPTION " + subscription + " SET (slot_name = NONE)");
                    Sql.execute(connection, "DROP SUBSCRIPTION " + subscription);
                }
            }
        }
        for (int server = 0; server < 3; server++) {
            try (Connection connection = postgres.database(server).connect()) {
                Sql.call(
                        connection,
                        "SELECT pg_terminate_backend(active_pid, 60000) FROM pg_replication_slots WHERE active AND database = ?",
                        raw("database"));
                Sql.execute(connection, "DROP DATABASE IF EXISTS " + q("database") + " WITH (FORCE)");
                for (String role : List.of("owner", "app", "reader", "analyst")) {
                    if (Sql.isTrue(connection, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = ?)", raw(role))) {
                        Sql.execute(connection, "DROP OWNED BY %1$s; DROP ROLE %1$s".formatted(q(role)));
                    }
                }
                Sql.execute(connection, "DROP ROLE IF EXISTS canary");
            }
        }
    }

    private void as(String role, int server, String sql) throws SQLException {
        try (Connection connection = connect(role, server)) {
            Sql.execute(connection, sql);
        }
    }

    private Connection connect(String role, int server) throws SQLException {
        return DriverManager.getConnection(databases.get(server).jdbcUrl(), role, password());
    }

    private String ask(int server, String sql) throws SQLException {
        try (Connection connection = connect("postgres", server)) {
            return String.valueOf(
                    Sql.list(connection, sql, row -> row.getString(1)).get(0));
        }
    }

    private String onAll(String sql) throws SQLException {
        List<String> all = new ArrayList<>();
        for (int server = 0; server < 3; server++) {
            all.add(ask(server, sql));
        }
        return String.join(" ", all);
    }

    /** The URLs of the map have no user, so each command comes as its own. */
    private String url(int server) {
        return databases.get(server).uri("x", "").replace("x@", "");
    }

    private Result run(String role, String... args) {
        return Cli.launch(
                InputStream.nullInputStream(),
                Map.of(
                        "SHARDFLAKE_CATALOG", url(0),
                        "PGUSER", role,
                        "PGPASSWORD", password(),
                        "SHARDFLAKE_READER_PASSWORD", password()),
                args);
    }

    private String succeed(String role, String... args) {
        Result result = run(role, args);
        assertThat(result.exitCode())
                .as("%s%n%s", escaped(Arrays.toString(args)), result)
                .isZero();
        return result.out();
    }

    /** A statement as any of Liquibase's parsers reads it. */
    private static String change(int id, String sql) {
        String whole = "DO 'BEGIN EXECUTE convert_from(decode(''%s'', ''hex''), ''UTF8''); END'"
                .formatted(HexFormat.of().formatHex(sql.getBytes(UTF_8)));
        return """
                {"changeSet": {"id": "%s", "author": "ann", "changes": [{"sql": {"splitStatements": false, "stripComments": false, "sql": "%s"}}]}}""".formatted(id, sql.contains("\r") || sql.contains("${") ? whole : json(sql));
    }

    private static String json(String text) {
        return text.codePoints()
                .mapToObj(c -> c < ' ' || c == '"' || c == '\\' ? "\\u%04x".formatted(c) : Character.toString(c))
                .collect(Collectors.joining());
    }

    private String changelog(String file, List<String> statements) throws Exception {
        List<String> changes = new ArrayList<>();
        for (String statement : statements) {
            changes.add(change(changes.size(), statement));
        }
        Path path = directory.resolve(file);
        Files.writeString(path, "{\"databaseChangeLog\": [%s]}".formatted(String.join(",\n", changes)));
        return path.toString();
    }

    private String with(String template) {
        StringBuilder text = new StringBuilder();
        for (String part : template.split("(?<=>)|(?=<)", -1)) {
            if (part.matches("<[a-z0-9-]+>")) {
                text.append(q(part.substring(1, part.length() - 1)));
            } else if (part.matches("<=[a-z0-9-]+>")) {
                text.append(literal(raw(part.substring(2, part.length() - 1))));
            } else if (part.matches("<:[a-z0-9-]+>")) { // the name of something, as text
                text.append(literal(q(part.substring(2, part.length() - 1))));
            } else {
                text.append(part);
            }
        }
        return text.toString();
    }

    private void deploy() throws Exception {
        for (int server = 0; server < 3; server++) {
            String grants =
                    succeed("postgres", "grants", "--for=deploy", "--role=" + raw("owner"), "--server=" + url(server));
            as("postgres", server, grants);
        }
        succeed(raw("owner"), "init", "--shards=" + SHARDS, "--server=db1=" + url(0));
        List<String> statements = List.of(
                "CREATE TYPE <enum> AS ENUM (<=label>, <=label2>)",
                "CREATE DOMAIN <domain> AS text CONSTRAINT <domaincheck> CHECK (VALUE <> <=notthis>)",
                "CREATE TYPE <composite> AS (<attribute> integer, <attribute2> text)",
                "CREATE TYPE <range> AS RANGE (subtype = integer, multirange_type_name = <multirange>)",
                "CREATE COLLATION <collation> FROM \"C\"",
                "CREATE SEQUENCE <sequence>",
                "CREATE TABLE <parent> (<id> bigint CONSTRAINT <pk> PRIMARY KEY, <uid> bigint NOT NULL, <e> <enum>, <d> <domain>, <t> text COLLATE <collation>, <r> <range>, <c> <composite>, <n> bigint DEFAULT nextval(<:sequence>), <g> bigint GENERATED ALWAYS AS (<uid> * 2) STORED, CONSTRAINT <unique> UNIQUE (<uid>, <id>), CONSTRAINT <check> CHECK (<t> <> <=notthis>))",
                "CREATE TABLE <child> (<id2> bigint PRIMARY KEY, <uid> bigint NOT NULL, <of> bigint CONSTRAINT <fk> REFERENCES <parent>)",
                "CREATE TABLE <parted> (<id3> bigint CONSTRAINT <pk3> PRIMARY KEY, <uid> bigint NOT NULL, <t> text) PARTITION BY HASH (<id3>)",
                "CREATE TABLE <part1> PARTITION OF <parted> FOR VALUES WITH (MODULUS 2, REMAINDER 0)",
                "CREATE TABLE <part2> PARTITION OF <parted> FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
                "CREATE TABLE <adopted> (<id> bigint PRIMARY KEY, <uid> bigint NOT NULL, <t> text, <e> <enum>)",
                "CREATE TABLE <code> (<key> text PRIMARY KEY, <t> text)",
                "INSERT INTO <code> VALUES (<=label>, <=label2>), (<=label2>, NULL)",
                "CREATE INDEX <index> ON <parent> (lower(<t>), <uid>) WHERE <t> <> <=notthis>",
                "CREATE STATISTICS <statistics> ON <uid>, <t> FROM <parent>",
                "CREATE FUNCTION <function>() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.n := 1; RETURN NEW; END'"
                        .replace("NEW.n := 1; ", ""),
                "CREATE TRIGGER <trigger> BEFORE UPDATE ON <parent> FOR EACH ROW EXECUTE FUNCTION <function>()",
                "CREATE FUNCTION <function2>(<argument> <enum>, <argument2> <composite>) RETURNS integer LANGUAGE sql IMMUTABLE RETURN 1",
                "CREATE POLICY <policy> ON <parent> FOR SELECT TO <app> USING (<t> = <=label>)",
                "CREATE VIEW <view> AS SELECT <parent>.<t> AS <viewcolumn>, <d> FROM <parent>",
                "COMMENT ON TABLE <parent> IS <=comment>",
                "COMMENT ON COLUMN <parent>.<t> IS <=comment2>",
                "COMMENT ON CONSTRAINT <domaincheck> ON DOMAIN <domain> IS <=comment3>",
                "COMMENT ON CONSTRAINT <check> ON <parent> IS <=comment3>",
                "COMMENT ON TRIGGER <trigger> ON <parent> IS <=comment3>",
                "COMMENT ON POLICY <policy> ON <parent> IS <=comment3>",
                "COMMENT ON FUNCTION <function2>(<enum>, <composite>) IS <=comment3>",
                "COMMENT ON INDEX <index> IS <=comment3>",
                "GRANT SELECT, INSERT, UPDATE ON <parent>, <child>, <parted> TO <app>",
                "GRANT UPDATE (<t>) ON <adopted> TO <app> WITH GRANT OPTION",
                "GRANT USAGE ON TYPE <enum> TO <app>");
        String file =
                changelog("shards.json", statements.stream().map(this::with).toList());
        succeed(raw("owner"), "schema", "deploy", "--changelog=" + file, "--uid-column=" + raw("uid"));
        succeed(raw("owner"), "server", "add", "db2", url(1));
        grant("application", "app");
        succeed(raw("owner"), "schema", "check");
        succeed(raw("owner"), "schema", "status");
    }

    /** Runs what the command prints for each server and the catalog, which is on the first. */
    private void grant(String work, String role) throws SQLException {
        String[] scripts = succeed("postgres", "grants", "--for=" + work, "--role=" + raw(role))
                .split("\n\n(?=-- on )", -1);
        for (int i = 0; i < scripts.length; i++) {
            as("postgres", i % 2, scripts[i]);
        }
    }

    private static String schemas() {
        List<String> schemas = new ArrayList<>();
        for (int shard = 0; shard < SHARDS; shard++) {
            schemas.add(String.format(Locale.ROOT, "shard_%04d", shard));
        }
        return String.join(", ", schemas);
    }

    /** Rows in each shard, as the application; returns the rows of all tables, by shard. */
    private Map<String, String> insert() throws SQLException {
        for (int shard = 0; shard < SHARDS; shard++) {
            as(
                    raw("app"),
                    0,
                    String.format(Locale.ROOT, "SET search_path = shard_%04d; ", shard)
                            + with("""
                    INSERT INTO <parent> (<uid>, <e>, <d>, <t>, <r>, <c>) SELECT SHARD + 4 * n, <=label>, <=label>, repeat(<=label2>, n), '[1,3)', ROW(n, <=label2>)::<composite>
                      FROM generate_series(1, 3) n;
                    INSERT INTO <child> (<uid>, <of>) SELECT <uid>, <id> FROM <parent>;
                    INSERT INTO <parted> (<uid>, <t>) SELECT SHARD + 4 * n, <=label> FROM generate_series(1, 4) n;
                    """.replace("SHARD", String.valueOf(shard))));
        }
        return rows(0);
    }

    /** All rows of the shards that a server has. */
    private Map<String, String> rows(int server) throws SQLException {
        Map<String, String> rows = new HashMap<>();
        try (Connection connection = connect("postgres", server)) {
            for (String schema : schemas().split(", ", -1)) {
                if (Sql.isTrue(connection, "SELECT to_regnamespace(?) IS NULL", schema)) {
                    continue;
                }
                for (String table : List.of("parent", "child", "parted", "code")) {
                    Sql.list(
                            connection,
                            "SELECT string_agg(t::text, E'\\n' ORDER BY t::text) FROM %s.%s t"
                                    .formatted(schema, q(table)),
                            row -> rows.put(schema + " " + table, String.valueOf(row.getString(1))));
                }
            }
        }
        return rows;
    }

    private void moveThereAndBack(Map<String, String> rows) throws Exception {
        for (String work : List.of("adopt", "doctor", "deploy")) {
            grant(work, "app");
        }
        if (postgres.database(0).server().majorVersion() >= 16) { // 15 has no such role
            grant("moves", "app");
        }
        succeed("postgres", "move", "start", "--shards=0-3", "--to=db2");
        as(raw("app"), 0, with("SET search_path = shard_0001; UPDATE <parent> SET <t> = <=comment>"));
        rows.clear();
        rows.putAll(rows(0));
        succeed("postgres", "move", "verify", "1");
        succeed("postgres", "move", "cutover", "1");
        assertThat(rows(1)).isEqualTo(rows);
        as("postgres", 1, with("SET search_path = shard_0002; UPDATE <parent> SET <t> = <=comment2>"));
        rows.clear();
        rows.putAll(rows(1));
        succeed("postgres", "doctor");
        succeed("postgres", "move", "reverse", "1");
        assertThat(rows(0)).isEqualTo(rows);
        succeed("postgres", "move", "cancel", "1", "--yes");
        succeed("postgres", "move", "run", "--shards=1-2", "--to=db2");
        succeed("postgres", "schema", "status");
    }

    private void adopt() throws Exception {
        String table = q("oldschema") + "." + q("oldtable");
        as("postgres", 2, "CREATE SCHEMA " + q("oldschema"));
        as("postgres", 2, "SET search_path = %s; ".formatted(q("oldschema")) + with("""
                CREATE TYPE <enum> AS ENUM (<=label>, <=label2>);
                CREATE TABLE <oldtable> (<id> bigint CONSTRAINT <pk> PRIMARY KEY, <uid> bigint NOT NULL, <t> text, <e> <enum>);
                INSERT INTO <oldtable> SELECT n, n, <=comment>, <=label> FROM generate_series(1, 20) n;
                """));
        String[] adopt = {
            "adopt",
            "run",
            "--table=" + table,
            "--from=" + url(2),
            "--key=" + raw("uid"),
            "--into=" + raw("adopted"),
            "--yes"
        };
        succeed("postgres", adopt);
        as(
                "postgres",
                2,
                with(
                        "UPDATE <oldschema>.<oldtable> SET <t> = <=comment2> WHERE <id> < 5; DELETE FROM <oldschema>.<oldtable> WHERE <id> = 6"));
        List<String> finish = new ArrayList<>(List.of(adopt));
        finish.add("--finish");
        succeed("postgres", finish.toArray(String[]::new));
    }

    /** A whole database: the names go through a plan and the changelogs that are made by it. */
    private void adoptAll() throws Exception {
        as("postgres", 2, "CREATE SCHEMA " + q("shop"));
        as("postgres", 2, "SET search_path = %s; ".formatted(q("shop")) + with("""
                CREATE TYPE <kind> AS ENUM (<=clabel>, <=clabel2>);
                CREATE TABLE <customer> (<cid> bigint CONSTRAINT <cpk> PRIMARY KEY, <ct> text DEFAULT <=clabel>, <ce> <kind>);
                CREATE TABLE <order> (<cid> bigint PRIMARY KEY, <owned> bigint NOT NULL CONSTRAINT <cfk> REFERENCES <customer>, <ct> text CONSTRAINT <ccheck> CHECK (<ct> <> <=clabel>));
                CREATE INDEX <cindex> ON <order> (<owned>);
                CREATE TABLE <item> (<ordered> bigint REFERENCES <order>, <line> integer, <ct> text, PRIMARY KEY (<ordered>, <line>));
                COMMENT ON COLUMN <item>.<ct> IS <=comment2>;
                INSERT INTO <customer> SELECT n, <=comment>, <=clabel> FROM generate_series(1, 20) n;
                INSERT INTO <order> SELECT n, n % 20 + 1, <=label2> FROM generate_series(1, 40) n;
                INSERT INTO <item> SELECT n % 40 + 1, n / 40, <=comment3> FROM generate_series(1, 79) n
                """));
        String key = q("shop") + "." + q("customer") + "." + q("cid");
        Path plan = directory.resolve("shop").resolve("adoption.yaml");
        String from = "--from=" + url(2);
        succeed("postgres", "adopt", "assess", from, "--key=" + key);
        succeed("postgres", "adopt", "plan", from, "--key=" + key, "--file=" + plan);
        succeed(
                "postgres",
                "schema",
                "deploy",
                "--changelog=" + plan.resolveSibling("shards.sql"),
                "--search-path=" + plan.getParent());
        succeed("postgres", "adopt", "run", "--plan=" + plan, from);
        as(
                "postgres",
                2,
                with(
                        "UPDATE <shop>.<item> SET <ct> = <=comment> WHERE <line> = 1; DELETE FROM <shop>.<item> WHERE <ordered> = 6"));
        succeed("postgres", "adopt", "verify", "--plan=" + plan, from);
        succeed("postgres", "adopt", "cutover", "--plan=" + plan, from, "--percent=100", "--yes");
        for (String table : List.of(
                "<customer> (<cid>, <ct>, <ce>)",
                "<order> (<cid>, <owned>, <ct>)",
                "<item> (<ordered>, <line>, <ct>)")) {
            String rows = with("SELECT ROW%s::text FROM %%s.%s t"
                    .formatted(table.replaceFirst(".* \\(", "("), table.replaceFirst(" \\(.*", "")));
            List<String> inShards = new ArrayList<>();
            for (int shard = 0; shard < SHARDS; shard++) {
                String schema = "shard_000" + shard;
                for (int server = 0; server < 2; server++) {
                    if (ask(server, "SELECT to_regnamespace('%s') IS NOT NULL".formatted(schema))
                            .equals("t")) {
                        inShards.addAll(list(server, rows.replace("%s.", schema + ".")));
                    }
                }
            }
            assertThat(inShards).as(table).hasSizeGreaterThan(19);
            assertThat(inShards)
                    .as(table)
                    .containsExactlyInAnyOrderElementsOf(list(2, rows.replace("%s.", q("shop") + ".")));
        }
    }

    private List<String> list(int server, String query) throws SQLException {
        try (Connection connection = connect("postgres", server)) {
            return Sql.list(connection, query, row -> row.getString(1));
        }
    }

    private void gateway() throws SQLException {
        succeed(
                "postgres",
                "gateway",
                "deploy",
                "--on=" + url(2),
                "--reader=" + raw("reader"),
                "--for=" + raw("analyst"));
        assertThat(succeed("postgres", "gateway", "status")).contains("reads all shards");
    }

    /** Moves shards with the gateway, and writes while they are followed. */
    private void move(String shards, String target, Map<String, String> before) throws SQLException {
        String id = succeed("postgres", "move", "start", "--shards=" + shards, "--to=" + target, "-o=json")
                .replaceAll("(?s).*\"move\": *(\\d+).*", "$1");
        as(
                raw("app"),
                0,
                with("SET search_path = shard_000%s; UPDATE <parent> SET <t> = <=comment3>".formatted(shards)));
        Map<String, String> rows = rows(0);
        assertThat(rows).isNotEqualTo(before);
        succeed("postgres", "move", "cutover", id);
        succeed("postgres", "move", "complete", id, "--yes");
        String moved = "shard_000" + shards;
        rows.keySet().removeIf(table -> !table.startsWith(moved));
        assertThat(rows(1)).containsAllEntriesOf(rows);
        succeed("postgres", "schema", "status");
        succeed("postgres", "gateway", "refresh");
        String counted = succeed("postgres", "sql", "SELECT * FROM " + q("parent"), "--count", "-o=csv");
        try (Connection connection = connect(raw("analyst"), 2)) {
            assertThat(Sql.text(
                            connection,
                            with("SELECT count(*) FROM shards.<parent> WHERE <uid> >= 0 AND <e> = <=label>")))
                    .isEqualTo(String.valueOf(3 * SHARDS))
                    .isEqualTo(counted.lines().skip(1).findFirst().orElseThrow());
        }
    }

    private void reference() throws Exception {
        String file =
                changelog("reference.json", List.of(with("CREATE TABLE <code> (<key> text PRIMARY KEY, <t> text)")));
        succeed("postgres", "reference", "deploy", "--changelog=" + file, "--home=db1");
        succeed("postgres", "reference", "adopt", raw("code"));
        succeed("postgres", "reference", "status");
        succeed("postgres", "reference", "delete", raw("code"), raw("label"), "--yes");
        assertThat(ask(1, with("SELECT count(*) FROM reference.<code>"))).isEqualTo("1");
    }

    private void lookups() {
        succeed(
                "postgres",
                "lookup",
                "create",
                "hostile",
                "--table=" + raw("parted"),
                "--column=" + raw("t"),
                "--uid-column=" + raw("uid"),
                "--id-column=" + raw("id3"));
        succeed("postgres", "lookup", "backfill", "hostile");
        succeed("postgres", "lookup", "verify", "hostile");
    }

    private void remaining() {
        succeed("postgres", "sql", "--write", with("UPDATE <parent> SET <t> = <=label>"), "--all-shards", "--yes");
        succeed("postgres", "map", "export", "--file=" + directory.resolve("map.yaml"));
        succeed("postgres", "map", "import", directory.resolve("map.yaml").toString(), "--dry-run");
        succeed("postgres", "rebalance", "plan", "--by=count", "--file=" + directory.resolve("plan.yaml"));
        succeed("postgres", "restore-point", "here");
        succeed("postgres", "gateway", "drop", "gateway", "--yes");
        succeed("postgres", "schema", "status");
    }
}
