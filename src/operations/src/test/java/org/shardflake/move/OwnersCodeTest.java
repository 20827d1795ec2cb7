/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.adopt.AdoptListener;
import org.shardflake.adopt.AdoptTable;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.DatabaseSettings;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.compare.SnapshotPair;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.ShardSchemaCopy;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.internal.copy.TableCopy;
import org.shardflake.move.internal.session.MoveServerSession;
import org.shardflake.move.server.MoveServer;
import org.shardflake.preflight.Preflight;
import org.shardflake.preflight.PreflightCheck;

/**
 * A superuser moves a shard whose owner has put functions of his own wherever rows are written. Each notes whose rights it has, and tries
 * to get the superuser's.
 */
class OwnersCodeTest {

    private static final ShardSet SHARD = ShardSet.of(1);

    /** What the owner has on both servers. */
    private static final String TRAPS = """
            CREATE ROLE code_owner LOGIN PASSWORD 'code';
            CREATE SCHEMA code AUTHORIZATION code_owner;
            SET ROLE code_owner;
            CREATE TABLE code.seen (what text, by name, is_super boolean);
            CREATE FUNCTION code.gain(how text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog AS $$
            BEGIN
                EXECUTE how;
                EXECUTE 'ALTER ROLE code_owner SUPERUSER';
            EXCEPTION WHEN OTHERS THEN
                NULL;
            END $$;
            CREATE FUNCTION code.note(what text) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog AS $$
            BEGIN
                IF to_regclass('code.armed') IS NULL THEN -- while it is deployed, when a write outside the shard is refused
                    RETURN true;
                END IF;
                INSERT INTO code.seen SELECT what, current_user, rolsuper FROM pg_roles WHERE rolname = current_user;
                PERFORM code.gain('SELECT 1'), code.gain('RESET ROLE'), code.gain('SET ROLE postgres'), code.gain('RESET SESSION AUTHORIZATION');
                PERFORM set_config('search_path', 'code, pg_catalog', false);
                RETURN true;
            END $$;
            CREATE FUNCTION code.check_row(n bigint) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog AS $$ BEGIN RETURN code.note('check'); END $$;
            CREATE FUNCTION code.check_value(n numeric) RETURNS boolean LANGUAGE plpgsql SET search_path = pg_catalog AS $$ BEGIN RETURN code.note('domain'); END $$;
            CREATE FUNCTION code.twice(n bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$ BEGIN PERFORM code.note('column'); RETURN n * 2; END $$;
            CREATE FUNCTION code.key(n bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog AS $$ BEGIN PERFORM code.note('index'); RETURN n; END $$;
            CREATE DOMAIN code.amount AS numeric CHECK (code.check_value(VALUE));
            CREATE TYPE code.pair AS (amount code.amount, at date);
            CREATE FUNCTION code.shout(m code.pair) RETURNS text LANGUAGE plpgsql SET search_path = pg_catalog AS $$ BEGIN PERFORM code.note('cast'); RETURN 'x'; END $$;
            CREATE CAST (code.pair AS text) WITH FUNCTION code.shout(code.pair)
            """;

    private static final String CHANGELOG = """
            --liquibase formatted sql
            --changeset ann:ledger
            CREATE TABLE ledger (
                id bigint PRIMARY KEY, uid bigint NOT NULL CHECK (code.check_row(uid)), amount code.amount, pair code.pair,
                text varchar(20), at timestamptz, double bigint GENERATED ALWAYS AS (code.twice(uid)) STORED);
            CREATE INDEX ledger_key ON ledger (code.key(uid));
            --changeset ann:entry
            CREATE TABLE entry (id bigint PRIMARY KEY, ledger_id bigint REFERENCES ledger, n integer CHECK (n > 0), pairs code.pair[]);
            """;

    private static final String SEEDS = """
            --changeset ann:seeds
            INSERT INTO ledger (id, uid, amount) VALUES (shardflake.next_id(right(current_schema, 4)::integer), right(current_schema, 4)::integer, 1);
            """;

    /** The record on a server that has had no shard yet. */
    private static final String RECORD_THERE = """
            CREATE SCHEMA shardflake_deploy;
            CREATE TABLE shardflake_deploy.changeset (filename text, id text, author text, md5sum text, sql text[] NOT NULL, PRIMARY KEY (filename, id, author, md5sum));
            CREATE TABLE shardflake_deploy.databasechangelog (
                id varchar(255) NOT NULL, author varchar(255) NOT NULL, filename varchar(255) NOT NULL, dateexecuted timestamp NOT NULL, orderexecuted integer NOT NULL,
                exectype varchar(10) NOT NULL, md5sum varchar(35), description varchar(255), comments varchar(255), tag varchar(255), liquibase varchar(20),
                contexts varchar(255), labels varchar(255), deployment_id varchar(10));
            """;

