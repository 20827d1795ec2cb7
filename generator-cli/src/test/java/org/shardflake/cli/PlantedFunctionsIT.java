/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.ShardKey;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.Lookup;
import org.shardflake.router.RowOrder;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;

/**
 * Someone has planted functions and operators where every session looks first. Commands, and what the router says of its own on the
 * application's connections, call none of them. The application's own SQL would.
 */
class PlantedFunctionsIT {

    private static final String APP = "planted_app";

    private static final String CHANGELOG = """
            --liquibase formatted sql
            --changeset ann:note
            CREATE TABLE note (id bigint PRIMARY KEY, uid bigint NOT NULL, email text);
            --changeset ann:likes
            CREATE TABLE likes (id bigint PRIMARY KEY, uid bigint NOT NULL, note_id bigint REFERENCES note);
            CREATE INDEX likes_note ON likes (note_id);
            --changeset ann:message
            CREATE TABLE message (id bigint PRIMARY KEY, uid bigint NOT NULL, email text);
            """;

    /** With each precondition that is asked of a shard, and with what is deployed in other ways. */
    private static final String MORE = """
            <databaseChangeLog xmlns="http://www.liquibase.org/xml/ns/dbchangelog" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
                    xsi:schemaLocation="http://www.liquibase.org/xml/ns/dbchangelog http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-latest.xsd">
                <preConditions><tableExists tableName="note"/></preConditions>
                <include file="app.sql"/>
                <changeSet author="ann" id="title">
                    <preConditions>
                        <columnExists tableName="note" columnName="email"/>
                        <indexExists indexName="likes_note"/>
                        <primaryKeyExists tableName="note"/>
                        <uniqueConstraintExists tableName="note" columnNames="id"/>
                        <foreignKeyConstraintExists foreignKeyTableName="likes" foreignKeyName="likes_note_id_fkey"/>
                        <changeSetExecuted id="note" author="ann" changeLogFile="app.sql"/>
                        <rowCount tableName="likes" expectedRows="0"/>
                        <tableIsEmpty tableName="likes"/>
                        <runningAs username="%s"/>
                        <sqlCheck expectedResult="1">SELECT 1</sqlCheck>
                        <not><viewExists viewName="note"/></not>
                        <not><sequenceExists sequenceName="note"/></not>
                    </preConditions>
                    <addColumn tableName="note"><column name="title" type="text"/></addColumn>
                </changeSet>
                <changeSet author="ann" id="title-by-index" runInTransaction="false">
                    <preConditions><columnExists tableName="note" columnName="title"/></preConditions>
                    <sql>CREATE INDEX CONCURRENTLY note_title ON note (title)</sql>
                </changeSet>
                <changeSet author="ann" id="rows">
                    <loadData tableName="likes" file="likes.csv"/>
                    <dropAllForeignKeyConstraints baseTableName="likes"/>
                </changeSet>
            </databaseChangeLog>
            """;

    private static final String REFERENCE = """
            --liquibase formatted sql
            --changeset ann:country
            CREATE TABLE country (code text PRIMARY KEY, name text);
            INSERT INTO country VALUES ('FR', 'France'), ('DE', 'Germany');
            """;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private final CliInstallation installation = new CliInstallation(postgres);
    private final List<String> caught = new ArrayList<>();
    private boolean isSeeded;

    @BeforeEach
    void bare() throws SQLException {
        if (!postgres.restore("bare")) {
            postgres.save("bare");
        }
    }

    /** Those who drop the databases look there, too. */
    @AfterEach
    void weed() throws SQLException {
        for (int server = 0; server < 3; server++) {
            installation.execute(
                    server,
                    "SET search_path = pg_catalog; DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = pg_catalog', current_database()); END $$");
        }
    }

