/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.ShardRouter;

/** Moves under load: no write lost, none doubled, no error, and what the writers notice of it. */
@Tag("full")
class MoverIT {

    private static final int THREADS = 8;
    private static final int SHARDS = 56;

    /** 70,000 rows inserted, 15,000 of them changed and 5,000 deleted: 90,000 writes. */
    private static final String WRITES = """
            INSERT INTO %1$s.tag SELECT -1, 'n' || g FROM generate_series(1, 70000) g;
            UPDATE %1$s.tag SET name = 'm' || substr(name, 2) WHERE account_id = -1 AND substr(name, 2)::integer <= 15000;
            DELETE FROM %1$s.tag WHERE account_id = -1 AND substr(name, 2)::integer > 65000;
            """;

    /** 65,000 rows, and the sum of 1 to 65,000, each modulo 7. */
    private static final long EXPECTED = 65_000L * 1_000_000 + 195_000;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    @Test
    void aHundredCutoversUnderLoadLoseNothingAndFailNothing() throws Exception {
        ShardSet moving = ShardSet.range(0, 49);
        AccountShards shards = AccountShards.create(postgres, 2, SHARDS, directory);
        AtomicInteger attemptsGivenUp = new AtomicInteger();
        Mover mover = shards.mover(MoveSettings.DEFAULT, new MoveListener() {
            @Override
            public void attemptFailed(int shard, String reason) {
                attemptsGivenUp.incrementAndGet();
            }
        });
        try (ShardRouter router = shards.router().build()) {
            AccountLoad load = AccountLoad.start(router, ShardSet.range(0, SHARDS - 1), THREADS, 25);
            try (PauseProber prober = new PauseProber(load)) {
                load.awaitMore(2000);
                long id = mover.follow(mover.record("db1", "db2", moving, "").id())
                        .id();
                for (int shard : moving.stream().toArray()) {
                    prober.during(shard, () -> mover.cutOver(id, ShardSet.of(shard)));
                }
                load.awaitMore(2000);
                for (int shard : moving.stream().toArray()) {
                    prober.during(shard, () -> mover.reverse(id, ShardSet.of(shard)));
                }
                load.awaitMore(1000);
                mover.cutOver(id, moving);
                assertThat(mover.verify(id, moving)).isEmpty();
                mover.complete(id);
                load.awaitMore(1000);
                System.out.printf(
                        "%s; %,d transactions, %s attempts given up%n",
                        prober, load.acknowledged(), attemptsGivenUp.get());
            } finally {
                load.close();
            }
            assertThat(load.failures()).isEmpty();
            assertThat(load.compare(shards)).isEmpty();
        }
        assertThat(shards.leftovers("db1")).isZero();
        assertThat(shards.leftovers("db2")).isZero();
        assertThat(shards.number("db1", "SELECT count(*) FROM pg_namespace WHERE nspname ~ '^shard_'"))
                .isEqualTo(SHARDS - moving.size());
        assertThat(shards.catalogNumber("SELECT count(*) FROM shardflake_catalog.move_shard"))
                .isZero();
    }

    /** 100 writes a second are 360,000 in an hour; here they come at once, between two cutovers under load. */
    @Test
    void anHoursWorthOfWritesOnTheTargetComesBack() throws Exception {
        AccountShards shards = AccountShards.create(postgres, 2, SHARDS, directory);
        Mover mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        ShardSet moving = ShardSet.range(0, 3);
        try (ShardRouter router = shards.router().build()) {
            AccountLoad load = AccountLoad.start(router, ShardSet.range(0, 7), THREADS, 25);
            try {
                load.awaitMore(1000);
                long id = mover.follow(mover.record("db1", "db2", moving, "").id())
                        .id();
                mover.cutOver(id, moving);
                for (int shard : moving.stream().toArray()) {
                    shards.execute("db2", WRITES.formatted(Sharding.schema(shard)));
                }
                load.awaitMore(1000);
                mover.reverse(id, moving);
                load.awaitMore(1000);
                mover.cancel(id, Mover.End.BACK);
            } finally {
                load.close();
            }
            assertThat(load.failures()).isEmpty();
            assertThat(load.compare(shards)).isEmpty();
        }
        for (int shard : moving.stream().toArray()) {
            assertThat(shards.number(
                            "db1",
                            String.format(
                                    Locale.ROOT,
                                    "SELECT count(*) * 1000000 + sum(substr(name, 2)::integer %% 7) FROM shard_%04d.tag WHERE account_id = -1",
                                    shard)))
                    .as("shard %s", shard)
                    .isEqualTo(EXPECTED);
        }
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
    }
}
