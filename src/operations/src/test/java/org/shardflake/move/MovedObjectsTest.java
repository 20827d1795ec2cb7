/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.SQLException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;

/** What stands between the tables of a shard: partitions, foreign keys at every depth, materialized views, publications of everything. */
class MovedObjectsTest {

    private static final String CHANGELOG = """
            --liquibase formatted sql
            --changeset ann:account
            CREATE TABLE account (id bigint PRIMARY KEY, uid bigint NOT NULL);
            CREATE TABLE visit (
                id bigint NOT NULL DEFAULT next_id(), day integer NOT NULL, account_id bigint NOT NULL REFERENCES account, before_id bigint, PRIMARY KEY (id, day),
                FOREIGN KEY (before_id, day) REFERENCES visit (id, day)) PARTITION BY RANGE (day);
            CREATE TABLE visit_early PARTITION OF visit FOR VALUES FROM (0) TO (10) PARTITION BY LIST (day);
            CREATE TABLE visit_early_even PARTITION OF visit_early FOR VALUES IN (0, 2, 4, 6, 8);
            CREATE TABLE visit_early_odd PARTITION OF visit_early DEFAULT;
            CREATE TABLE visit_late PARTITION OF visit DEFAULT;
            CREATE TABLE page (
                id bigint NOT NULL DEFAULT next_id(), day integer NOT NULL, visit_id bigint NOT NULL, PRIMARY KEY (id, day),
                FOREIGN KEY (visit_id, day) REFERENCES visit (id, day)) PARTITION BY RANGE (day);
            CREATE TABLE page_early PARTITION OF page FOR VALUES FROM (0) TO (10);
            CREATE TABLE page_late PARTITION OF page DEFAULT;
            CREATE TABLE note (id bigint PRIMARY KEY, page_id bigint, day integer, FOREIGN KEY (page_id, day) REFERENCES page (id, day));
            CREATE MATERIALIZED VIEW per_day AS SELECT day, count(*) AS visits FROM visit GROUP BY day;
            CREATE MATERIALIZED VIEW in_all AS SELECT sum(visits) AS visits FROM per_day;
            CREATE MATERIALIZED VIEW unused AS SELECT count(*) FROM note WITH NO DATA;
            """;

    private static final String ROWS = """
            SET search_path = shard_0001, public;
            INSERT INTO account (uid) SELECT 1 + 4 * n FROM generate_series(1, 1000) n;
            INSERT INTO visit (day, account_id) SELECT n % 20, (SELECT min(id) FROM account) FROM generate_series(1, 200) n;
            UPDATE visit SET before_id = id WHERE day % 3 = 0;
            INSERT INTO page (day, visit_id) SELECT day, id FROM visit;
            INSERT INTO note (page_id, day) SELECT id, day FROM page WHERE day % 2 = 1;
            REFRESH MATERIALIZED VIEW per_day;
            REFRESH MATERIALIZED VIEW in_all""";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private AccountShards shards;
    private Mover mover;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.create(postgres, 2, 4, directory, CHANGELOG);
        mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        shards.execute("db1", ROWS);
    }

    @Test
    void partitionedTablesWithForeignKeysAndPublicationsOfEverything() throws SQLException {
        for (String server : new String[] {"db1", "db2"}) {
            shards.execute(server, "CREATE PUBLICATION everything FOR ALL TABLES");
        }
        ShardSet moving = ShardSet.of(1);
        Move move = mover.record("db1", "db2", moving, "");
        interruptWhenCopied(move);

        assertThat(mover.follow(move.id()).phase()).isEqualTo(MovePhase.FOLLOWING);

        // Populated while the shard follows, so that no query on the target ever fails.
        assertThat(shards.number("db2", "SELECT visits FROM shard_0001.in_all")).isEqualTo(200);
        assertThat(shards.number(
                        "db2", "SELECT count(*) FROM pg_matviews WHERE schemaname = 'shard_0001' AND ispopulated"))
                .isEqualTo(2);
        mover.cutOver(move.id(), moving);
        shards.execute(
                "db2",
                "DELETE FROM shard_0001.note; INSERT INTO shard_0001.note (page_id, day) SELECT id, day FROM shard_0001.page");
        mover.reverse(move.id(), moving);
        assertThat(shards.number("db1", "SELECT count(*) FROM shard_0001.note")).isEqualTo(200);
        mover.cutOver(move.id(), moving);
        mover.complete(move.id());

        assertThat(shards.leftovers("db1")).isZero();
        assertThat(shards.leftovers("db2")).isZero();
        assertThat(mover.moves()).isEmpty();
        mover.cancel(copiedTo("db1", moving).id(), Mover.End.BACK);
    }

    /** In parts, and the first of them is kept. */
    @Test
    @Tag("full")
    void partitionedTablesWithForeignKeysInParts() throws SQLException {
        ShardSet moving = ShardSet.of(1);
        Mover parted = shards.mover(AccountShards.inParts(1024), MoveListener.NONE);
        Move move = mover.record("db1", "db2", moving, "");
        Mover interrupted = shards.mover(AccountShards.inParts(1024), stopAt(MoveStep.PART_COPIED));
        assertThatThrownBy(() -> interrupted.follow(move.id())).hasMessage("stopped by the test");
        shards.execute("db1", "DELETE FROM shard_0001.note; UPDATE shard_0001.visit SET before_id = NULL");

        assertThat(parted.follow(move.id()).phase()).isEqualTo(MovePhase.FOLLOWING);

        assertThat(mover.verify(move.id(), moving)).isEmpty();
        mover.cutOver(move.id(), moving);
        mover.complete(move.id());
    }

    @Test
    void aMoveThatHasNotBegunCanBeCancelled() throws SQLException {
        Move move = mover.record("db1", "db2", ShardSet.of(1), "");

        mover.cancel(move.id(), Mover.End.BACK);

        assertThat(mover.moves()).isEmpty();
        assertThat(shards.number("db1", "SELECT count(*) FROM shardflake.move_claim"))
                .isZero();
    }

    private Move copiedTo(String target, ShardSet moving) throws SQLException {
        return mover.follow(mover.record("db2", target, moving, "").id());
    }

    private void interruptWhenCopied(Move move) {
        Mover interrupted = shards.mover(MoveSettings.DEFAULT, stopAt(MoveStep.SHARD_COPIED));
        assertThatThrownBy(() -> interrupted.follow(move.id())).hasMessage("stopped by the test");
    }

    private static MoveListener stopAt(MoveStep wanted) {
        return new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                if (step == wanted) {
                    throw new IllegalStateException("stopped by the test");
                }
            }
        };
    }
}
