/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.watch;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.Server;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.grants.GrantScript;
import org.shardflake.grants.Grants.Work;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.AccountShards;
import org.shardflake.move.Move;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.MoveStatus;
import org.shardflake.move.Mover;
import org.shardflake.restore.RestorePoints;
import org.shardflake.server.ServerUrl;

/** 4 shards on db1, and db2 without any. */
class WatchTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    static Path directory;

    private final List<String> told = new ArrayList<>();
    private AccountShards shards;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, 2, 4, directory);
    }

    private Watch watch() {
        return watch(shards);
    }

    private Watch watch(AccountShards from) {
        return new Watch(from.catalogUrl(), server -> from.url(server.name()), told::add);
    }

    private Map<PlacementState, Integer> states(InstallationSnapshot snapshot, String server) {
        Server named = snapshot.map().server(server);
        Map<PlacementState, Integer> states = snapshot.shards(named);
        states.values().removeIf(count -> count == 0);
        return states;
    }

    private static ServerSnapshot db1(InstallationSnapshot snapshot) {
        return Objects.requireNonNull(snapshot.servers().get("db1"));
    }

    private static ServerSnapshot.Load load(ServerSnapshot seen, int shard) {
        return Objects.requireNonNull(seen.shards().get(shard)).load();
    }

    @Test
    void shardsAreOpenClosedMissingOrMisplaced() throws Exception {
        shards.execute("db1", "SELECT shardflake.fence_shard(1)");
        shards.execute("db1", "DROP SCHEMA shard_0002 CASCADE");
        shards.execute("db2", "SELECT shardflake.create_shard(3)");
        shards.execute("db2", "CREATE TABLE shard_0003.account (id bigint)");

        try (Watch watch = watch()) {
            InstallationSnapshot snapshot = watch.look();

            assertThat(states(snapshot, "db1"))
                    .isEqualTo(Map.of(PlacementState.OPEN, 2, PlacementState.CLOSED, 1, PlacementState.MISSING, 1));
            assertThat(states(snapshot, "db2")).isEqualTo(Map.of(PlacementState.MISPLACED, 1));
            assertThat(snapshot.state(0)).isEqualTo(PlacementState.OPEN);
            assertThat(told).isEmpty();
        }
    }

    @Test
    void whoeverDoesNotAnswerIsLeftOutAndComesBack() throws Exception {
        Map<String, ServerUrl> urls = new HashMap<>();
        urls.put("here", shards.url("db2"));
        urls.put("gone", ServerUrl.parse("postgresql://nobody@localhost:1/none"));
        try (Watch watch = new Watch(
                shards.catalogUrl(),
                server -> server.name().equals("db1")
                        ? shards.url("db1")
                        : Objects.requireNonNull(urls.get(server.labels().getOrDefault("at", "gone"))),
                told::add)) {
            assertThat(watch.look().servers()).containsOnlyKeys("db1");
            assertThat(watch.look().servers()).containsOnlyKeys("db1");
            assertThat(told)
                    .singleElement()
                    .asString()
                    .startsWith("server db2 does not answer: localhost:1: Connection refused");

            Server db2 = shards.catalog().load().server("db2");
            shards.catalog().changeServer(new Server("db2", db2.url(), db2.applicationUrl(), Map.of("at", "here")), "");
            watch.look(); // learns of the change

            assertThat(watch.look().servers()).containsOnlyKeys("db1", "db2");
            assertThat(told).last().isEqualTo("server db2 answers again");
        }
    }

    /** A server may have been asked while the shard was elsewhere. */
    @Test
    void aShardThatLeftAndCameBackSinceTheLastLookIsMoving() throws Exception {
        try (Watch watch = watch()) {
            assertThat(watch.look().state(0)).isEqualTo(PlacementState.OPEN);

            shards.catalog().place(ShardSet.of(0), "db2", "");
            shards.catalog().place(ShardSet.of(0), "db1", "");

            assertThat(watch.look().moving()).isEqualTo(ShardSet.of(0));
            assertThat(watch.look().state(0)).isEqualTo(PlacementState.OPEN);
        }
    }

    @Test
    void anExclusiveLockHoldsNothingUp() throws Exception {
        shards.execute("db1", "INSERT INTO shard_0000.account (uid) SELECT 0 FROM generate_series(1, 100)");
        try (Watch watch = watch();
                Connection other = shards.database("db1").connect()) {
            other.setAutoCommit(false);
            Sql.execute(other, "LOCK TABLE shard_0000.account IN ACCESS EXCLUSIVE MODE");

            ServerSnapshot seen = db1(watch.look());

            assertThat(load(seen, 0).tableBytes()).isEmpty();
            assertThat(load(seen, 1).tableBytes()).isPresent();
            other.rollback();
            assertThat(load(db1(watch.look()), 0).bytes()).isPositive();
        }
    }

    @Test
    void aSequenceAheadOfTheClockIsCounted() throws Exception {
        try (Watch watch = watch()) {
            assertThat(db1(watch.look()).sequencesAhead()).isZero();
            shards.execute(
                    "db1",
                    "SELECT setval('shard_0002.account_id_seq', shardflake.now_ticks() + 3600::bigint * 1000 * 1024)");

            ServerSnapshot seen = db1(watch.look());

            assertThat(seen.sequencesAhead()).isOne();
            assertThat(seen.aheadMillis()).isBetween(3_500_000L, 3_600_000L);
        }
    }

    @Test
    void aMoveIsAsItsStatusSays() throws Exception {
        shards.execute("db1", "INSERT INTO shard_0001.account (uid) SELECT 1 FROM generate_series(1, 100)");
        Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        Move move = mover.beginOrResume("db1", "db2", ShardSet.of(0, 1), "");
        mover.follow(move.id());
        try (Watch watch = watch()) {
            InstallationSnapshot snapshot = watch.look();

            Move seen = snapshot.moves().get(0);
            MoveStatus status = snapshot.status(seen).orElseThrow();
            MoveStatus told = mover.status(mover.move(move.id()));
            assertThat(status.move()).isEqualTo(told.move());
            assertThat(status.bytes()).isEqualTo(told.bytes());
            assertThat(status.forward().running()).isTrue();
            assertThat(states(snapshot, "db1")).isEqualTo(Map.of(PlacementState.OPEN, 2, PlacementState.MOVING, 2));
            assertThat(states(snapshot, "db2")).isEmpty();
            assertThat(snapshot.isComparing(seen)).isFalse();
            assertThat(snapshot.catalogIsStandby()).isFalse();
            assertThat(snapshot.lagMillis(seen, "forward")).isPresent();
            shards.execute("db1", "CREATE FUNCTION shard_0001.shardflake_seal() RETURNS void LANGUAGE sql AS 'SELECT'");
            assertThat(watch.look().isComparing(seen)).isTrue();
            shards.execute("db1", "DROP FUNCTION shard_0001.shardflake_seal()");
        } finally {
            mover.cancel(move.id(), Mover.End.BACK);
        }
    }

    @Test
    void theDoctorsRoleSeesAll() throws Exception {
        String role = "watcher_" + ProcessHandle.current().pid();
        everywhere("CREATE ROLE %s LOGIN PASSWORD 'watcher'".formatted(role));
        try {
            for (GrantScript script : GrantScript.forServers(
                    Map.of("db1", shards.url("db1"), "db2", shards.url("db2")), Work.DOCTOR, role)) {
                shards.execute(script.place(), script.sql());
            }
            shards.executeInCatalog(GrantScript.forCatalog(shards.catalogUrl(), Work.DOCTOR, role)
                    .sql());
            new RestorePoints(shards.catalogUrl(), server -> shards.url(server.name()))
                    .make("watched", Duration.ofMinutes(1), warning -> {});
            try (Watch all = watch();
                    Watch watch = watch(shards.as(role, "watcher"))) {
                InstallationSnapshot snapshot = watch.look();

                assertThat(told).isEmpty();
                assertThat(snapshot.shards(snapshot.map().server("db1")))
                        .isEqualTo(all.look().shards(snapshot.map().server("db1")));
                assertThat(db1(snapshot).libraryVersion()).isPositive();
                assertThat(snapshot.restorePoint()).isPresent();
            }
        } finally {
            everywhere("DROP OWNED BY %1$s; DROP ROLE %1$s".formatted(role));
        }
    }

    private void everywhere(String sql) throws SQLException {
        shards.execute("db1", sql);
        shards.execute("db2", sql);
        shards.executeInCatalog(sql);
    }
}
