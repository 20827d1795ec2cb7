/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.restore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.ThrowableAssertAlternative;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.move.AccountShards;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.MoveStep;
import org.shardflake.move.Mover;
import org.shardflake.restore.RestorePoint.Place;
import org.shardflake.server.ServerUrl;

/** Restore points of servers db1 and db2 with 4 shards, all on db1, and a catalog on a third server. */
class RestorePointsTest {

    private static final Duration SHORT = Duration.ofMillis(300);

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    static Path directory;

    private AccountShards shards;
    private RestorePoints points;
    private final List<String> warnings = new ArrayList<>();

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, 2, 4, directory);
        points = new RestorePoints(catalogUrl(), server -> shards.url(server.name()));
    }

    private ServerUrl catalogUrl() {
        return ServerUrl.parse(postgres.database(2).uri());
    }

    private RestorePoint make(String name) {
        return points.make(name, Duration.ofSeconds(30), warnings::add);
    }

    private ThrowableAssertAlternative<ShardflakeException> refuses(Kind kind, String name) {
        return assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> points.make(name, SHORT, warnings::add))
                .satisfies(e -> assertThat(e.kind()).isEqualTo(kind));
    }

    private Move follow() {
        Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        Move move = mover.beginOrResume("db1", "db2", ShardSet.of(1, 2), "a test");
        return mover.follow(move.id());
    }

    @Test
    void everyServerAndTheCatalogHaveThePoint() {
        RestorePoint made = make("a");

        assertThat(made.isComplete()).isTrue();
        assertThat(made.places()).extracting(Place::server).containsExactly("db1", "db2", RestorePoint.CATALOG);
        assertThat(made.places()).allSatisfy(place -> {
            assertThat(place.timeline()).isEqualTo(1);
            assertThat(Timeline.position(place.lsn())).isPositive();
            assertThat(place.identity()).isNotEmpty();
        });
        assertThat(made.mapVersion()).isEqualTo(shards.catalog().version());
        RestorePoint next = make("b");
        assertThat(points.list()).containsExactly(next, made);
        assertThat(warnings).contains("archive_mode is off on db1: its write-ahead log must be kept in another way");
    }

    /** Recovery stops at the first of a name, which on a shared server is before the catalog has the record. */
    @Test
    void databasesOfOneServerShareOnePoint() throws Exception {
        String url = postgres.database(2).server().uri("postgres");
        shards.executeInCatalog(
                "INSERT INTO shardflake_catalog.server (name, url) VALUES ('db3', '%s')".formatted(url));
        points = new RestorePoints(
                catalogUrl(), server -> server.name().equals("db3") ? ServerUrl.parse(url) : shards.url(server.name()));

        List<Place> places = make("shared").places();
        assertThat(places).extracting(Place::server).containsExactly("db1", "db2", "db3", RestorePoint.CATALOG);
        assertThat(places.get(2).lsn()).isEqualTo(places.get(3).lsn());
        assertThat(places.get(2).madeAt()).isEqualTo(places.get(3).madeAt());
    }

    @Test
    void aNameIsUsedOnce() {
        RestorePoint first = make("release");

        refuses(Kind.PRECONDITION, "release").withMessageContaining("there is a restore point release already");
        assertThat(points.list()).containsExactly(first);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "two words", "-x", "it's", "ä"})
    void aNameIsRefused(String name) {
        refuses(Kind.USAGE, name).withMessageContaining("is not a name for a restore point");
    }

    @Test
    void aRoleWithoutThePrivilegeIsToldWhatToGrant() throws SQLException {
        shards.executeInCatalog("""
                DO $$ BEGIN CREATE ROLE keeper LOGIN PASSWORD 'keeper'; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
                GRANT USAGE ON SCHEMA shardflake_catalog TO keeper;
                GRANT ALL ON ALL TABLES IN SCHEMA shardflake_catalog TO keeper;
                REVOKE EXECUTE ON FUNCTION pg_create_restore_point(text) FROM keeper;
                """);
        ServerUrl keeper = ServerUrl.parse(postgres.database(2).uri().replaceFirst("//[^@]*@", "//keeper:keeper@"));
        points = new RestorePoints(keeper, server -> shards.url(server.name()));

        refuses(Kind.PRECONDITION, "x")
                .withMessage("role keeper may not make restore points on catalog")
                .satisfies(
                        e -> assertThat(e.hint())
                                .hasValue(
                                        "as a superuser, in that database: GRANT EXECUTE ON FUNCTION pg_create_restore_point(text) TO keeper"));
        shards.executeInCatalog("GRANT EXECUTE ON FUNCTION pg_create_restore_point(text) TO keeper");
        assertThat(make("x").isComplete()).isTrue();
    }

    @Test
    void aCutoverIsWaitedFor() throws SQLException {
        Move move = follow();
        shards.executeInCatalog("UPDATE shardflake_catalog.move_shard SET phase = 'cutting over' WHERE shard = 2");

        refuses(Kind.PRECONDITION, "x").withMessageContaining("move %s is cutting over shard 2".formatted(move.id()));
        assertThat(points.list()).isEmpty();
        shards.executeInCatalog("UPDATE shardflake_catalog.move_shard SET phase = 'copied' WHERE shard = 2");
        assertThat(make("x").isComplete()).isTrue();
        assertThat(warnings)
                .contains(
                        "move %s is in progress; its replication is not restored, so it will have to be cancelled then"
                                .formatted(move.id()));
    }

    @ParameterizedTest
    @ValueSource(strings = {"completing", "cancelling"})
    @Tag("full")
    void theEndOfAMoveIsWaitedFor(String phase) throws SQLException {
        Move move = follow();
        shards.executeInCatalog("UPDATE shardflake_catalog.move SET phase = '%s'".formatted(phase));

        refuses(Kind.PRECONDITION, "x").withMessageContaining("move %s is %s".formatted(move.id(), phase));
        assertThat(points.list()).isEmpty();
    }

    /** The map says so already, and the target is not open yet. */
    @Test
    @Tag("full")
    void aShardThatIsClosedWhereTheMapHasItIsWaitedFor() throws SQLException {
        follow();
        shards.execute("db1", "SELECT shardflake.fence_shard(1)");

        refuses(Kind.PRECONDITION, "x").withMessageContaining("a move has shard 1 closed on db1");
        assertThat(points.list()).isEmpty();
        shards.execute("db1", "SELECT shardflake.unfence_shard(1)");
        assertThat(make("x").isComplete()).isTrue();
    }

    @Test
    void aChangeOfTheMapIsWaitedFor() throws SQLException {
        try (Connection connection = postgres.database(2).connect()) {
            connection.setAutoCommit(false);
            connection
                    .createStatement()
                    .execute("UPDATE shardflake_catalog.server SET labels = '{\"a\": \"b\"}' WHERE name = 'db2'");
            refuses(Kind.PRECONDITION, "x").withMessageContaining("someone else changes the catalog");
            connection.rollback();
        }
        assertThat(make("x").isComplete()).isTrue();
    }

    /** A cutover that begins meanwhile waits before it raises its fence, so that no writer waits with it. */
    @Test
    void aCutoverBeginsAfterThePoint() throws Exception {
        Move move = follow();
        ExecutorService thread = Executors.newSingleThreadExecutor();
        List<MoveStep> steps = new ArrayList<>();
        MoveListener listener = new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                steps.add(step);
            }
        };
        try (Connection lock = postgres.database(2).connect();
                Connection db1 = shards.database("db1").connect();
                Connection db2 = shards.database("db2").connect()) {
            Future<?> cutover;
            try (QuietMoment moment = QuietMoment.await(lock, Map.of("db1", db1, "db2", db2), Duration.ofSeconds(30))) {
                cutover = thread.submit(
                        () -> shards.mover(MoveSettings.DEFAULT, listener).cutOver(move.id(), ShardSet.of(1)));
                await().atMost(Duration.ofSeconds(60))
                        .until(() -> shards.catalogNumber(
                                        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation::regclass::text LIKE 'shardflake_catalog.move%'")
                                > 0);
                assertThat(shards.number("db1", "SELECT shardflake.is_fenced(1)::integer"))
                        .isZero();
                assertThat(steps).isEmpty();
            }
            cutover.get(2, TimeUnit.MINUTES);
        } finally {
            thread.shutdownNow();
        }
        assertThat(shards.catalog().load().server(1).name()).isEqualTo("db2");
    }

    /** Stopped after the point of db1 was recorded, and before db2 and the catalog have one. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2})
    @Tag("full")
    void aServerThatFailsBetweenThePointsOfTheServersMakesItIncompleteAndTheNextIsMade(int failing) throws Exception {
        PostgresServer server = postgres.database(failing).server();
        assumeTrue(server.canRestart(), "the server cannot be killed");
        shards.executeInCatalog("""
                CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END';
                CREATE TRIGGER wait BEFORE INSERT ON shardflake_catalog.restore_point_server FOR EACH ROW WHEN (NEW.server = 'db1') EXECUTE FUNCTION wait()
                """);
        ExecutorService thread = Executors.newSingleThreadExecutor();
        try (Connection lock = postgres.database(2).connect()) {
            lock.createStatement().execute("SELECT pg_advisory_lock(7)");
            Future<RestorePoint> making = thread.submit(() -> make("half"));
            await().atMost(Duration.ofSeconds(60))
                    .until(() -> shards.catalogNumber(
                                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
                            == 1);
            server.crash();
            if (failing != 2) {
                lock.createStatement().execute("SELECT pg_advisory_unlock(7)");
            }
            String name = failing == 2 ? "the catalog" : "db" + (failing + 1);
            assertThatThrownBy(() -> making.get(2, TimeUnit.MINUTES))
                    .cause()
                    .isInstanceOf(ShardflakeException.class)
                    .hasMessageContaining("restore point half is incomplete: " + name)
                    .satisfies(e -> assertThat(((ShardflakeException) e).kind()).isEqualTo(Kind.PARTLY_DONE));
        } finally {
            thread.shutdownNow();
            server.start();
        }
        shards.executeInCatalog("DROP FUNCTION wait CASCADE");

        assertThat(points.list())
                .singleElement()
                .satisfies(point -> assertThat(point.isComplete()).isFalse());
        assertThat(make("whole").isComplete()).isTrue();
        Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        mover.carryOut(mover.beginOrResume("db1", "db2", ShardSet.of(1), "a test"), false);
        assertThat(shards.catalog().load().server(1).name()).isEqualTo("db2");
    }

    /** Cutovers may have come in between. */
    @Test
    void aPointWhoseLocksWereLostIsIncomplete() throws SQLException {
        shards.executeInCatalog("""
                CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
                    PERFORM pg_terminate_backend(pid, 5000) FROM pg_locks WHERE relation = ''shardflake_catalog.move''::regclass AND pid <> pg_backend_pid();
                    RETURN NEW;
                END';
                CREATE TRIGGER lose BEFORE INSERT ON shardflake_catalog.restore_point_server FOR EACH ROW WHEN (NEW.server = 'db1') EXECUTE FUNCTION lose()
                """);

        refuses(Kind.PARTLY_DONE, "lost").withMessageContaining("restore point lost is incomplete");

        assertThat(points.list())
                .singleElement()
                .satisfies(point -> assertThat(point.isComplete()).isFalse());
        shards.executeInCatalog("DROP FUNCTION lose CASCADE");
    }

    /** As after kill -9 between the servers. */
    @Test
    void anIncompletePointIsListedAndNotChecked() throws SQLException {
        shards.executeInCatalog(
                "INSERT INTO shardflake_catalog.restore_point (name, map_version, placements) VALUES ('half', 1, '')");

        assertThat(points.list())
                .singleElement()
                .satisfies(point -> assertThat(point.isComplete()).isFalse());
        assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> points.check("half"))
                .withMessage("restore point half is incomplete: not every server has it");
        refuses(Kind.PRECONDITION, "half").withMessageContaining("there is a restore point half already");
    }

    @Test
    void anUnknownPointIsNotChecked() {
        assertThatExceptionOfType(ShardflakeException.class)
                .isThrownBy(() -> points.check("none"))
                .withMessage("the catalog has no restore point none");
    }
}
