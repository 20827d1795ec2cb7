/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.ShardSet;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.move.exception.CopiesDifferException;
import org.shardflake.move.exception.MoveException;

/** A copy that differs is not opened, and does not overwrite what it was made from. */
class ComparedBeforeCutoverTest {

    private static final String PAST_THE_FENCE = "SET session_replication_role = replica;";
    private static final String CHANGELOG = """
            --liquibase formatted sql
            --changeset ann:reading
            CREATE TABLE reading (id bigint PRIMARY KEY, uid bigint NOT NULL, v double precision, note text);
            --changeset ann:none
            CREATE TABLE none (id bigint PRIMARY KEY, uid bigint NOT NULL);
            """;
    private static final String CHANGED =
            PAST_THE_FENCE + "UPDATE shard_0003.reading SET v = 0.3 WHERE note = 'n 7000'";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    @TempDir
    Path directory;

    private AccountShards shards;
    private Mover mover;

    @BeforeEach
    void create() throws Exception {
        shards = AccountShards.create(postgres, 2, 8, directory, CHANGELOG);
        mover = shards.mover(MoveSettings.DEFAULT, MoveListener.NONE);
        for (int shard = 3; shard < 5; shard++) {
            shards.execute(
                    "db1",
                    "INSERT INTO shard_000%1$s.reading (uid, v, note) SELECT %1$s, 0.30000000000000004, 'n ' || n FROM generate_series(1, 20000) n"
                            .formatted(shard));
        }
    }

    private long follow() {
        return mover.follow(
                        mover.record("db1", "db2", ShardSet.parse("3-4"), "").id())
                .id();
    }

    private long exactOnTheSource() throws SQLException {
        return shards.number("db1", "SELECT count(*) FROM shard_0003.reading WHERE v = 0.30000000000000004");
    }

    private String server(int shard) throws SQLException {
        return shards.catalog().load().server(shard).name();
    }