    private static final String PLANTED = """
            CREATE FUNCTION shard_0001.later() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM code.note(''later''); RETURN NULL; END';
            CREATE TABLE shard_0001.planted (id integer PRIMARY KEY);
            CREATE CONSTRAINT TRIGGER later AFTER INSERT ON shard_0001.planted DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION shard_0001.later()""";

    /** Triggers of the record's owner. */
    private static final String RECORD = """
            CREATE FUNCTION code.record() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$ BEGIN PERFORM code.note('record'); RETURN NEW; END $$;
            CREATE TRIGGER record BEFORE INSERT ON shardflake_deploy.changeset FOR EACH ROW EXECUTE FUNCTION code.record();
            CREATE TRIGGER record BEFORE INSERT ON shardflake_deploy.databasechangelog FOR EACH ROW EXECUTE FUNCTION code.record()
            """;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private AccountShards shards;

    @BeforeEach
    void setTraps() throws Exception {
        shards = AccountShards.bare(postgres);
        dropRoles();
        for (String server : List.of("db1", "db2")) {
            shards.execute(server, TRAPS);
        }
    }

    private void deployAsSuperuser() throws Exception {
        shards.deploy(
                2,
                Files.writeString(directory.resolve("ledger.sql"), CHANGELOG),
                DeploySettings.defaults(directory).withPublic(true));
        for (int shard = 0; shard < 2; shard++) {
            shards.execute(
                    "db1",
                    "ALTER SCHEMA shard_000%1$s OWNER TO code_owner; ALTER TABLE shard_000%1$s.ledger OWNER TO code_owner; ALTER TABLE shard_000%1$s.entry OWNER TO code_owner"
                            .formatted(shard));
        }
        // They were a superuser's tables when they were deployed.
        for (String server : List.of("db1", "db2")) {
            shards.execute(server, "ALTER ROLE code_owner NOSUPERUSER; CREATE TABLE code.armed ()");
        }
        shards.as("code_owner", "code").executeAsUser("db1", """
                INSERT INTO shard_0001.ledger (id, uid, amount, pair, text, at)
                SELECT n * 8388608 + 1024, n, n / 3.0, ROW(n::numeric::code.amount, '2026-01-01'::date)::code.pair, E'tab\\t\\\\ ' || n, now() FROM generate_series(1, 200) n;
                INSERT INTO shard_0001.entry (id, ledger_id, n, pairs) SELECT id, id, 1, ARRAY[pair] FROM shard_0001.ledger;
                TRUNCATE code.seen
                """);
    }

    @AfterEach
    void dropRoles() throws SQLException {
        postgres.restore("bare");
        for (int i = 0; i < 3; i++) {
            try (Connection connection = postgres.database(i).connect()) {
                Sql.execute(connection, "DROP ROLE IF EXISTS code_owner, code_mover");
            }
        }
    }

    private List<String> seen(String server) throws SQLException {
        try (Connection connection = shards.database(server).connect()) {
            return Sql.list(
                    connection,
                    "SELECT DISTINCT what || ' by ' || by || CASE WHEN is_super THEN ', a superuser' ELSE '' END FROM code.seen ORDER BY 1",
                    row -> row.getString(1));
        }
    }

    /** By the owner, who then changes what is recorded and what the record is written to. */
    private void deployAsOwner() throws Exception {
        for (String server : List.of("db1", "db2")) {
            shards.execute(server, "RESET ROLE; ALTER ROLE code_owner NOSUPERUSER");
            shards.execute(
                    server,
                    "DO 'BEGIN EXECUTE format(''GRANT CREATE ON DATABASE %I TO code_owner'', current_database()); END'");
        }
        try (Connection catalog = shards.catalogDatabase().connect()) {
            Sql.execute(catalog, "CREATE ROLE code_owner LOGIN PASSWORD 'code'");
            Sql.execute(
                    catalog,
                    "DO 'BEGIN EXECUTE format(''GRANT CREATE ON DATABASE %I TO code_owner'', current_database()); END'");
        }
        AccountShards owners = shards.as("code_owner", "code");
        owners.deploy(
                2,
                Files.writeString(directory.resolve("ledger.sql"), CHANGELOG + SEEDS),
                DeploySettings.defaults(directory).withPublic(true));
        for (String server : List.of("db1", "db2")) {
            owners.executeAsUser(server, "CREATE TABLE code.armed ()");
        }
        owners.executeAsUser("db1", RECORD);
        owners.executeAsUser(
                "db1",
                "%s; SELECT shardflake.complete_tables(1); INSERT INTO shard_0001.planted VALUES (1); UPDATE shardflake_deploy.changeset SET sql = sql || ARRAY[$x$%1$s; INSERT INTO shard_0001.planted VALUES (1); SET CONSTRAINTS ALL IMMEDIATE; SELECT code.note('replay')$x$] WHERE id = 'seeds'"
                        .formatted(PLANTED));
    }