    /** In a schema that the path names before PostgreSQL's own, and in the user's, which the path has by default. */
    @ParameterizedTest
    @ValueSource(strings = {"public", "$user"})
    void theRouterAndTheCommonestCommandsCallNone(String schema) throws Exception {
        begin();
        seed(schema, "name,text,oid,regclass,integer");

        run("doctor");
        run("sql", "SELECT id FROM note", "--count");
        run("move", "run", "--shards=1", "--to=db2");
        router();

        assertThat(caught).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "public; name,text,varchar,oid,regclass,integer,bigint,boolean,timestamptz,text[]",
                "$user; name,text,varchar,oid,regnamespace,regtype,regrole,pg_catalog.char,smallint,aclitem"
            })
    @Tag("full")
    void noCommandCallsAny(String schema, String types) throws Exception {
        seed(schema, types);

        begin();
        commands();
        router();

        assertThat(caught).isEmpty();
    }

    /** The old database's owner may have planted them there. */
    @Test
    @Tag("full")
    void adoptingAWholeDatabaseCallsNone() throws Exception {
        seed("public", "name,text,varchar,oid,regclass,regnamespace,bigint");
        run("init", "--shards=4", "--server=db1=" + installation.url(0), "--server=db2=" + installation.url(1));

        adoptAll();

        assertThat(caught).isEmpty();
    }

    /** The path begins with the shard while a changelog's and an application's SQL runs. */
    @Test
    void whatAShardHasIsCalledByNoneOfOurSql() throws Exception {
        begin();
        for (int server = 0; server < 3; server++) {
            seed(
                    server,
                    List.of("shard_0001", "shard_0002", "spare").get(server),
                    "name,varchar,oid,regnamespace,pg_catalog.char");
        }
        isSeeded = true;

        more(5); // shards differ
        runTo(5, "schema", "status", "--drift");
        run("lookup", "verify", "note.email");
        run("lookup", "create", "message.email", "--unique");
        run("sql", "SELECT id FROM note", "--count");
        run("sql", "--write", "--yes", "--run=once", "--all-shards", "UPDATE note SET email = 'c'");
        router();

        assertThat(caught).isEmpty();
    }

    private void seed(String schema, String types) throws SQLException {
        for (int server = 0; server < 3; server++) {
            seed(server, schema, types);
        }
        isSeeded = true;
    }

    /** With the names of all functions of PostgreSQL's own that occur in what we ship. */
    private void seed(int server, String schema, String types) throws SQLException {
        try (Connection connection = postgres.database(server).connect()) {
            Set<String> names = Plants.all(connection);
            names.retainAll(Plants.ours());
            Plants.seed(connection, schema, names, types);
        }
    }

    private long calls() throws SQLException {
        long calls = 0;
        for (int server = 0; server < 3; server++) {
            try (Connection connection = postgres.database(server).connect()) {
                calls += Plants.calls(connection);
            }
        }
        return calls;
    }

    private String latest() throws SQLException {
        List<String> latest = new ArrayList<>();
        for (int server = 0; server < 3; server++) {
            try (Connection connection = postgres.database(server).connect()) {
                latest.add(Plants.latest(connection));
            }
        }
        return isSeeded ? latest.toString() : "";
    }

    /** Runs a command that succeeds. */
    private void run(String... args) throws SQLException {
        runTo(0, args);
    }

    private void runTo(int exitCode, String... args) throws SQLException {
        long before = isSeeded ? calls() : 0;
        Result result = installation.launch(args);
        long calls = isSeeded ? calls() - before : 0;
        if (calls > 0 || result.exitCode() != exitCode) {
            caught.add("%s: %s calls, exit code %s %s"
                    .formatted(String.join(" ", args), calls, result.exitCode(), result.out() + result.err()));
        }
    }

    private interface Work {
        void run() throws Exception;
    }

    private void run(String what, Work work) throws SQLException {
        long before = isSeeded ? calls() : 0;
        String failure = "";
        try {
            work.run();
        } catch (Exception e) {
            failure = String.valueOf(e);
        }
        long calls = isSeeded ? calls() - before : 0;
        if (calls > 0 || !failure.isEmpty()) {
            caught.add("%s: %s calls %s %s".formatted(what, calls, calls == 0 ? "" : latest(), failure));
        }
    }

    /** An installation with rows, reference tables and a lookup. */
    private void begin() throws SQLException, IOException {
        Path changelog = Files.writeString(directory.resolve("app.sql"), CHANGELOG);
        Path reference = Files.writeString(directory.resolve("reference.sql"), REFERENCE);
        run("init", "--shards=4", "--server=db1=" + installation.url(0), "--server=db2=" + installation.url(1));
        run("schema", "deploy", "--changelog=" + changelog, "--search-path=" + directory, "--uid-column=uid");
        for (int shard = 0; shard < 4; shard++) {
            int its = shard;
            run(
                    "insert",
                    () -> installation.execute(
                            its / 2,
                            "INSERT INTO shard_000%1$s.note (uid, email) VALUES (%1$s, 'a%1$s@example.org'), (%1$s, 'b%1$s@example.org')"
                                    .formatted(its)));
        }
        run("reference", "deploy", "--home=db1", "--changelog=" + reference, "--search-path=" + directory);
        run("lookup", "create", "note.email", "--unique");
        run("lookup", "backfill", "note.email");
    }

    private void commands() throws SQLException, IOException {
        more(0);
        run("schema", "status", "--drift");
        run("schema", "check");
        run("id", "next", "--server=" + installation.url(0), "--shard=1");
        run("reference", "status");
        run("lookup", "verify", "note.email");
        run("lookup", "list");
        for (String role : new String[] {"moves", "deploy", "application", "adopt", "doctor"}) {
            runTo(role.equals("application") || role.equals("doctor") ? 0 : 4, "grants", "--for", role, "--role", APP);
        }
        run(
                "gateway",
                "deploy",
                "--on=" + installation.url(2),
                "--reader=" + postgres.database(0).user());
        run("gateway", "status");
        run("doctor");
        run("doctor", "--rows");
        run("sql", "SELECT id FROM note", "--count");
        run("sql", "--write", "--yes", "--run=once", "--all-shards", "UPDATE note SET email = 'c'");
        run("map", "show");
        run("map", "locate", "--shard=1");
        run("map", "export");
        run("map", "history");
        run("server", "list");
        run("move", "start", "--shards=1", "--to=db2");
        run("move", "status");
        run("move", "cutover", "1");
        run("move", "verify", "1");
        run("move", "reverse", "1");
        run("move", "cutover", "1");
        run("move", "complete", "1", "--yes");
        run("gateway", "refresh");
        run("rebalance", "plan");
        run("rebalance", "plan", "--by=rate", "--over=1s");
        run("top", "--samples=1", "--every=1s");
        run("map", "show", "--sizes");
        run("restore-point", "before");
        run("restore-point", "list");
        run("reference", "move", "--to=db2");
        run("reference", "delete", "country", "FR", "--yes");
        run("reference", "repair");
        adopt();
        run("gateway", "drop", "gateway", "--yes");
        run("upgrade");
        run("doctor");
    }

    private void more(int exitCode) throws SQLException, IOException {
        Files.writeString(directory.resolve("likes.csv"), "uid\n");
        Path changelog = Files.writeString(
                directory.resolve("more.xml"),
                MORE.formatted(postgres.database(0).user()));
        runTo(
                exitCode,
                "schema",
                "deploy",
                "--changelog=" + changelog,
                "--search-path=" + directory,
                "--uid-column=uid");
    }

    private void adopt() throws SQLException {
        installation.execute(
                2,
                "CREATE SCHEMA old; CREATE TABLE old.message (id bigint PRIMARY KEY, uid bigint NOT NULL, email text)");
        installation.execute(2, "INSERT INTO old.message VALUES (1, 1, 'old'), (2, 2, 'old')");
        for (String[] step : new String[][] {{}, {"--cancel", "--yes"}, {}, {"--finish", "--yes"}}) {
            List<String> args = new ArrayList<>(
                    List.of("adopt", "run", "--table=old.message", "--key=uid", "--from=" + installation.url(2)));
            args.addAll(List.of(step));
            run(args.toArray(String[]::new));
        }
    }

    /** A whole database: half of its shards leave, come back, and leave again with the others. */
    private void adoptAll() throws SQLException {
        installation.execute(2, """
                SET search_path = pg_catalog;
                CREATE SCHEMA shop;
                CREATE TABLE shop.users (id bigint PRIMARY KEY, name text);
                CREATE TABLE shop.orders (id bigint PRIMARY KEY, user_id bigint NOT NULL REFERENCES shop.users, what text);
                INSERT INTO shop.users SELECT n, 'some' FROM generate_series(1, 20) n;
                INSERT INTO shop.orders SELECT n, n % 20 + 1, 'more' FROM generate_series(1, 40) n
                """);
        String from = "--from=" + installation.url(2);
        String plan = "--plan=" + directory.resolve("adoption.yaml");
        run("adopt", "assess", from, "--key=shop.users.id");
        run("adopt", "plan", from, "--key=shop.users.id", "--file=" + directory.resolve("adoption.yaml"));
        run("schema", "deploy", "--changelog=" + directory.resolve("shards.sql"), "--search-path=" + directory);
        run("adopt", "run", plan, from);
        installation.execute(2, "UPDATE shop.users SET name = 'other'; UPDATE shop.orders SET what = 'other'");
        run("adopt", "verify", plan, from);
        run("adopt", "status");
        run("adopt", "cutover", plan, from, "--percent=50", "--yes");
        run("adopt", "reverse", plan, from, "--percent=50", "--yes");
        run("adopt", "cutover", plan, from, "--percent=100", "--yes");
        run("adopt", "run", plan, from, "--finish", "--yes");
    }

    private void router() throws Exception {
        try (ShardRouter router = ShardRouter.builder()
                .catalog(postgres.database(0).uri())
                .credentials(postgres.database(0).user(), postgres.database(0).password())
                .build()) {
            ShardQuery<Long> ids = ShardQuery.of("SELECT id, uid FROM ${shard.schema}.note", row -> row.getLong("id"));
            run("a write", () -> router.run(1, tx -> insert(tx.connection(), tx.schema())));
            run("a read", () -> router.read(1, tx -> read(tx.connection(), tx.schema())));
            run("plain JDBC", () -> {
                try (Connection connection = router.connection(ShardKey.shard(1))) {
                    connection.setAutoCommit(false);
                    insert(connection, "shard_0001");
                    connection.commit();
                }
            });
            run(
                    "an attempt",
                    () -> router.attempt(ShardKey.shard(1), false, attempt -> {
                        try (Connection connection = attempt.connection();
                                Statement byThePath = connection.createStatement()) {
                            read(connection, null);
                            return byThePath.execute("DO $$ BEGIN PERFORM FROM note; END $$");
                        }
                    }));
            List<Long> some = new ArrayList<>();
            run("newest", () -> some.addAll(router.newest(10, ids)));
            run("count", () -> router.count(ids));
            run("sum", () -> router.sum("uid", ids));
            run("forEach", () -> router.forEach(ids, id -> {}));
            run(
                    "forEachRow",
                    () -> router.forEachRow(
                            ShardQuery.unqualified("SELECT id, uid FROM note", row -> 1), (row, shard) -> {}));
            run("top", () -> router.top(3, RowOrder.by("id", Long::valueOf), ids));
            run("look-up by ids", () -> router.fetch(some, ids));
            Lookup lookup = router.lookup("note.email");
            run("claim", () -> router.run(1, tx -> lookup.claim("new@example.org", 1, some.get(0))));
            run("find", () -> lookup.find("new@example.org"));
            run(
                    "change",
                    () -> router.run(1, tx -> lookup.change("new@example.org", "newer@example.org", 1, some.get(0))));
            run("release", () -> router.run(1, tx -> lookup.release("newer@example.org", 1, some.get(0))));
            run("reference", () -> router.reference().write(connection -> insertCountry(connection)));
        }
    }

    private static int insertCountry(Connection connection) throws SQLException {
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO reference.country VALUES ('IT', 'Italy')")) {
            return insert.executeUpdate();
        }
    }

    private static void insert(Connection connection, String schema) throws SQLException {
        try (PreparedStatement insert =
                connection.prepareStatement("INSERT INTO " + schema + ".note (uid, email) VALUES (1, 'x')")) {
            insert.execute();
        }
    }

    private static int read(Connection connection, @Nullable String schema) throws SQLException {
        try (PreparedStatement read =
                        connection.prepareStatement("SELECT id FROM " + (schema == null ? "" : schema + ".") + "note");
                ResultSet rows = read.executeQuery()) {
            int count = 0;
            while (rows.next()) {
                count++;
            }
            return count;
        }
    }
}