    /** Executes something on a server at the first of some steps. */
    private Mover at(MoveStep when, String server, String sql) {
        AtomicBoolean armed = new AtomicBoolean(true);
        return shards.mover(MoveSettings.DEFAULT, new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                if (step == when && armed.getAndSet(false)) {
                    try {
                        shards.execute(server, sql);
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                }
            }
        });
    }

    @Test
    void aCopyThatDiffersIsNotOpened() throws SQLException {
        long id = follow();
        shards.execute("db2", PAST_THE_FENCE + """
                UPDATE shard_0003.reading SET v = 0.3 WHERE note = 'n 7000';
                DELETE FROM shard_0003.reading WHERE note = 'n 9000';
                INSERT INTO shard_0003.reading SELECT max(id) + (1 << 23), 3 FROM shard_0003.reading
                """);

        for (int attempt = 0; attempt < 2; attempt++) {
            assertThatThrownBy(() -> mover.cutOver(id, ShardSet.parse("3-4")))
                    .isInstanceOfSatisfying(CopiesDifferException.class, e -> {
                        assertThat(e.kind()).isEqualTo(MoveException.Kind.VERIFICATION);
                        assertThat(e.getMessage())
                                .startsWith("the copy of shard 3 on db2 differs, so it was not cut over: db1 has");
                        assertThat(e.differences()).containsOnlyKeys(3);
                        assertThat(e.differences().getOrDefault(3, List.of()))
                                .singleElement()
                                .satisfies(table -> {
                                    assertThat(table.different()).hasSize(1);
                                    assertThat(table.missing()).hasSize(1);
                                    assertThat(table.extra()).hasSize(1);
                                });
                    });
        }

        assertThat(server(3)).isEqualTo("db1");
        assertThat(mover.move(id).shard(3).verified()).isEqualTo(Verified.DIFFERENT);
        assertThat(exactOnTheSource()).isEqualTo(20000);
        shards.execute("db1", "UPDATE shard_0003.reading SET uid = uid WHERE note = 'n 7000'");
        mover.cancel(id, Mover.End.BACK);
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
    }

    /** What changes what is applied differs as well, in the rows that were written since. */
    @Test
    @Tag("full")
    void aCopyThatATriggerChangesIsNotOpened() throws SQLException {
        long id = follow();
        shards.execute("db2", """
                CREATE FUNCTION shard_0003.round() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.v := 0.3; RETURN NEW; END';
                CREATE TRIGGER round BEFORE UPDATE ON shard_0003.reading FOR EACH ROW EXECUTE FUNCTION shard_0003.round();
                ALTER TABLE shard_0003.reading ENABLE ALWAYS TRIGGER round
                """);
        shards.execute("db1", "UPDATE shard_0003.reading SET note = 'new' WHERE note = 'n 7000'");

        assertThat(mover.verify(id, ShardSet.of(3))).containsOnlyKeys(3);
        shards.execute("db2", "DROP FUNCTION shard_0003.round() CASCADE");
        assertThatThrownBy(() -> mover.cutOver(id, ShardSet.of(3))).isInstanceOf(CopiesDifferException.class);
        shards.execute("db1", "UPDATE shard_0003.reading SET note = 'newer' WHERE note = 'new'");

        mover.cutOver(id, ShardSet.of(3));

        assertThat(server(3)).isEqualTo("db2");
    }

    /** It is found when the shard has been opened, and its good row is the source's only. */
    @Test
    void whatIsChangedBetweenComparisonAndCutoverDoesNotComeBack() throws SQLException {
        changeBetweenComparisonAndCutover(CHANGED);
    }

    /** As many rows, and all of the rest are as they were. */
    @Test
    @Tag("full")
    void aRowThatIsExchangedBetweenComparisonAndCutoverDoesNotComeBack() throws SQLException {
        changeBetweenComparisonAndCutover(
                PAST_THE_FENCE
                        + "UPDATE shard_0003.reading SET id = (SELECT max(id) + (1 << 23) FROM shard_0003.reading) WHERE note = 'n 7000'");
    }

    private void changeBetweenComparisonAndCutover(String difference) throws SQLException {
        long id = follow();
        AtomicBoolean armed = new AtomicBoolean(true);
        Mover writing = shards.mover(MoveSettings.DEFAULT, new MoveListener() {
            @Override
            public void reached(MoveStep step) {
                try {
                    if (step == MoveStep.FOUND_EQUAL && armed.getAndSet(false)) {
                        shards.execute("db2", difference);
                    }
                    if (step == MoveStep.OPENED) {
                        // The application, which changes another column.
                        shards.execute("db2", "UPDATE shard_0003.reading SET note = 'seen' WHERE note = 'n 7000'");
                    }
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
            }
        });

        assertThatThrownBy(() -> writing.cutOver(id, ShardSet.parse("3-4")))
                .hasMessage("copies of shard 3 differed at their cutover, and no more were cut over")
                .isInstanceOfSatisfying(
                        CopiesDifferException.class,
                        e -> assertThat(e.hint().orElseThrow()).startsWith("db1 does not follow any more"));
        assertThat(mover.move(id).problem())
                .as("where one looks later")
                .contains("differed at their cutover", "shardflake move verify " + id);

        assertThat(server(4)).isEqualTo("db1");
        assertThatThrownBy(() -> mover.cutOver(id, ShardSet.of(4))).isInstanceOf(CopiesDifferException.class);
        assertThatThrownBy(() -> mover.cancel(id, Mover.End.KEPT)).isInstanceOf(CopiesDifferException.class);
        mover.settle(id);
        assertThat(exactOnTheSource()).isEqualTo(20000);
        assertThat(shards.number("db1", "SELECT count(*) FROM shard_0003.reading WHERE note = 'n 7000'"))
                .isOne();

        // As the message says.
        shards.execute("db2", "DELETE FROM shard_0003.reading WHERE note = 'seen'");
        shards.execute("db1", PAST_THE_FENCE + "DELETE FROM shard_0003.reading WHERE note = 'n 7000'");
        assertThat(mover.verify(id, ShardSet.of(3))).isEmpty();
        mover.cutOver(id, ShardSet.of(4));
        mover.complete(id);
        assertThat(shards.leftovers("db1") + shards.leftovers("db2")).isZero();
    }

    @Test
    @Tag("full")
    void theWayBackIsOpenWhenCopiesDiffered() throws SQLException {
        long id = follow();
        Mover writing = at(MoveStep.FOUND_EQUAL, "db2", CHANGED);
        assertThatThrownBy(() -> writing.cutOver(id, ShardSet.of(3))).isInstanceOf(CopiesDifferException.class);
        shards.execute("db2", "INSERT INTO shard_0003.none (uid) VALUES (3)");

        assertThatThrownBy(() -> mover.reverse(id, ShardSet.of(3))).isInstanceOf(CopiesDifferException.class);

        assertThat(server(3)).isEqualTo("db1");
        assertThat(exactOnTheSource()).isEqualTo(20000);
        assertThat(shards.number("db1", "SELECT count(*) FROM shard_0003.none")).isOne();
        mover.cancel(id, Mover.End.BACK);
    }

    /** Rows that were written between the two are compared by their keys, and deleted ones by what is left. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "UPDATE shard_0003.reading SET note = 'late' WHERE uid = 3 AND note LIKE 'n 7%'",
                "DELETE FROM shard_0003.reading WHERE note LIKE 'n 7%'",
                "INSERT INTO shard_0003.reading (uid, note) SELECT 3, 'late' FROM generate_series(1, 30000)",
                "ALTER TABLE shard_0003.reading ALTER note SET STATISTICS 7"
            })
    @Tag("full")
    void whatTheShardsWritersChangeBetweenComparisonAndCutoverIsEqual(String write) throws SQLException {
        long id = follow();

        at(MoveStep.FOUND_EQUAL, "db1", write).cutOver(id, ShardSet.of(3));

        assertThat(server(3)).isEqualTo("db2");
        assertThat(mover.move(id).shard(3).verified()).isEqualTo(Verified.AT_CUTOVER);
    }
}
