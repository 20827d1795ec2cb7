/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.preflight;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.shardflake.IdLayout;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.doctor.Doctor;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.AccountShards;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.server.MoveServer;
import org.shardflake.preflight.PreflightCheck.Outcome;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.FunctionLibrary;

/** Each check fails when what it looks for is there, names it, and only then. */
class PreflightTest {

    private static final ShardSet MOVING = ShardSet.range(1, 2);

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private AccountShards shards;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.create(postgres, 2, 4, directory);
    }

    private PreflightReport run(ServerUrl target) throws SQLException {
        return Preflight.run(new MoveServer("db1", shards.url("db1")), new MoveServer("db2", target), MOVING);
    }

    private static List<String> found(PreflightReport report) {
        return report.checks().stream()
                .filter(check -> check.outcome() != Outcome.OK && !check.name().equals("disk-space"))
                .map(check -> "%s %s: %s".formatted(check.outcome(), check.name(), check.found()))
                .toList();
    }

    private List<String> found() throws SQLException {
        return found(run(shards.url("db2")));
    }

    @Test
    void aPlainShardPasses() throws SQLException {
        PreflightReport report = run(shards.url("db2"));

        assertThat(found(report)).isEmpty();
        assertThat(report.passed()).isTrue();
        assertThat(report.tables()).isEqualTo(6);
        assertThat(shards.leftovers("db1")).isZero();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "CREATE UNLOGGED TABLE s.t (id bigint PRIMARY KEY) | failed unlogged-tables: not replicated: s.t",
                "CREATE TABLE s.t (id bigint) | failed replica-identity: tables whose rows cannot be told apart: s.t",
                "CREATE TABLE s.t (id bigint PRIMARY KEY); ALTER TABLE s.t REPLICA IDENTITY FULL | failed replica-identity: tables whose rows cannot be told apart: s.t",
                "CREATE TABLE s.t (id bigint PRIMARY KEY, picture oid) | failed large-objects: large objects are not replicated, and these columns may refer to some: s.t.picture",
                "CREATE DOMAIN s.picture AS oid; CREATE TABLE s.t (id bigint PRIMARY KEY, pictures s.picture[]) | failed large-objects: large objects are not replicated, and these columns may refer to some: s.t.pictures",
                "CREATE TABLE s.t (id bigint PRIMARY KEY, note text, other text); INSERT INTO s.t SELECT n, lo_from_bytea(0, 'x')::text, n FROM generate_series(1, 3) n | failed large-objects: large objects are not replicated, and these columns may refer to some: s.t.note",
                "CREATE FOREIGN DATA WRAPPER f; CREATE SERVER f FOREIGN DATA WRAPPER f; CREATE FOREIGN TABLE s.t (id bigint) SERVER f | failed foreign-tables: not replicated: s.t",
                "CREATE TABLE s.t (id bigint PRIMARY KEY DEFERRABLE) | failed replica-identity: tables whose rows cannot be told apart: s.t",
                "CREATE TABLE public.kind (id bigint); ALTER TABLE s.account INHERIT public.kind | failed outside-relatives: tables with a parent, child or partition outside their shard, through which writes pass the fence: s.account with public.kind",
                "CREATE TABLE s.t (id bigint PRIMARY KEY, n smallint GENERATED ALWAYS AS IDENTITY); SELECT setval('s.t_n_seq', 32704) | failed sequences: near their end, and a move leaves numbers out, as does its reverse: s.t_n_seq at 32704 of 32767",
                "CREATE MATERIALIZED VIEW s.t AS SELECT * FROM s.account | warning materialized-views: refreshed on the target before the cutover, so their rows are of that time: s.t",
                "CREATE FUNCTION s.t() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER t BEFORE INSERT ON s.account EXECUTE FUNCTION s.t(); ALTER TABLE s.account ENABLE ALWAYS TRIGGER t | failed always-triggers: fire for replicated rows too, so a second time: s.account.t",
                "CREATE OPERATOR s.=== (leftarg = integer, rightarg = integer, function = int4eq) | failed uncarried-objects: neither compared nor carried: operator s.===(integer,integer)",
                "CREATE EXTENSION citext SCHEMA s | failed uncarried-objects: neither compared nor carried: ",
                "CREATE ROLE preflight_only; ALTER TABLE s.account OWNER TO preflight_only | failed roles: own or may use something in the shards, and db2 does not have them: preflight_only",
                "CREATE FUNCTION s.norm(t text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT lower(t)'; CREATE FUNCTION s.key(t text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS 'BEGIN RETURN norm(t); END'; CREATE INDEX ON s.account (s.key(note)) | failed expressions: cannot be computed with an empty search_path, which replication has: index s.account_key_idx, which calls s.key(text): function norm(text) does not exist. Give the function its search_path",
                "CREATE TABLE public.kind (id bigint PRIMARY KEY); CREATE TABLE s.t (id bigint PRIMARY KEY REFERENCES public.kind) | failed cross-schema-foreign-keys: foreign keys that leave their shard: s.t to public.kind",
                "CREATE PUBLICATION audit FOR TABLE s.account | warning change-streams-db1: readers of publication audit get no more changes of these shards when the move is done",
                "CREATE EXTENSION citext SCHEMA public; CREATE TABLE s.t (id bigint PRIMARY KEY, name public.citext) | failed extensions: db2 lacks citext 1",
                "BEGIN; INSERT INTO s.account (uid, balance) VALUES (1, 1); PREPARE TRANSACTION 'waiting' | failed prepared-transactions: hold locks until someone ends them: waiting",
                "ALTER FUNCTION shardflake.fence_tables RENAME TO was_fence_tables | failed function-library: the function library of db1 is older than moves",
                "CREATE OR REPLACE FUNCTION shardflake.library_version() RETURNS integer LANGUAGE sql RETURN 1000000 | failed function-library: a function library is of version 1000000, and this command knows version ",
                "SELECT shardflake.drop_shard(1, force => true) | failed shards-present: 1 of 2 shards have their schema on db1"
            })
    void whatCannotBeMovedIsNamed(String sql, String found) throws SQLException {
        String schema = "shard_0001.";
        try (Connection db1 = shards.database("db1").connect()) {
            Sql.execute(db1, sql.replace("s.", schema).replace("SCHEMA s", "SCHEMA shard_0001"));
            if (sql.contains("TABLE s.t (")) {
                Sql.execute(
                        db1,
                        "DO $$ BEGIN PERFORM shardflake.complete_tables(1); EXCEPTION WHEN OTHERS THEN NULL; END $$");
            }
            assertThat(found()).anySatisfy(line -> assertThat(line).startsWith(found.replace("s.", schema)));
        } finally {
            for (String undo : List.of(
                    "ROLLBACK PREPARED 'waiting'",
                    "DROP EXTENSION IF EXISTS citext CASCADE",
                    "DROP OWNED BY preflight_only CASCADE; DROP ROLE preflight_only",
                    "ALTER TABLE shard_0001.account NO INHERIT public.kind",
                    "DROP TABLE IF EXISTS public.kind CASCADE",
                    "DROP FOREIGN DATA WRAPPER IF EXISTS f CASCADE",
                    "CREATE OR REPLACE FUNCTION shardflake.library_version() RETURNS integer LANGUAGE sql RETURN 0",
                    "ALTER FUNCTION shardflake.was_fence_tables RENAME TO fence_tables")) {
                tryOnSource(undo);
            }
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "ALTER TABLE s.account FORCE ROW LEVEL SECURITY | failed schema: replaying the shards' changesets on db2 gives a different schema. shard 1: table account is plain, on the source FORCE ROW LEVEL SECURITY",
                "CREATE POLICY own ON s.account USING (uid = 1) | failed schema: replaying the shards' changesets on db2 gives a different schema. shard 1: policy account.own is missing"
            })
    @Tag("full")
    void whatNoChangesetMadeIsNamedBeforeAMoveStarts(String sql, String found) throws SQLException {
        try (Connection db2 = shards.url("db2").connect("a test")) {
            FunctionLibrary.deploy(db2, IdLayout.DEFAULT.epochMillis());
        }
        shards.execute("db1", sql.replace("s.", "shard_0001."));

        assertThat(found()).containsExactly(found);
    }

    /** Pinned sessions do not help: the workers are PostgreSQL's, and the move would write another value. */
    @Test
    void whatTheWorkersOfReplicationWouldReadOtherwise() throws Exception {
        shards.execute("db1", "ALTER TABLE shard_0001.account ADD COLUMN price money");
        String database = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %%I %s', current_database()); END $$";
        try {
            shards.execute("db2", database.formatted("SET array_nulls = off"));
            shards.execute("db1", database.formatted("SET xmloption = document")); // there is no XML
            assertThat(found())
                    .contains(
                            "failed worker-settings: array_nulls is off on db2, where a NULL in an array would become a text");
            Doctor doctor = new Doctor(
                    shards.catalogUrl(),
                    Map.of("db1", shards.url("db1"), "db2", shards.url("db2")),
                    shards.mover(MoveSettings.DEFAULT, MoveListener.NONE));
            assertThat(doctor.examine())
                    .filteredOn(finding -> finding.check().equals("worker-settings"))
                    .singleElement()
                    .satisfies(finding -> assertThat(finding.server() + ": " + finding.found())
                            .startsWith("db2: array_nulls is off on db2"));
            shards.execute("db2", database.formatted("SET lc_monetary = \"POSIX\""));
            shards.execute("db2", database.formatted("RESET array_nulls"));
            assertThat(found()).anyMatch(line -> line.startsWith("failed worker-settings: lc_monetary is C on db1"));
        } finally {
            for (String setting : List.of("array_nulls", "lc_monetary")) {
                shards.execute("db2", database.formatted("RESET " + setting));
            }
            shards.execute("db1", database.formatted("RESET xmloption"));
            shards.execute("db1", "ALTER TABLE shard_0001.account DROP COLUMN price");
        }
    }

    /** On 16 and later a subscription applies rows as the owner of their table. */
    @Test
    void rowLevelSecurityThatIsForcedOnAPlainOwner() throws SQLException {
        for (String server : List.of("db1", "db2")) {
            shards.execute(server, "CREATE ROLE preflight_owner");
        }
        try {
            shards.execute(
                    "db1",
                    "ALTER TABLE shard_0001.account OWNER TO preflight_owner; ALTER TABLE shard_0001.account ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY");

            String said =
                    "failed row-level-security: forced on the owner, as whom PostgreSQL 16 and later replicate, on db1: shard_0001.account; forced on the owner, as whom PostgreSQL 16 and later replicate, on db2: shard_0001.account";
            if (postgres.database(0).server().majorVersion() >= 16) {
                assertThat(found()).contains(said);
            } else {
                assertThat(found()).doesNotContain(said);
            }
        } finally {
            for (String server : List.of("db1", "db2")) {
                shards.execute(server, "DROP OWNED BY preflight_owner CASCADE; DROP ROLE preflight_owner");
            }
        }
    }

    private void tryOnSource(String sql) {
        try {
            shards.execute("db1", sql);
        } catch (SQLException e) {
            // It was not there.
        }
    }

    @Test
    void aTableWithoutAFence() throws SQLException {
        shards.execute("db1", "CREATE TABLE shard_0001.t (id bigint PRIMARY KEY)");

        assertThat(found()).contains("failed fences: tables without a fence: shard_0001.t");
    }

    @Test
    void aSubscriptionThatWritesToAShard() throws SQLException {
        shards.subscribe("db1", 1);

        assertThat(found())
                .containsExactly(
                        "failed inbound-subscriptions: they would continue past the fence: subscription own_feed writes to shard_0001.tag");
        shards.execute("db1", "ALTER SUBSCRIPTION own_feed DISABLE");
        assertThat(run(shards.url("db2")).passed()).isFalse();
    }

    @Test
    void whatReadsChangesOfTheShardsOnEitherServer() throws SQLException {
        shards.execute("db1", "CREATE PUBLICATION pictures FOR TABLES IN SCHEMA shard_0001; CREATE PUBLICATION rest");
        shards.execute("db2", "CREATE PUBLICATION everything FOR ALL TABLES");
        String slots = "SELECT pg_create_logical_replication_slot('feed', 'pgoutput')";
        shards.execute("db1", slots);
        shards.execute("db2", slots);
        try {
            assertThat(found())
                    .containsExactly(
                            "warning change-streams-db1: readers of publication pictures, slot feed (pgoutput, inactive) get no more changes of these shards when the move is done",
                            "warning change-streams-db2: readers of publication everything, slot feed (pgoutput, inactive) get each row of these shards as an insert when it is copied");
        } finally {
            shards.execute("db1", "SELECT pg_drop_replication_slot('feed'); DROP PUBLICATION rest");
            shards.execute("db2", "SELECT pg_drop_replication_slot('feed'); DROP PUBLICATION everything");
        }
    }

    /** A slot of another plugin needs no publication; one with a filter or some columns is one as well. */
    @Test
    void readersByOtherKindsOfPublicationsAndPlugins() throws SQLException {
        shards.execute(
                "db1",
                "CREATE PUBLICATION filtered FOR TABLE shard_0001.tag WHERE (false); CREATE PUBLICATION named FOR TABLE shard_0001.tag (name)");
        String slot = "SELECT pg_create_logical_replication_slot('raw', 'test_decoding')";
        shards.execute("db1", slot);
        shards.execute("db2", slot + "; SELECT pg_create_logical_replication_slot('idle', 'pgoutput')");
        try {
            assertThat(found())
                    .containsExactly(
                            "warning change-streams-db1: readers of publication filtered, publication named, slot raw (test_decoding, inactive) get no more changes of these shards when the move is done",
                            "warning change-streams-db2: readers of slot raw (test_decoding, inactive) get each row of these shards as an insert when it is copied");
        } finally {
            shards.execute(
                    "db1", "SELECT pg_drop_replication_slot('raw'); DROP PUBLICATION filtered; DROP PUBLICATION named");
            shards.execute("db2", "SELECT pg_drop_replication_slot('raw'); SELECT pg_drop_replication_slot('idle')");
        }
    }

    @Test
    void aTargetThatHasTheShardAlready() throws SQLException {
        shards.execute("db2", "CREATE SCHEMA shard_0002");

        assertThat(found()).containsExactly("failed target-free: db2 has these schemas already: shard_0002");
    }

    @Test
    void extensionsOfAnotherVersionAreAWarning() throws SQLException {
        String used =
                "CREATE EXTENSION citext SCHEMA public VERSION '1.5'; CREATE TABLE shard_0001.t (id bigint PRIMARY KEY, name public.citext); SELECT shardflake.complete_tables(1)";
        try {
            shards.execute("db1", used);
            shards.execute("db2", "CREATE EXTENSION citext SCHEMA public VERSION '1.6'");

            assertThat(found()).contains("warning extensions: db2 has other versions than citext 1.5");
        } finally {
            shards.execute("db1", "DROP EXTENSION citext CASCADE");
            shards.execute("db2", "DROP EXTENSION IF EXISTS citext CASCADE");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' | failed encoding: db1 is [A-Z_0-9]+, db2 is LATIN1",
                "ENCODING 'UTF8' LC_COLLATE 'C.UTF-8' LC_CTYPE 'C' | warning collation-versions: db1 sorts by .*"
            })
    @Tag("full")
    void aDatabaseOfOtherTexts(String texts, String found) throws SQLException {
        shards.execute("db2", "CREATE DATABASE preflight_texts TEMPLATE template0 " + texts);
        try {
            ServerUrl other =
                    ServerUrl.parse(shards.database("db2").uri().replaceFirst("/[^/?]*($|\\?)", "/preflight_texts$1"));

            assertThat(found(run(other))).anySatisfy(line -> assertThat(line).matches(found));
        } finally {
            shards.execute("db2", "DROP DATABASE preflight_texts WITH (FORCE)");
        }
    }

    @Test
    void anUserWhoMayTooLittle() throws SQLException {
        shards.execute(
                "db2",
                "CREATE ROLE preflight LOGIN PASSWORD 'preflight'; GRANT SELECT ON ALL TABLES IN SCHEMA pg_catalog TO preflight");
        try {
            ServerUrl poor =
                    ServerUrl.parse(shards.database("db2").uri().replaceFirst("//[^@]*@", "//preflight:preflight@"));

            assertThat(found(run(poor)))
                    .anySatisfy(line -> assertThat(line)
                            .startsWith("failed privileges-db2: preflight lacks the right to ")
                            .contains("to make replication slots"))
                    .anySatisfy(line ->
                            assertThat(line).startsWith("failed target-reaches-source: db2 cannot connect to db1: "));
        } finally {
            shards.execute("db2", "DROP OWNED BY preflight; DROP ROLE preflight");
        }
    }

    /** What a server is started with, so on one of its own. */
    @Test
    @Tag("full")
    void aServerThatIsNotSetUpForMoves() throws SQLException {
        assumeTrue(postgres.database(0).server().canRestart(), "needs servers that the tests start themselves");
        try (PostgresCluster cluster = PostgresCluster.builder()
                .servers(1)
                .setting("wal_level", "replica")
                .setting("max_replication_slots", "0")
                .setting("max_wal_senders", "1")
                .setting("max_logical_replication_workers", "0")
                .setting("max_worker_processes", "0")
                .setting("max_slot_wal_keep_size", "1GB")
                .start()) {
            PostgresServer server = cluster.server(0);

            PreflightReport report = run(ServerUrl.parse(server.uri("postgres")));

            assertThat(found(report))
                    .contains(
                            "failed wal-level-db2: wal_level is replica",
                            "failed replication-slots-db2: 0 of 0 slots are in use, one is needed",
                            "failed wal-senders-db2: 0 of 1 senders are in use, two are needed while copying",
                            "failed logical-replication-workers-db2: 0 of 0 workers are in use, one is needed",
                            "failed worker-processes-db2: max_worker_processes is 0, max_logical_replication_workers 0",
                            "warning slot-retention-db2: the server may give up a slot that falls behind")
                    .allMatch(line -> line.contains("-db2: ")
                            || line.contains(" cannot connect to ")
                            || line.startsWith("warning"));
            assertThat(report.passed()).isFalse();
        }
    }
}