    @Test
    void whatIsRecordedRunsWithItsWritersRights() throws Exception {
        deployAsOwner();
        Mover mover = shards.mover(AccountShards.uncompared(Duration.ofSeconds(20)), MoveListener.NONE);
        // The library is the owner's on both servers; nothing in it was changed.
        shards.as("code_owner", "code").executeAsUser("db2", RECORD_THERE + RECORD);

        long move = mover.record("db1", "db2", SHARD, "a test").id();
        mover.follow(move);
        mover.cutOver(move, SHARD);
        mover.reverse(move, SHARD);
        mover.cancel(move, Mover.End.BACK);

        assertThat(seen("db2")).contains("replay by code_owner", "later by code_owner", "record by code_owner");
        assertThat(seen("db2")).noneMatch(line -> line.endsWith("a superuser"));
        for (String server : List.of("db1", "db2")) {
            assertThat(shards.number(server, "SELECT count(*) FROM pg_roles WHERE rolname = 'code_owner' AND rolsuper"))
                    .isZero();
        }
        // As on a server to which nothing was ever deployed.
        shards.execute("db2", "DROP SCHEMA shardflake_deploy CASCADE");
        try (Connection db1 = shards.database("db1").connect();
                Connection db2 = shards.database("db2").connect()) {
            assertThat(new ShardSchemaCopy(db1, db2).rehearse(SHARD)).isEmpty();
        }
    }

    @Test
    void adoptedRowsAreWrittenAsTheTablesOwner() throws Exception {
        deployAsSuperuser();
        shards.execute("db1", "TRUNCATE shard_0001.ledger CASCADE; TRUNCATE code.seen");
        shards.as("code_owner", "code").executeAsUser("db1", """
                CREATE FUNCTION code.always() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$ BEGIN PERFORM code.note('always'); RETURN NEW; END $$;
                CREATE TRIGGER always BEFORE INSERT ON shard_0000.ledger FOR EACH ROW EXECUTE FUNCTION code.always();
                ALTER TABLE shard_0000.ledger ENABLE ALWAYS TRIGGER always
                """);
        shards.as("code_owner", "code").executeAsUser("db2", """
                DROP TABLE code.armed;
                CREATE TABLE code.old_ledger (id bigint PRIMARY KEY, uid bigint NOT NULL, amount code.amount, text varchar(20));
                INSERT INTO code.old_ledger SELECT n * 8388608 + n % 2 * 1024, n, n, 'x' FROM generate_series(1, 10) n
                """);

        try (DatabaseAdopter adopter = DatabaseAdopter.open(
                new DatabaseSettings(List.of(AdoptTable.of("code.old_ledger", "ledger", "uid")), 4, 1, 0),
                shards.url("db2"),
                shards.catalogUrl(),
                shards.catalog().load(),
                server -> shards.url(server.name()),
                AdoptListener.NONE)) {
            adopter.run();
        }

        assertThat(seen("db1"))
                .contains("check by code_owner", "column by code_owner", "domain by code_owner", "always by code_owner")
                .noneMatch(line -> line.endsWith("a superuser"));
        assertThat(shards.number("db1", "SELECT count(*) FROM shard_0001.ledger"))
                .isEqualTo(5);
        assertThat(shards.number("db1", "SELECT count(*) FROM pg_roles WHERE rolname = 'code_owner' AND rolsuper"))
                .isZero();
        assertThat(
                        shards.number(
                                "db2",
                                "SELECT count(*) FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner WHERE proname LIKE 'note\\_%' AND prosecdef AND NOT rolsuper"))
                .isEqualTo(1);
    }

    @Test
    void noneRunsWithMoreRights() throws Exception {
        deployAsSuperuser();
        assertThat(Preflight.run(
                                new MoveServer("db1", shards.url("db1")),
                                new MoveServer("db2", shards.url("db2")),
                                SHARD)
                        .checks())
                .filteredOn(check -> check.outcome() == PreflightCheck.Outcome.FAILED)
                .isEmpty();
        Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);

