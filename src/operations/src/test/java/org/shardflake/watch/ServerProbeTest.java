/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.watch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.AccountShards;
import org.shardflake.watch.ServerProbe.Portions;

/** 4 shards on db1, read in portions smaller than that. */
class ServerProbeTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    static Path directory;

    private AccountShards shards;
    private ServerProbe eye;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.createWithLibraries(postgres, 2, 4, directory);
        long epoch = shards.catalog().load().layout().epoch().toEpochMilli();
        eye = new ServerProbe(shards.url("db1"), epoch, new Portions(2, 3));
    }

    @AfterEach
    void close() {
        eye.end();
    }

    private ServerSnapshot look() throws SQLException {
        assertThat(eye.begin()).isTrue();
        return eye.look();
    }

    private static ServerSnapshot.Load load(ServerSnapshot seen, int shard) {
        return Objects.requireNonNull(seen.shards().get(shard)).load();
    }

    @Test
    void sizesAreReadPortionByPortion() throws SQLException {
        ServerSnapshot first = look();
        assertThat(load(first, 1).tableBytes()).isPresent();
        assertThat(load(first, 2).tableBytes()).isEmpty();

        ServerSnapshot second = look();
        assertThat(load(second, 0).tableBytes()).isPresent();
        assertThat(load(second, 3).tableBytes()).isPresent();

        shards.execute("db1", "INSERT INTO shard_0000.account (uid) SELECT 0 FROM generate_series(1, 1000)");
        shards.execute("db1", "DROP SCHEMA shard_0001 CASCADE");
        look(); // finds that there are no more
        ServerSnapshot again = look();
        assertThat(load(again, 0).bytes()).isGreaterThan(load(first, 0).bytes());
        assertThat(again.shards()).containsOnlyKeys(0, 2, 3);
    }

    @Test
    void aSizeThatCannotBeReadStaysWhatItWas() throws SQLException {
        shards.execute("db1", "INSERT INTO shard_0000.account (uid) SELECT 0 FROM generate_series(1, 1000)");
        long before = load(look(), 0).bytes();
        try (Connection other = shards.database("db1").connect()) {
            other.setAutoCommit(false);
            Sql.execute(other, "LOCK TABLE shard_0000.account IN ACCESS EXCLUSIVE MODE");

            for (int looks = 0; looks < 4; looks++) {
                assertThat(load(look(), 0).bytes()).isEqualTo(before).isPositive();
            }
        }
    }

    @Test
    void aLookThatWasAbortedIsFollowedByShorterOnes() throws SQLException {
        look();
        assertThat(eye.begin()).isTrue();
        eye.abort();
        assertThatThrownBy(eye::look).isInstanceOf(SQLException.class);

        assertThat(eye.sizesAtOnce()).isOne();
        assertThat(load(look(), 2).tableBytes()).isPresent();
        for (int looks = 0; looks < 20; looks++) {
            look();
        }
        assertThat(eye.sizesAtOnce()).isEqualTo(2);
    }

    @Test
    void aLockedIndexOrSequenceStaysWhatItWas() throws SQLException {
        shards.execute("db1", "INSERT INTO shard_0000.account (uid) SELECT 0 FROM generate_series(1, 1000)");
        shards.execute(
                "db1",
                "SELECT setval('shard_0000.account_id_seq', shardflake.now_ticks() + 3600::bigint * 1000 * 1024)");
        long before = load(look(), 0).bytes();
        look();
        for (String statement : List.of(
                "REINDEX TABLE shard_0000.account",
                "ALTER SEQUENCE shard_0000.account_id_seq RESTART",
                "LOCK TABLE shard_0000.account IN ACCESS EXCLUSIVE MODE")) {
            try (Connection other = shards.database("db1").connect()) {
                other.setAutoCommit(false);
                Sql.execute(other, statement);

                for (int looks = 0; looks < 4; looks++) {
                    ServerSnapshot seen = look();
                    assertThat(load(seen, 0).bytes()).as(statement).isEqualTo(before);
                    assertThat(seen.sequencesAhead()).as(statement).isOne();
                }
                other.rollback();
            }
        }
    }

    @Test
    void sequencesAreReadPortionByPortion() throws SQLException {
        String ahead =
                "SELECT setval('shard_000%s.account_id_seq', shardflake.now_ticks() + 3600::bigint * 1000 * 1024)";
        for (int shard = 0; shard < 4; shard++) {
            shards.execute("db1", ahead.formatted(shard));
        }
        int most = 0;
        for (int looks = 0; looks < 20; looks++) {
            most = Math.max(most, look().sequencesAhead());
        }
        assertThat(most).isEqualTo(4);

        shards.execute("db1", "SELECT setval('shard_0000.account_id_seq', shardflake.now_ticks())");
        shards.execute("db1", "DROP SCHEMA shard_0003 CASCADE");
        for (int looks = 0; looks < 20; looks++) {
            look();
        }
        assertThat(look().sequencesAhead()).isEqualTo(2);
    }
}
