/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.ShardRouter;

/** Moves without load, step by step. */
class MoverTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private final List<MoveStep> steps = new ArrayList<>();
    private AccountShards shards;
    private Mover mover;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.create(postgres, 2, 8, directory);
        mover = shards.mover(MoveSettings.DEFAULT, new MoveListener() {
            @Override
            public synchronized void reached(MoveStep step) {
                steps.add(step);
            }
        });
        for (int shard = 0; shard < 8; shard++) {
            shards.execute("db1", """
                    INSERT INTO shard_000%1$d.account (uid, balance, note) SELECT %1$d + 8 * n, n, repeat('x', 50) FROM generate_series(1, 1000) n;
                    INSERT INTO shard_000%1$d.entry (account_id, amount, key) SELECT id, balance, gen_random_uuid() FROM shard_000%1$d.account
                    """.formatted(shard));
        }
    }

    @AfterEach
    void drop() throws SQLException {
        shards.drop();
    }

    @Test
    void movesShardsAndLeavesNothingBehind() throws SQLException {
        ShardSet moving = ShardSet.parse("1-3,6");
        Move move = mover.create("db1", "db2", moving, "a test");
        move = mover.follow(move.id());
        assertThat(move.phase()).isEqualTo(MovePhase.FOLLOWING);
        assertThat(move.shards()).allSatisfy(shard -> assertThat(shard.rows()).isEqualTo(2000));
        assertThat(mover.verify(move.id(), moving)).isEmpty();

        move = mover.cutOver(move.id(), moving);
        assertThat(move.shards()).allSatisfy(shard -> {
            assertThat(shard.server()).isEqualTo("db2");
            assertThat(shard.verified()).isEqualTo("at cutover");
        });
        try (ShardRouter router = shards.router().build()) {
            router.run(9, tx -> {
                assertThat(tx.shard()).isEqualTo(1);
                tx.connection()
                        .createStatement()
                        .execute(tx.sql("INSERT INTO ${shard.schema}.account (uid) VALUES (9)"));
            });
        }
        assertThat(shards.number("db2", "SELECT count(*) FROM shard_0001.account"))
                .isEqualTo(1001);

        move = mover.reverse(move.id(), ShardSet.of(1));
        assertThat(shards.number("db1", "SELECT count(*) FROM shard_0001.account"))
                .isEqualTo(1001);
        move = mover.cutOver(move.id(), moving);
        mover.complete(move.id());

        assertThat(shards.leftovers("db1")).isZero();
        assertThat(shards.leftovers("db2")).isZero();
        assertThat(shards.number("db1", "SELECT count(*) FROM pg_namespace WHERE nspname ~ '^shard_'"))
                .isEqualTo(4);
        assertThat(mover.moves()).isEmpty();
    }

    @Test
    void cancelLeavesTheSourceAsItWas() throws SQLException {
        ShardSet moving = ShardSet.parse("0-7");
        Move move = mover.follow(mover.create("db1", "db2", moving, "").id());

        mover.cancel(move.id());

        assertThat(shards.leftovers("db1")).isZero();
        assertThat(shards.leftovers("db2")).isZero();
        assertThat(shards.number("db2", "SELECT count(*) FROM pg_namespace WHERE nspname ~ '^shard_'"))
                .isZero();
        shards.execute("db1", "INSERT INTO shard_0007.account (uid) VALUES (7)");
        assertThatThrownBy(() -> mover.move(move.id())).hasMessageContaining("there is no move " + move.id());
    }
}
