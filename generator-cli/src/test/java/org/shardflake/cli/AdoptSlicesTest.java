/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;
import org.shardflake.ShardKey;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.adopt.AdoptListener;
import org.shardflake.adopt.AdoptRefusedException;
import org.shardflake.adopt.AdoptTable;
import org.shardflake.adopt.DatabaseAdopter;
import org.shardflake.adopt.DatabaseSettings;
import org.shardflake.adopt.RowsDifferException;
import org.shardflake.adopt.SliceReport;
import org.shardflake.adopt.TableComparison;
import org.shardflake.adoption.AdoptionPlanFile;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.jdbc.Poll;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;

/** Shards leave the old database one by one. Shards 0 to 3 are on db1, 4 to 7 on db2; user 11 belongs to shard 3. */
class AdoptSlicesTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static final int OLD = 2;

    private static final String FENCED = "SF001";

    /** Set once the test has stopped killing the engine's sessions. */
    private volatile boolean isCalm;

    private final CliInstallation installation = new CliInstallation(postgres);

    @TempDir
    private Path directory;

    @BeforeEach
    void begin() throws SQLException, IOException {
        begin(postgres, installation, directory);
    }

    /** Begins a test with the old tables, and empty ones in the shards. */
    static void begin(PostgresExtension postgres, CliInstallation installation, Path directory)
            throws SQLException, IOException {
        if (!postgres.restore("slices")) {
            install(installation, directory);
            postgres.save("slices");
        }
    }

    /** Writes the plan of these tables. */
    static Path plan(Path directory) throws IOException {
        return Files.writeString(
                directory.resolve("adoption.yaml"), AdoptionPlanFile.format(DatabaseAdopterTest.plan("id")));
    }

    /** Creates the old tables, and empty ones in the shards. */
    private static void install(CliInstallation installation, Path directory) throws SQLException, IOException {
        if (installation.take("old tables")) {
            return;
        }
        installation.init();
        installation.execute(OLD, DatabaseAdopterTest.OLD_TABLES);
        Files.writeString(
                directory.resolve("app.sql"),
                "--liquibase formatted sql\n--changeset ann:shop\n" + DatabaseAdopterTest.SHARD_TABLES);
        Cli.Result deployed = installation.launch(
                "schema", "deploy", "--changelog=" + directory.resolve("app.sql"), "--search-path=" + directory);
        assertThat(deployed.exitCode()).as(deployed.toString()).isZero();
        installation.share("old tables");
    }

    private DatabaseAdopter adopter(AdoptListener listener) {
        return adopter(postgres, listener);
    }

    static DatabaseAdopter adopter(PostgresExtension postgres, AdoptListener listener) {
        return adopter(postgres, new DatabaseSettings(DatabaseAdopterTest.TABLES, 1000, 3, 0), listener);
    }

    private static DatabaseAdopter adopter(
            PostgresExtension postgres, DatabaseSettings settings, AdoptListener listener) {
        ServerUrl catalog = url(postgres, 0);
        return DatabaseAdopter.open(
                settings,
                url(postgres, OLD),
                catalog,
                ShardCatalog.at(catalog).load(),
                server -> url(postgres, server.name().equals("db1") ? 0 : 1),
                listener);
    }

    private static ServerUrl url(PostgresExtension postgres, int server) {
        return ServerUrl.parse(postgres.database(server).uri());
    }

    private List<SliceReport> cutOver(ShardSet shards) {
        try (DatabaseAdopter adopter = adopter(AdoptListener.NONE)) {
            return adopter.cutOver(shards).now();
        }
    }

    /** Runs a statement, and returns the SQLSTATE of its failure, "ok" without one. */
    static String outcome(Connection connection, String sql) {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
            return "ok";
        } catch (SQLException e) {
            return String.valueOf(e.getSQLState());
        }
    }

    /** User 11 and its order 10 have left, user 12 and its order 11 have not. */
    private static final String STATEMENTS = """
            UPDATE shop.users SET name = 'x' WHERE id = 11                                   | SF001
            UPDATE shop.users SET name = 'x' WHERE id = 12                                   | ok
            UPDATE shop.users SET name = 'x'                                                 | SF001
            DELETE FROM shop.users WHERE id = 11                                             | SF001
            INSERT INTO shop.users VALUES (1003, 'new')                                      | SF001
            INSERT INTO shop.users VALUES (1004, 'new')                                      | ok
            INSERT INTO shop.users VALUES (11, 'again') ON CONFLICT DO NOTHING               | SF001
            INSERT INTO shop.users VALUES (11, 'again') ON CONFLICT (id) DO UPDATE SET name = 'x' | SF001
            INSERT INTO shop.users VALUES (12, 'again') ON CONFLICT (id) DO UPDATE SET name = 'x' | ok
            INSERT INTO shop.users VALUES (12, 'again') ON CONFLICT (id) DO UPDATE SET id = 1003 | SF001
            MERGE INTO shop.users u USING (VALUES (11)) v (id) ON u.id = v.id WHEN MATCHED THEN UPDATE SET name = 'x' | SF001
            MERGE INTO shop.users u USING (VALUES (11)) v (id) ON u.id = v.id WHEN MATCHED THEN DELETE | SF001
            MERGE INTO shop.users u USING (VALUES (12)) v (id) ON u.id = v.id WHEN MATCHED THEN UPDATE SET name = 'x' | ok
            MERGE INTO shop.users u USING (VALUES (1003)) v (id) ON u.id = v.id WHEN NOT MATCHED THEN INSERT VALUES (v.id, 'x') | SF001
            TRUNCATE shop.scan                                                               | 55006
            UPDATE shop.orders SET user_id = 11 WHERE id = 11                                | SF001
            UPDATE shop.orders SET user_id = 12 WHERE id = 10                                | SF001
            UPDATE shop.orders SET user_id = 13 WHERE id = 11                                | 55006
            UPDATE shop.users SET id = 1012 WHERE id = 12                                    | ok
            UPDATE shop.users SET id = 1013 WHERE id = 12; UPDATE shop.orders SET user_id = 1013 WHERE user_id = 12 | 55006
            UPDATE shop.orders SET id = 2011, code = 'c' WHERE id = 11                       | ok
            UPDATE shop.orders SET id = 2010 WHERE id = 10                                   | SF001
            UPDATE shop.item SET text = 'x' WHERE order_id = 10                              | SF001
            UPDATE shop.item SET text = 'x' WHERE order_id = 11                              | ok
            INSERT INTO shop.item VALUES (10, 9, 'new')                                      | SF001
            UPDATE shop.item SET order_id = 10, line = 9 WHERE order_id = 11 AND line = 1    | SF001
            UPDATE shop.item SET order_id = 12, line = 9 WHERE order_id = 11 AND line = 1    | 55006
            DELETE FROM shop.item WHERE order_id = 10                                        | SF001
            DELETE FROM shop.scan WHERE parcel_id = 9                                        | SF001
            UPDATE shop.scan SET parcel_id = 10 WHERE parcel_id = 11                         | ok
            UPDATE shop.scan SET parcel_id = 9 WHERE parcel_id = 11                          | SF001
            INSERT INTO shop.scan VALUES (100000, 1)                                         | 23503
            INSERT INTO shop.scan VALUES (100000, 1); DELETE FROM shop.scan WHERE parcel_id = 100000 | ok
            INSERT INTO shop.scan VALUES (100000, 1); INSERT INTO shop.parcel VALUES (100000, 'code 11') | ok
            INSERT INTO shop.scan VALUES (100000, 1); INSERT INTO shop.parcel VALUES (100000, 'code 10') | SF001
            DELETE FROM shop.parcel WHERE id = 11; UPDATE shop.scan SET at = 999 WHERE parcel_id = 11 AND at = 10 | 23503
            DELETE FROM shop.parcel WHERE id = 11; UPDATE shop.scan SET at = 999 WHERE parcel_id = 11 AND at = 10; INSERT INTO shop.parcel VALUES (11, 'code 12') | ok
            INSERT INTO shop.users VALUES (1004, 'later')                                    | SF001
            INSERT INTO shop.users VALUES (1004, 'new'); UPDATE shop.users SET name = 'later' WHERE id = 1004 | SF001
            INSERT INTO shop.scan VALUES (11, -1)                                            | SF001
            UPDATE shop.scan SET at = -1 WHERE parcel_id = 11 AND at = 10                    | SF001
            SELECT shardflake_adopt.enter(3)                                                 | SF001
            SELECT shardflake_adopt.enter(4)                                                 | ok
            SELECT shardflake_adopt.enter(8)                                                 | 22023
            """;

    /** Triggers that fire after the fence, and give rows that have not left the keys of others that have. */
    private static final String LATER = """
            CREATE FUNCTION shop.later() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
            BEGIN
                IF TG_TABLE_NAME = 'scan' THEN
                    NEW.parcel_id := CASE WHEN NEW.at = -1 THEN 9 ELSE NEW.parcel_id END;
                ELSE
                    NEW.id := CASE WHEN NEW.name = 'later' THEN NEW.id - 1 ELSE NEW.id END;
                END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER zzz_later BEFORE INSERT OR UPDATE ON shop.users FOR EACH ROW EXECUTE FUNCTION shop.later();
            CREATE TRIGGER zzz_later BEFORE INSERT OR UPDATE ON shop.scan FOR EACH ROW EXECUTE FUNCTION shop.later();
            ALTER TABLE shop.users ENABLE ALWAYS TRIGGER zzz_later;
            ALTER TABLE shop.scan ENABLE ALWAYS TRIGGER zzz_later;
            """;

    /** A schema whose functions and operators fail, and whose types are others, for a search path that finds it first. */
    private static final String HOSTILE = """
            CREATE SCHEMA hostile;
            CREATE DOMAIN hostile.text AS pg_catalog.bool;
            CREATE DOMAIN hostile.record AS pg_catalog.bool;
            DO $do$
            DECLARE
                o pg_catalog.record;
            BEGIN
                FOR o IN SELECT oprname, oprleft::regtype l, oprright::regtype r, oprcode::oid f, oprresult::regtype t FROM pg_operator
                          WHERE oprnamespace = 'pg_catalog'::regnamespace AND ARRAY[oprleft, oprright]::regtype[] <@ '{int2,int4,int8,text,bool,name,record}' LOOP
                    EXECUTE format($q$CREATE FUNCTION hostile.fail_%1$s(%2$s, %3$s) RETURNS %4$s LANGUAGE plpgsql AS $f$BEGIN RAISE EXCEPTION 'hostile'; END$f$$q$, o.f, o.l, o.r, o.t);
                    EXECUTE format('CREATE OPERATOR hostile.%1$s (FUNCTION = hostile.fail_%2$s, LEFTARG = %3$s, RIGHTARG = %4$s)', o.oprname, o.f, o.l, o.r);
                END LOOP;
                FOR o IN SELECT proname, pg_get_function_identity_arguments(oid) a, pg_get_function_result(oid) t FROM pg_proc
                          WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind IN ('f', 'a') AND NOT proretset
                            AND NOT proargtypes::oid[]::regtype[] && ARRAY['"any"', 'internal', 'cstring']::regtype[]
                            AND proname IN ('mod', 'min', 'max', 'count', 'array_agg', 'cardinality', 'format', 'current_setting', 'set_config', 'now') LOOP
                    EXECUTE format($q$CREATE FUNCTION hostile.%1$I(%2$s) RETURNS %3$s LANGUAGE plpgsql AS $f$BEGIN RAISE EXCEPTION 'hostile'; END$f$$q$, o.proname, o.a, o.t);
                END LOOP;
            END $do$;
            """;

    @Test
    void writesAreRefusedByRow() throws SQLException {
        cutOver(ShardSet.of(3));
        installation.execute(OLD, LATER + HOSTILE);
        List<String> outcomes = new ArrayList<>();
        List<String> wanted = new ArrayList<>();
        try (Connection connection = postgres.database(OLD).connect()) {
            connection.setAutoCommit(false);
            for (String setting : List.of(
                    "session_replication_role = origin",
                    "session_replication_role = replica",
                    "search_path = hostile, pg_catalog")) {
                for (String line : STATEMENTS.lines().toList()) {
                    String[] parts = line.split(" +[|] ", 2);
                    assertThat(outcome(connection, "SET " + setting)).isEqualTo("ok");
                    String outcome = outcome(
                            connection,
                            parts[0].replaceAll("(WHERE|AND|ON) (\\S+) = ", "$1 $2 OPERATOR(pg_catalog.=) "));
                    if (outcome.equals("ok")) {
                        outcome = outcome(connection, "SET CONSTRAINTS ALL IMMEDIATE");
                    }
                    connection.rollback();
                    outcomes.add("%s: %s | %s".formatted(setting, parts[0], outcome));
                    wanted.add("%s: %s | %s".formatted(setting, parts[0], parts[1]));
                }
            }
        }
        assertThat(outcomes).isEqualTo(wanted);
    }

    @Test
    void copyAndOldSnapshotsAreRefused() throws Exception {
        try (DatabaseAdopter adopter = adopter(AdoptListener.NONE)) {
            adopter.run();
        }
        try (Connection before = postgres.database(OLD).connect();
                Connection later = postgres.database(OLD).connect()) {
            before.setAutoCommit(false);
            before.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            assertThat(outcome(before, "SELECT 1 FROM shop.users")).isEqualTo("ok");
            cutOver(ShardSet.of(5));
            // Its snapshot has no fence, and says nothing about any slice.
            assertThat(outcome(before, "UPDATE shop.users SET name = 'x' WHERE id = 12"))
                    .isEqualTo("40001");
            before.rollback();

            assertThat(outcome(before, "SELECT 1 FROM shop.users")).isEqualTo("ok");
            cutOver(ShardSet.of(3));
            assertThat(outcome(before, "UPDATE shop.users SET name = 'x' WHERE id = 12"))
                    .isEqualTo("ok");
            assertThat(outcome(before, "UPDATE shop.users SET name = 'x' WHERE id = 11"))
                    .isEqualTo("40001");
            before.rollback();
            assertThat(outcome(before, "UPDATE shop.users SET name = 'x' WHERE id = 11"))
                    .isEqualTo(FENCED);
            before.rollback();
            assertThatThrownBy(() -> later.unwrap(PGConnection.class)
                            .getCopyAPI()
                            .copyIn("COPY shop.users FROM STDIN", new StringReader("2004\tgood\n2003\tbad\n")))
                    .hasMessageContaining("INSERT of table shop.users is refused: shard 3 has left this database");
        }
        assertThatThrownBy(() -> {
                    try (DatabaseAdopter adopter = adopter(AdoptListener.NONE)) {
                        adopter.cancel();
                    }
                })
                .isInstanceOf(AdoptRefusedException.class)
                .hasMessageContaining("shards 3,5 have left the old database");
    }

    /** A transaction remembers which shard it has entered only for as long as it keeps the shard from leaving. */
    @Test
    void aSessionThatHasWrittenIsRefusedOnceTheShardHasLeft() throws SQLException {
        cutOver(ShardSet.of());
        try (Connection writer = postgres.database(OLD).connect()) {
            assertThat(outcome(writer, "UPDATE shop.users SET name = 'x' WHERE id = 11"))
                    .isEqualTo("ok");
            cutOver(ShardSet.of(3));
            assertThat(outcome(writer, "UPDATE shop.users SET name = 'x' WHERE id = 11"))
                    .isEqualTo(FENCED);
            writer.setAutoCommit(false);
            Savepoint savepoint = writer.setSavepoint();
            assertThat(outcome(writer, "UPDATE shop.users SET name = 'x' WHERE id = 12"))
                    .isEqualTo("ok");
            writer.rollback(savepoint);
            cutOver(ShardSet.of(4));
            assertThat(outcome(writer, "UPDATE shop.users SET name = 'x' WHERE id = 12"))
                    .isEqualTo(FENCED);
            writer.rollback();
        }
    }

    /** Lines of transactions that had ended are looked at once; the line of this one is older than the look, and comes later. */
    @Test
    @Timeout(120)
    void aChangeThatIsCommittedWhileTheCommandWaitsForItIsInTheShard() throws Exception {
        cutOver(ShardSet.of());
        ExecutorService threads = Executors.newSingleThreadExecutor();
        try (Connection writer = postgres.database(OLD).connect()) {
            writer.setAutoCommit(false);
            writer.setSavepoint();
            assertThat(outcome(writer, "UPDATE shop.users SET name = 'late' WHERE id = 11"))
                    .isEqualTo("ok");
            Future<?> command = threads.submit(() -> cutOver(ShardSet.of(3)));
            await(OLD, "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)");
            writer.commit();
            command.get();
        } finally {
            threads.shutdown();
        }

        assertThat(installation.query(0, "SELECT name FROM shard_0003.users WHERE id = 11"))
                .isEqualTo("late");
    }

    /** Rows whose parent has been deleted have no shard, and nothing notes them when it comes again, here for a shard that is leaving. */
    @Test
    @Timeout(120)
    void rowsWhoseParentComesWhileTheirShardIsLeavingLeaveWithIt() throws Exception {
        installation.execute(
                OLD,
                "ALTER TABLE shop.item DROP CONSTRAINT item_order_id_fkey; ALTER TABLE shop.parcel DROP CONSTRAINT parcel_code_fkey");
        cutOver(ShardSet.of());
        installation.execute(OLD, "DELETE FROM shop.orders WHERE id = 11");
        ExecutorService threads = Executors.newSingleThreadExecutor();
        try (Connection writer = postgres.database(OLD).connect()) {
            writer.setAutoCommit(false);
            assertThat(outcome(writer, "SELECT shardflake_adopt.enter(3)")).isEqualTo("ok");
            Future<?> command = threads.submit(() -> cutOver(ShardSet.of(3)));
            await(OLD, "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)");
            assertThat(outcome(writer, "INSERT INTO shop.orders VALUES (11, 11, 'code 11')"))
                    .isEqualTo("ok");
            writer.commit();
            command.get();
        } finally {
            threads.shutdown();
        }

        for (String table : List.of("item WHERE order_id = 11", "parcel WHERE code = 'code 11'")) {
            String rows = "SELECT count(*) FROM %s." + table;
            assertThat(installation.query(0, rows.formatted("shard_0003")))
                    .as(table)
                    .isEqualTo(installation.query(OLD, rows.formatted("shop")))
                    .isNotEqualTo("0");
        }
    }

    /** The parent's key brings the row into another slice after its transaction has entered the first one. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "UPDATE shop.scan SET at = 999 WHERE parcel_id = 11 AND at = 10",
                "DELETE FROM shop.scan WHERE parcel_id = 11"
            })
    void aRowWhoseParentHasAnotherShardMeanwhileIsRefusedIfThatHasLeft(String sql) throws SQLException {
        cutOver(ShardSet.of());
        try (Connection writer = postgres.database(OLD).connect()) {
            writer.setAutoCommit(false);
            assertThat(outcome(writer, sql)).isEqualTo("ok");
            installation.execute(
                    OLD, "DELETE FROM shop.parcel WHERE id = 11; INSERT INTO shop.parcel VALUES (11, 'code 11')");
            cutOver(ShardSet.of(4));

            assertThat(outcome(writer, "COMMIT")).isEqualTo(FENCED);
        }
    }

    /** The fence remembers what a transaction has entered in a setting, which anyone can set. */
    @Test
    void aSettingOfTheSessionOpensNoShard() throws SQLException {
        cutOver(ShardSet.of(3));
        try (Connection writer = postgres.database(OLD).connect()) {
            assertThat(
                            outcome(
                                    writer,
                                    "UPDATE shop.users SET name = 'x' WHERE id = 12; SELECT set_config('shardflake_adopt.entered', current_setting('shardflake_adopt.entered'), false)"))
                    .isEqualTo("ok");
            for (String value : List.of("3", "(SELECT current_setting('shardflake_adopt.entered')::bigint - 1)")) {
                assertThat(outcome(
                                writer,
                                "SELECT set_config('shardflake_adopt.entered', (%s)::text, false)".formatted(value)))
                        .isEqualTo("ok");
                assertThat(outcome(writer, "UPDATE shop.users SET name = 'x' WHERE id = 11"))
                        .isEqualTo(FENCED);
            }
        }
    }

    @Test
    void aShardThatOthersHaveWrittenToDoesNotLeave() throws SQLException {
        try (DatabaseAdopter adopter = adopter(AdoptListener.NONE)) {
            adopter.run();
        }
        installation.execute(0, "DELETE FROM shard_0002.item WHERE order_id = 9");

        assertThatThrownBy(() -> cutOver(ShardSet.range(1, 4)))
                .isInstanceOf(RowsDifferException.class)
                .hasMessageContaining("shop.item differ in 1 shard: shard 2 has");

        try (Connection connection = postgres.database(OLD).connect()) {
            assertThat(outcome(connection, "UPDATE shop.users SET name = 'x' WHERE id = 1"))
                    .isEqualTo(FENCED);
            assertThat(outcome(connection, "UPDATE shop.users SET name = 'x' WHERE id = 2"))
                    .isEqualTo("ok");
        }
    }

    /** Shards are behind all the time, and the old table has no index by which a shard's rows are found. */
    @Test
    @Timeout(120)
    void theOldTableIsReadOnceForAllShardsThatLeaveWhileItIsInUse() throws Exception {
        int rows = 20_000;
        installation.execute(
                OLD, "INSERT INTO shop.users SELECT n, 'user ' || n FROM generate_series(41, %s) n".formatted(rows));
        installation.execute(OLD, "ANALYZE shop.users");
        cutOver(ShardSet.of());
        awaitEnded();
        installation.execute(OLD, "SELECT pg_stat_reset()");
        // Ten changes at a time, so that PostgreSQL looks each up by its key.
        String update =
                "UPDATE shop.users SET name = name || '.' WHERE id = %%s AND (SELECT count(*) FROM shardflake_adopt.changes_%s) < 10"
                        .formatted(installation.query(
                                OLD, "SELECT id FROM shardflake_adopt.adoption WHERE source = 'shop.users'"));
        AtomicBoolean stop = new AtomicBoolean();
        AtomicInteger written = new AtomicInteger();
        ExecutorService threads = Executors.newSingleThreadExecutor();
        try {
            Future<Boolean> writer = threads.submit(() -> {
                try (Connection connection = postgres.database(OLD).connect()) {
                    while (!stop.get()) {
                        int id = 5 + 8 * (written.incrementAndGet() % 1000); // of shard 5, the last to leave
                        outcome(connection, update.formatted(id));
                    }
                }
                return true;
            });
            assertThat(cutOver(ShardSet.range(1, 5))).hasSize(5);
            stop.set(true);
            writer.get();
        } finally {
            stop.set(true);
            threads.shutdown();
        }
        awaitEnded();

        assertThat(written).hasPositiveValue();
        assertThat(installation.query(
                        OLD,
                        "SELECT seq_tup_read / %s FROM pg_stat_user_tables WHERE relid = 'shop.users'::regclass"
                                .formatted(rows)))
                .isEqualTo("1");
    }

    /** Waits until the engine's sessions have ended, since only then their statistics are all there. */
    private void awaitEnded() throws SQLException {
        assertThat(Poll.everyMillis(20, Duration.ofSeconds(10))
                        .until(() -> installation
                                .query(
                                        OLD,
                                        "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'shardflake adopt%'")
                                .equals("0")))
                .isTrue();
    }

    /** Tables share connections to the servers, and the driver lets nothing else use one with an open COPY. */
    @Test
    @Timeout(60)
    void aFailureAmidACopyEndsTheCommand() throws SQLException {
        AdoptListener listener = new AdoptListener() {
            @Override
            public void left(SliceReport report) {
                if (report.shard() == 3) {
                    roundTheFence("UPDATE shop.item SET text = 'late' WHERE order_id IN (4, 10)");
                }
            }
        };

        assertThatThrownBy(() -> {
                    try (DatabaseAdopter adopter = adopter(listener)) {
                        adopter.cutOver(ShardSet.of(3, 5));
                    }
                })
                .hasMessageContaining("a row of shop.item was written in the old database after its shard 3 had left");
    }

    private void roundTheFence(String sql) {
        String fence = """
                ALTER TABLE shop.item %1$s TRIGGER zz_shardflake_adopt_fence;
                ALTER TABLE shop.item %1$s TRIGGER zz_shardflake_adopt_fenced;
                """;
        try {
            installation.execute(OLD, fence.formatted("DISABLE") + sql + "; " + fence.formatted("ENABLE ALWAYS"));
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    /** The text of a row has such values in another form than a cast to text. */
    @Test
    void aRowThatAShardLacksIsFoundByAnyKey() throws SQLException, IOException {
        String tag =
                "CREATE TABLE %stag (uid bigint, code char(5), is_old boolean, at inet, PRIMARY KEY (uid, code, is_old, at));";
        installation.execute(OLD, tag.formatted("shop."));
        installation.execute(
                OLD, "INSERT INTO shop.tag SELECT n, 'ab', n % 2 = 0, '10.0.0.1' FROM generate_series(0, 15) n");
        Path changelog = Files.writeString(
                directory.resolve("tag.sql"),
                "--liquibase formatted sql\n--changeset ann:tag\n" + tag.formatted("")
                        + " COMMENT ON COLUMN tag.uid IS 'shard key';");
        Cli.Result deployed =
                installation.launch("schema", "deploy", "--changelog=" + changelog, "--search-path=" + directory);
        assertThat(deployed.exitCode()).as(deployed.toString()).isZero();
        DatabaseSettings settings = new DatabaseSettings(
                List.of(new AdoptTable("shop.tag", "tag", "uid", List.of(), null, List.of())), 1000, 3, 0);
        try (DatabaseAdopter adopter = adopter(postgres, settings, AdoptListener.NONE)) {
            adopter.run();
            assertThat(adopter.verify()).noneMatch(TableComparison::differs);
        }
        installation.execute(0, "DELETE FROM shard_0002.tag WHERE is_old");

        try (DatabaseAdopter adopter = adopter(postgres, settings, AdoptListener.NONE)) {
            assertThat(adopter.verify()).allMatch(TableComparison::differs);
            assertThatThrownBy(() -> adopter.cutOver(ShardSet.of(2)).now())
                    .isInstanceOf(RowsDifferException.class)
                    .hasMessageContaining("shard 2 has 2 rows that differ");
        }
    }

    @Test
    void everyWriteIsInOnePlace() throws Exception {
        random(new Random().nextLong(), 2);
    }

    @Test
    @Tag("full")
    void everyWriteIsInOnePlaceForLong() throws Exception {
        random(Nights.seed(3), 20);
    }

    /**
     * Writers change the old tables at random, and some go to the shard when they are told that it has left. The old tables of a shard that has
     * left stay as they are, so in the end the shards have their rows and those that were acknowledged there.
     */
    private void random(long seed, int turns) throws Exception {
        Random random = new Random(seed);
        cutOver(ShardSet.of());
        AtomicBoolean stop = new AtomicBoolean();
        AtomicInteger written = new AtomicInteger();
        AtomicInteger refused = new AtomicInteger();
        AtomicInteger inOld = new AtomicInteger();
        Map<Integer, String> acknowledged = new ConcurrentHashMap<>();
        ExecutorService threads = Executors.newFixedThreadPool(4);
        List<Future<?>> writers = new ArrayList<>();
        for (int writer = 0; writer < 4; writer++) {
            Random its = new Random(random.nextLong());
            int first = 1_000_000 * (writer + 1);
            writers.add(threads.submit(
                    first < 3_000_000
                            ? () -> write(postgres.database(OLD), its, stop, written, refused)
                            : () -> append(its, first, stop, inOld, acknowledged)));
        }
        int failed = 0;
        for (int turn = 0; turn < turns; turn++) {
            ShardSet some = ShardSet.of(random.ints(2, 0, 7).toArray());
            try (DatabaseAdopter adopter = adopter(killer(installation, random))) {
                if (random.nextInt(3) == 0) {
                    adopter.rehearse(ShardSet.of(some.stream()
                            .filter(shard -> !over().contains(shard))
                            .toArray()));
                } else {
                    adopter.cutOver(some);
                }
            } catch (AdoptRefusedException e) {
                throw e;
            } catch (ShardflakeException e) {
                assertThat(e.kind()).as("%s", e).isNotEqualTo(ShardflakeException.Kind.VERIFICATION);
                failed++;
            }
        }
        isCalm = true;
        cutOver(ShardSet.range(2, 4));
        boolean areAppended = Poll.everyMillis(10, Duration.ofMinutes(2))
                .until(() -> acknowledged.size() > 20 || writers.stream().anyMatch(Future::isDone));
        stop.set(true);
        for (Future<?> writer : writers) {
            writer.get();
        }
        threads.shutdown();
        assertThat(areAppended).isTrue();
        DatabaseAdopterTest.deleteOrphans(installation);
        cutOver(ShardSet.range(0, 7));

        Map<String, String> wanted = new TreeMap<>(DatabaseAdopterTest.wanted(installation));
        Map<String, String> found = new TreeMap<>(DatabaseAdopterTest.found(installation));
        List<String> orders =
                new ArrayList<>(List.of(String.valueOf(wanted.get(ORDERS)).split("\n", -1)));
        acknowledged.forEach((id, row) -> {
            if (!orders.contains(row)) {
                orders.add(row);
            }
        });
        orders.sort(null);
        wanted.put(ORDERS, String.join("\n", orders));
        assertThat(found).as("seed %s", seed).isEqualTo(wanted);
        assertThat(installation.launch("adopt", "status").out()).isEqualTo("no adoption is in progress\n");
        System.out.printf(
                "seed %s: %s transactions, %s refused, %s appended before and %s after, %s of %s runs failed%n",
                seed, written, refused, inOld, acknowledged.size(), failed, turns);
    }

    private static final String ORDERS = "orders (id, user_id, code, note)";

    /** Ends the engine's sessions at a random step, or never. */
    static AdoptListener killer(CliInstallation installation, Random random) {
        AtomicInteger steps = new AtomicInteger(random.nextInt(-2, 3));
        boolean all = random.nextBoolean();
        return new AdoptListener() {
            @Override
            public void followed(long changes) {
                step();
            }

            @Override
            public void left(SliceReport report) {
                step();
            }

            @Override
            public void rehearsed(SliceReport report) {
                step();
            }

            @Override
            public void cameBack(SliceReport report) {
                step();
            }

            private void step() {
                if (steps.decrementAndGet() == 0) {
                    kill(installation, all);
                }
            }
        };
    }

    /** Ends the engine's sessions, in the old database or in all. */
    static void kill(CliInstallation installation, boolean all) {
        for (int server : all ? new int[] {0, 1, OLD} : new int[] {OLD}) {
            try {
                installation.execute(
                        server,
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'shardflake adopt' AND datname = current_database()");
            } catch (SQLException e) {
                throw new AssertionError(e);
            }
        }
    }

    /** For loops of writers: the servers share the machine, and what is written has to be followed. */
    static void rest() {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(4));
    }

    /** Changes the old tables at random until told to stop, and counts what is refused since a shard has left. */
    static void write(
            TestDatabase old, Random random, AtomicBoolean stop, AtomicInteger written, AtomicInteger refused) {
        try (Connection connection = old.connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            while (!stop.get()) {
                rest();
                connection.setTransactionIsolation(
                        random.nextBoolean()
                                ? Connection.TRANSACTION_READ_COMMITTED
                                : Connection.TRANSACTION_REPEATABLE_READ);
                try {
                    for (int i = random.nextInt(3); i >= 0; i--) {
                        statement.execute(DatabaseAdopterTest.change(random));
                    }
                    connection.commit();
                    written.incrementAndGet();
                } catch (SQLException e) {
                    connection.rollback();
                    refused.addAndGet(FENCED.equals(e.getSQLState()) ? 1 : 0);
                    // Foreign and unique keys, deadlocks, transactions that cannot be serialized, changes of keys.
                    if (!FENCED.equals(e.getSQLState())
                            && !Set.of("23", "40", "55")
                                    .contains(e.getSQLState().substring(0, 2))) {
                        throw e;
                    }
                }
            }
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    /** Appends orders of a user as the guide says, to the old table, or by the router once the shard has left. */
    private void append(
            Random random, int first, AtomicBoolean stop, AtomicInteger inOld, Map<Integer, String> acknowledged) {
        try (Connection old = postgres.database(OLD).connect();
                ShardRouter router = ShardRouter.builder()
                        .catalog(postgres.database(0).uri())
                        .build()) {
            old.setAutoCommit(false);
            for (int id = first; !stop.get(); id++) {
                rest();
                if (random.nextInt(2000) == 0 && !isCalm) {
                    kill(installation, random.nextBoolean()); // at any step of a cutover
                }
                int user = random.nextInt(1, 60);
                ShardKey key = ShardKey.uid(user);
                int shard = router.locate(key).shard();
                String sql = "INSERT INTO %s.orders (id, user_id, code) VALUES (" + id + ", " + user + ", 'code " + id
                        + "')";
                String outcome = outcome(old, "SELECT shardflake_adopt.enter(%s)".formatted(shard));
                if (outcome.equals(FENCED)) {
                    router.run(key, tx -> {
                        try (Statement statement = tx.connection().createStatement()) {
                            statement.execute(sql.formatted(tx.schema()));
                        }
                    });
                    acknowledged.put(
                            id,
                            "%s: {\"id\":%s,\"user_id\":%s,\"code\":\"code %2$s\",\"note\":null}"
                                    .formatted(shard, id, user));
                } else {
                    assertThat(outcome).isEqualTo("ok");
                    outcome = outcome(old, sql.formatted("shop"));
                    // A shard that was entered stays; the user may be gone.
                    assertThat(outcome).isIn("ok", "23503", "40P01");
                }
                if (outcome.equals("ok")) {
                    old.commit();
                    inOld.incrementAndGet();
                } else {
                    old.rollback();
                }
            }
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    @Tag("full")
    void aShareOfTheShardsLeavesByTheCommand() throws IOException, SQLException {
        Path plan = plan(directory);

        refusesToRehearse(plan, " is not being adopted"); // whichever table is looked at first
        try (DatabaseAdopter adopter = adopter(AdoptListener.NONE)) {
            adopter.run();
        }
        refusesToRehearse(plan, "has no triggers yet that make writers wait");
        assertThat(cutOver(plan, "--percent=0").out()).isEqualTo("no shard had to leave\n8 shards are still there\n");
        rehearse(plan);
        assertThat(cutOver(plan, "--percent=20").out())
                .matches(
                        "2 shards left the old database; write pause: median \\d+ ms, p99 \\d+ ms, longest \\d+ ms\n6 shards are still there\n");
        assertThat(adopt("rehearse", plan, "--percent=50").out())
                .startsWith("2 shards could leave the old database; ")
                .endsWith("\n6 shards are still there\n");
        assertThat(adopt("rehearse", plan, "--shards=8").exitCode()).isEqualTo(ExitCodes.USAGE);
        assertThat(cutOver(plan, "--shards=1").out()).isEqualTo("no shard had to leave\n6 shards are still there\n");
        assertThat(cutOver(plan, "--shards=2-6").out()).endsWith("\n1 shard is still there\n");
        assertThat(cutOver(plan, "--percent=101").err()).contains("--percent 101 is out of range 0..100");
        installation.execute(OLD, "UPDATE shop.remark SET line = NULL WHERE id = 5");
        assertThat(cutOver(plan, "--percent=100", "-o=json").err())
                .contains("rows of shop.remark have no shard", "(5)");
        installation.execute(OLD, "DELETE FROM shop.remark WHERE id = 5");
        assertThat(cutOver(plan, "--percent=100", "-o=json").out()).contains("\"remaining\":\"\"");
        assertThat(cutOver(plan, "--percent=100").err()).contains("the adoption is finished");
        assertThat(DatabaseAdopterTest.found(installation)).isEqualTo(DatabaseAdopterTest.wanted(installation));
    }

    private void refusesToRehearse(Path plan, String... why) {
        Cli.Result refused = adopt("rehearse", plan, "--shards=1,3");
        assertThat(refused.exitCode()).as(refused.toString()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(refused.err()).contains(why);
    }

    /** It finds what a cutover would find. */
    private void rehearse(Path plan) throws SQLException {
        assertThat(adopt("rehearse", plan, "--percent=20").out())
                .matches(
                        "2 shards could leave the old database; write pause: median \\d+ ms, p99 \\d+ ms, longest \\d+ ms\n8 shards are still there\n");
        String set = "UPDATE shard_0003.item SET text = '%s' WHERE order_id = 10 AND line = 1";
        String text = installation.query(0, "SELECT text FROM shard_0003.item WHERE order_id = 10 AND line = 1");
        installation.execute(0, set.formatted("other"));
        Cli.Result differs = adopt("rehearse", plan, "--shards=3");
        assertThat(differs.exitCode()).as(differs.toString()).isEqualTo(ExitCodes.VERIFICATION);
        assertThat(differs.err()).contains("shop.item", "shard 3 has 1 row that differs");
        installation.execute(0, set.formatted(text));
    }

    /** The slices that have left. */
    private Set<Integer> over() {
        try {
            String over = installation.query(
                    OLD,
                    "SELECT coalesce(string_agg(shard::text, ','), '') FROM shardflake_adopt.slice WHERE over_since IS NOT NULL");
            return over.isEmpty()
                    ? Set.of()
                    : ShardSet.parse(over).stream().boxed().collect(Collectors.toSet());
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    private static final String LOCK_OF_SHARD_3 =
            "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 3 AND classid = 1936419171 AND mode = '%s' AND %s)";

    /** The end of a rehearsal that waits for a lock. */
    private enum End {
        LOCK_IS_FREE,
        KILLED,
        LOCK_STAYS
    }

    /** A write that had to wait for a rehearsal goes into the old database, even if the rehearsal is killed, or has waited for a lock for too long. */
    @ParameterizedTest
    @EnumSource
    void writersContinueAfterARehearsal(End end) throws Exception {
        cutOver(ShardSet.of());
        try (Connection early = postgres.database(OLD).connect();
                Connection late = postgres.database(OLD).connect();
                Connection inTheWay = postgres.database(0).connect()) {
            early.setAutoCommit(false);
            inTheWay.setAutoCommit(false);
            assertThat(outcome(early, "SELECT shardflake_adopt.enter(3)")).isEqualTo("ok");
            Process rehearsal = startRehearsal();
            do {
                inTheWay.rollback(); // The change was brought over before the writers waited.
                assertThat(outcome(early, "UPDATE shop.item SET text = text || '.' WHERE order_id = 10"))
                        .isEqualTo("ok");
                await(OLD, LOCK_OF_SHARD_3.formatted("ExclusiveLock", "NOT granted"));
                assertThat(outcome(inTheWay, "LOCK TABLE shard_0003.item")).isEqualTo("ok");
                early.commit();
                await(
                        0,
                        "SELECT EXISTS (SELECT FROM pg_locks WHERE relation = 'shard_0003.item'::regclass AND NOT granted)");
            } while (!installation
                    .query(OLD, LOCK_OF_SHARD_3.formatted("ExclusiveLock", "granted"))
                    .equals("t"));

            CompletableFuture<String> waits = CompletableFuture.supplyAsync(
                    () -> outcome(late, "UPDATE shop.users SET name = 'late' WHERE id = 11"));
            await(OLD, LOCK_OF_SHARD_3.formatted("ShareLock", "NOT granted"));
            assertThat(outcome(early, "UPDATE shop.users SET name = 'early' WHERE id = 12"))
                    .isEqualTo("ok");
            early.commit();
            assertThat(waits.isDone()).isFalse();
            if (end == End.KILLED) {
                rehearsal.destroyForcibly();
            } else if (end == End.LOCK_IS_FREE) {
                inTheWay.rollback();
            }
            assertThat(waits.get(1, TimeUnit.MINUTES)).isEqualTo("ok");
            assertThat(rehearsal.waitFor(1, TimeUnit.MINUTES)).isTrue();
            assertThat(rehearsal.exitValue() == 0).isEqualTo(end == End.LOCK_IS_FREE);
            assertThat(directory.resolve("rehearsal.log"))
                    .content()
                    .satisfies(log -> assertThat(log.contains("lock timeout")).isEqualTo(end == End.LOCK_STAYS));
            inTheWay.rollback();
        }
        assertThat(over()).isEmpty();
        try (DatabaseAdopter adopter = adopter(AdoptListener.NONE)) {
            assertThat(adopter.rehearse(ShardSet.of(3, 4)).now())
                    .extracting(SliceReport::shard)
                    .containsExactly(3, 4);
        }
        assertThat(cutOver(ShardSet.of(3))).hasSize(1);
        assertThat(over()).containsExactly(3);
        assertThat(installation.query(0, "SELECT name FROM shard_0003.users WHERE id = 11"))
                .isEqualTo("late");
    }

    private Process startRehearsal() throws IOException {
        Path plan = plan(directory);
        return start(
                installation,
                directory.resolve("rehearsal.log"),
                "adopt",
                "rehearse",
                "--plan=" + plan,
                "--from=" + installation.url(OLD),
                "--shards=3",
                "--yes");
    }

    /** Starts a command that can be killed, as a process. */
    static Process start(CliInstallation installation, Path log, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                System.getProperty("java.class.path"),
                Shardflake.class.getName()));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command);
        builder.environment()
                .putAll(Map.of(
                        "SHARDFLAKE_CATALOG",
                        installation.url(installation.catalog()),
                        "PGPASSWORD",
                        installation.password()));
        return builder.redirectErrorStream(true).redirectOutput(log.toFile()).start();
    }

    private void await(int server, String condition) throws SQLException {
        boolean isSo = Poll.everyMillis(5, Duration.ofMinutes(1))
                .until(() -> installation.query(server, condition).equals("t"));
        assertThat(isSo).as(condition).isTrue();
    }

    private Cli.Result cutOver(Path plan, String... options) {
        return adopt("cutover", plan, options);
    }

    private Cli.Result adopt(String name, Path plan, String... options) {
        List<String> command =
                new ArrayList<>(List.of("adopt", name, "--plan=" + plan, "--from=" + installation.url(OLD), "--yes"));
        command.addAll(List.of(options));
        return installation.launch(command.toArray(String[]::new));
    }

    /** The views of the guide: rows of shards that have left are hidden, or come through a gateway in the old database. */
    @Test
    void reportsSeeShardsThatHaveLeftThroughAGatewayOrNotAtAll() throws SQLException {
        for (int server = 0; server < 3; server++) {
            installation.execute(
                    server,
                    "DO $$BEGIN CREATE ROLE old_reports LOGIN PASSWORD 'secret'; EXCEPTION WHEN duplicate_object THEN END$$; GRANT pg_read_all_data TO old_reports");
        }
        cutOver(ShardSet.of(3));
        installation.execute(0, "UPDATE shard_0003.users SET name = 'later' WHERE id = 11");
        Cli.Result deployed = installation.launch(
                "gateway", "deploy", "--on=" + installation.url(OLD), "--reader=old_reports", "--for=old_reports");
        assertThat(deployed.exitCode()).as(deployed.toString()).isZero();
        installation.execute(OLD, """
                CREATE SCHEMA reports;
                CREATE VIEW reports.still_here WITH (security_invoker) AS SELECT id, name FROM shop.users
                 WHERE shards.shard_of_uid(id) <> ALL ((SELECT shardflake_adopt.shards_over())::integer[]);
                CREATE VIEW reports.users WITH (security_invoker) AS SELECT * FROM reports.still_here UNION ALL SELECT id, name FROM shards.users
                 WHERE shard = ANY ((SELECT shardflake_adopt.shards_over())::integer[]);
                GRANT USAGE ON SCHEMA reports TO old_reports; GRANT SELECT ON ALL TABLES IN SCHEMA reports TO old_reports;
                """);
        String others = installation.query(
                OLD, "SELECT string_agg(id || ' ' || name, ',' ORDER BY id) FROM shop.users WHERE id % 8 <> 3");

        assertThat(asReports("SELECT string_agg(id || ' ' || name, ',' ORDER BY id) FROM reports.still_here"))
                .isEqualTo(others);
        assertThat(asReports(
                        "SELECT string_agg(id || ' ' || name, ',' ORDER BY id) FROM reports.users WHERE id % 8 <> 3"))
                .isEqualTo(others);
        assertThat(asReports("SELECT count(*) || ' ' || max(name) FILTER (WHERE id = 11) FROM reports.users"))
                .isEqualTo(installation.query(OLD, "SELECT count(*) || ' later' FROM shop.users"));
    }

    private String asReports(String sql) throws SQLException {
        try (Connection connection = postgres.database(OLD).connect();
                Statement statement = connection.createStatement()) {
            statement.execute("SET ROLE old_reports");
            try (ResultSet row = statement.executeQuery(sql)) {
                row.next();
                return row.getString(1);
            }
        }
    }

    @Test
    void aFenceCanBeTakenAwayWhileNothingHasLeft() throws SQLException {
        try (DatabaseAdopter adopter = adopter(AdoptListener.NONE)) {
            adopter.cutOver(ShardSet.of());
            adopter.cancel();
        }
        assertThat(installation.query(OLD, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'shardflake%'"))
                .isEqualTo("0");
        assertThat(installation.query(OLD, "SELECT count(*) FROM pg_trigger WHERE tgname LIKE '%shardflake%'"))
                .isEqualTo("0");
    }
}