        long move = mover.record("db1", "db2", SHARD, "a test").id();
        mover.follow(move);
        shards.as("code_owner", "code")
                .executeAsUser("db1", "INSERT INTO shard_0001.ledger (id, uid) VALUES (1024, 7)");
        assertThat(mover.verify(move, SHARD)).isEmpty();
        mover.cutOver(move, SHARD);
        mover.reverse(move, SHARD);
        mover.cutOver(move, SHARD);
        mover.complete(move);

        assertThat(shards.number("db2", "SELECT count(*) FROM shard_0001.ledger"))
                .isEqualTo(201);
        assertThat(shards.number("db2", "SELECT count(*) FROM shard_0001.entry WHERE pairs[1] IS NOT NULL"))
                .isEqualTo(200);
        if (postgres.database(0).server().majorVersion()
                >= 16) { // before, replication applies as whoever owns the subscription
            assertThat(seen("db2"))
                    .contains(
                            "check by code_owner",
                            "column by code_owner",
                            "domain by code_owner",
                            "index by code_owner")
                    .noneMatch(line -> line.endsWith("a superuser"));
            assertThat(seen("db1")).noneMatch(line -> line.endsWith("a superuser"));
        }
        for (String server : List.of("db1", "db2")) {
            assertThat(shards.number(server, "SELECT count(*) FROM pg_roles WHERE rolname = 'code_owner' AND rolsuper"))
                    .isZero();
        }
    }

    /** A mover without a superuser's rights may be a member of several owners; their functions must not use its rights. */
    @Test
    void noneRunsWithTheRightsOfAMoverWhoActsForOthers() throws Exception {
        deployAsSuperuser();
        shards.execute("db1", "DROP TABLE shard_0001.entry");
        shards.execute("db2", """
                CREATE ROLE code_mover LOGIN;
                GRANT code_owner TO code_mover;
                CREATE SCHEMA shard_0001 AUTHORIZATION code_owner;
                SET ROLE code_owner;
                CREATE TABLE shard_0001.ledger (id bigint PRIMARY KEY, uid bigint NOT NULL CHECK (code.check_row(uid)), amount code.amount, pair code.pair,
                    text varchar(20), at timestamptz, double bigint GENERATED ALWAYS AS (code.twice(uid)) STORED)
                """);
        try (Connection source = shards.url("db1").connect("a test");
                Connection target = shards.as("code_mover", "").url("db2").connect("a test");
                Connection control = shards.url("db2").connect("a test")) {
            source.setAutoCommit(false);
            Throttle throttle = new Throttle(
                    new MoveLimits(0, 0), Duration.ofSeconds(10), Duration.ofMinutes(1), control, MoveListener.NONE);
            TableCopy copy = new TableCopy(source, target, throttle);
            TableCopy.Table table = copy.table("shard_0001.ledger");

            Sql.inTransaction(target, () -> {
                copy.copyWhere("uid > 0", table, new TableCopy.Share(0, 0), (bytes, rows, size) -> {});
                return true;
            });
            assertThat(seen("db2")).contains("check by code_owner").noneMatch(line -> line.contains("code_mover"));

            // What comes next is planted after the checks of a move.
            shards.as("code_owner", "code").executeAsUser("db2", """
                    TRUNCATE code.seen;
                    ALTER TABLE shard_0001.ledger RENAME TO hidden;
                    CREATE VIEW shard_0001.ledger AS SELECT id, uid, amount, pair, text, at FROM shard_0001.hidden;
                    CREATE FUNCTION code.instead() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM code.note(''view''); RETURN NULL; END';
                    CREATE TRIGGER instead INSTEAD OF INSERT ON shard_0001.ledger FOR EACH ROW EXECUTE FUNCTION code.instead();
                    CREATE VIEW shard_0001.entry AS SELECT 1 AS id, code.note('view')
                    """);
            assertThatThrownBy(() -> Sql.inTransaction(target, () -> {
                        copy.copyWhere("uid > 0", table, new TableCopy.Share(0, 0), (bytes, rows, size) -> {});
                        return true;
                    }))
                    .hasMessageContaining("shard_0001.ledger is no longer a table");
        }
        try (Connection comparing = SnapshotPair.open(
                MoveServerSession.toRead(new MoveServer("db2", shards.url("db2")), "test")::connect)) {
            assertThatThrownBy(() -> Sql.list(comparing, "SELECT e FROM shard_0001.entry e", row -> row.getString(1)))
                    .hasMessageContaining("restricted");
        }
        assertThat(seen("db2")).isEmpty();
    }
}
