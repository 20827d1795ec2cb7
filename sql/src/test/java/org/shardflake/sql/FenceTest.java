/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.sql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.shardflake.sql.Shards.execute;
import static org.shardflake.sql.Shards.queryLong;
import static org.shardflake.sql.Shards.queryString;

import java.io.StringReader;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;
import org.postgresql.util.PSQLException;
import org.shardflake.cluster.PostgresExtension;

class FenceTest {

    private static final String COUNT = "SELECT count(*) FROM shard_0007.photo";

    private static final String TRIGGER =
            "SELECT tgenabled::text || ' ' || rtrim(encode(tgargs, 'escape'), '\\0') FROM pg_trigger WHERE tgrelid = 'shard_0007.photo'::regclass AND tgname = 'shardflake_fence'";

    @RegisterExtension
    static final PostgresExtension postgres =
            PostgresExtension.servers(1).prepareOnce("photos", Shards::deployWithPhotos);

    private Connection connection;

    @BeforeEach
    void addFence() throws SQLException {
        connection = postgres.database(0).connect();
        execute(
                connection,
                "SELECT shardflake.add_fence('shard_0007.photo')",
                "SELECT shardflake.unfence_shard(7)",
                "TRUNCATE shard_0007.photo",
                "INSERT INTO shard_0007.photo DEFAULT VALUES");
    }

    @AfterEach
    void close() throws SQLException {
        if (!connection.getAutoCommit()) {
            connection.rollback();
            connection.setAutoCommit(true);
        }
        execute(connection, "DROP TABLE IF EXISTS shard_0007.comment, public.elsewhere CASCADE");
        connection.close();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "INSERT INTO shard_0007.photo DEFAULT VALUES",
                "UPDATE shard_0007.photo SET uid = 8",
                "UPDATE shard_0007.photo SET uid = 8 WHERE false",
                "DELETE FROM shard_0007.photo",
                "TRUNCATE shard_0007.photo",
                "MERGE INTO shard_0007.photo p USING (SELECT 1) AS s ON false WHEN NOT MATCHED THEN INSERT (id) VALUES (1)",
                "INSERT INTO shard_0007.photo (id) VALUES (1) ON CONFLICT DO NOTHING"
            })
    void refusesWritesEvenToASuperuser(String sql) throws SQLException {
        execute(connection, "SELECT shardflake.fence_shard(7)");

        assertThatThrownBy(() -> execute(connection, sql))
                .hasMessageContaining("shard 7 takes no writes on this server")
                .isInstanceOfSatisfying(PSQLException.class, FenceTest::isFence);
        assertThat(queryLong(connection, COUNT)).isEqualTo(1);
    }

    @Test
    void refusesCopy() throws SQLException {
        execute(connection, "SELECT shardflake.fence_shard(7)");

        assertThatThrownBy(() -> connection
                        .unwrap(PGConnection.class)
                        .getCopyAPI()
                        .copyIn("COPY shard_0007.photo FROM STDIN", new StringReader("1\t7\n")))
                .isInstanceOfSatisfying(PSQLException.class, FenceTest::isFence);
    }

    @Test
    void refusesAStatementThatWasPreparedBefore() throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO shard_0007.photo (uid) VALUES (?)")) {
            insert.setLong(1, 7);
            for (int i = 0; i < 10; i++) {
                insert.execute();
            }
            try (Connection other = postgres.database(0).connect()) {
                execute(other, "SELECT shardflake.fence_shard(7)");
            }

            assertThatThrownBy(insert::execute).isInstanceOfSatisfying(PSQLException.class, FenceTest::isFence);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"})
    void refusesATransactionThatBeganBefore(String isolation) throws SQLException {
        execute(connection, "BEGIN ISOLATION LEVEL " + isolation, "SELECT 1 FROM pg_class LIMIT 1");
        try (Connection other = postgres.database(0).connect()) {
            execute(other, "SELECT shardflake.fence_shard(7)");
        }

        assertThatThrownBy(() -> execute(connection, "INSERT INTO shard_0007.photo DEFAULT VALUES"))
                .isInstanceOfSatisfying(PSQLException.class, FenceTest::isFence);
        execute(connection, "ROLLBACK");
    }

    /** Also when it is rolled back, or was up, or the server has come back as it was before. */
    @Test
    void everyFenceTakesANumberOfItsOwn() throws SQLException {
        String number = "SELECT last_value FROM shardflake.last_fence";
        long before = queryLong(connection, number);
        assertThat(queryLong(connection, "SELECT shardflake.require_open('shard_0007.id_seq')"))
                .isEqualTo(before);
        Set<Long> numbers = new HashSet<>();
        for (String end : List.of("ROLLBACK", "COMMIT", "COMMIT")) {
            execute(connection, "BEGIN", "SELECT shardflake.fence_shard(7)", end);
            numbers.add(queryLong(connection, number));
        }
        execute(
                connection,
                "SELECT shardflake.unfence_shard(7)",
                "SELECT setval('shardflake.last_fence', %s)".formatted(before),
                "SELECT shardflake.fence_shard(7)");
        numbers.add(queryLong(connection, number));

        assertThat(numbers).hasSize(4).doesNotContain(before);
    }

    /** What pg_restore --disable-triggers ends with, and what people do. */
    @ParameterizedTest
    @ValueSource(strings = {"USER", "ALL", "shardflake_fence"})
    void enablingTriggersRaisesNoFence(String triggers) throws SQLException {
        execute(connection, "ALTER TABLE shard_0007.photo ENABLE TRIGGER " + triggers);

        execute(connection, "INSERT INTO shard_0007.photo DEFAULT VALUES", "UPDATE shard_0007.photo SET uid = 7");
        assertThat(queryLong(connection, COUNT)).isEqualTo(2);
        assertThat(queryString(connection, "SELECT shardflake.is_fenced(7)")).isEqualTo("f");
        execute(connection, "TRUNCATE shard_0007.photo", "SELECT shardflake.complete_tables(7)");
        assertThat(queryString(connection, TRIGGER)).isEqualTo("D down");
    }

    @Test
    void aFenceThatGoesUpWhileItsTriggerIsEnabledHoldsForTransactionsThatBeganBefore() throws SQLException {
        execute(connection, "ALTER TABLE shard_0007.photo ENABLE TRIGGER USER");
        execute(connection, "BEGIN ISOLATION LEVEL SERIALIZABLE", "SELECT count(*) FROM shard_0007.photo");
        try (Connection other = postgres.database(0).connect()) {
            execute(other, "SELECT shardflake.fence_shard(7)");
        }

        assertThatThrownBy(() -> execute(connection, "INSERT INTO shard_0007.photo DEFAULT VALUES"))
                .isInstanceOfSatisfying(PSQLException.class, FenceTest::isFence);
        execute(connection, "ROLLBACK");
    }

    @Test
    void aFenceThatIsRolledBackIsDownForAll() throws SQLException {
        execute(connection, "ALTER TABLE shard_0007.photo ENABLE TRIGGER USER");

        execute(connection, "BEGIN", "SELECT shardflake.fence_tables(7, true)", "ROLLBACK");

        execute(connection, "INSERT INTO shard_0007.photo DEFAULT VALUES");
        assertThat(queryString(connection, "SELECT shardflake.is_fenced(7)")).isEqualTo("f");
    }

    @Test
    void aFenceThatWasTakenDownByHandIsSaidToBeDownAndGoesUpAgainWithItsTriggers() throws SQLException {
        execute(
                connection,
                "SELECT shardflake.fence_shard(7)",
                "ALTER TABLE shard_0007.photo DISABLE TRIGGER USER",
                "INSERT INTO shard_0007.photo (id, uid) VALUES (7 << 10, 7)");
        assertThat(queryString(connection, "SELECT shardflake.is_fenced(7)")).isEqualTo("f");

        execute(connection, "SELECT shardflake.complete_tables(7)", "ALTER TABLE shard_0007.photo ENABLE TRIGGER USER");
        assertThat(queryString(connection, "SELECT shardflake.is_fenced(7)")).isEqualTo("t");
        assertThatThrownBy(() -> execute(connection, "UPDATE shard_0007.photo SET uid = 7"))
                .isInstanceOfSatisfying(PSQLException.class, FenceTest::isFence);
    }

    /** Their trigger had no argument: enabled is up, disabled is down. */
    @Test
    void fencesOfAnEarlierLibraryStayAsTheyAreAndAreMadeLikeNewOnes() throws SQLException {
        execute(
                connection,
                "CREATE OR REPLACE TRIGGER shardflake_fence BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON shard_0007.photo FOR EACH STATEMENT EXECUTE FUNCTION shardflake.fence_write()");
        assertThat(queryString(connection, "SELECT shardflake.is_fenced(7)")).isEqualTo("t");
        execute(connection, "SELECT shardflake.complete_tables(7)");
        assertThatThrownBy(() -> execute(connection, "DELETE FROM shard_0007.photo"))
                .isInstanceOfSatisfying(PSQLException.class, FenceTest::isFence);

        execute(
                connection,
                "ALTER TABLE shard_0007.photo DISABLE TRIGGER shardflake_fence",
                "SELECT shardflake.complete_tables(7)",
                "ALTER TABLE shard_0007.photo ENABLE TRIGGER USER",
                "DELETE FROM shard_0007.photo");
        assertThat(queryLong(connection, COUNT)).isZero();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "CREATE TABLE public.elsewhere (id bigint); CREATE TABLE shard_0007.comment (id bigint PRIMARY KEY) INHERITS (public.elsewhere)",
                "CREATE TABLE public.elsewhere () INHERITS (shard_0007.photo)",
                "CREATE TABLE public.elsewhere (id bigint PRIMARY KEY) PARTITION BY RANGE (id);"
                        + " CREATE TABLE shard_0007.comment PARTITION OF public.elsewhere DEFAULT",
                "CREATE TABLE shard_0007.comment (id bigint PRIMARY KEY) PARTITION BY RANGE (id);"
                        + " CREATE TABLE public.elsewhere PARTITION OF shard_0007.comment DEFAULT",
            })
    void tablesWhoseRowsAreReachedFromOutsideTheirShardAreRefused(String tables) throws SQLException {
        execute(connection, tables);

        for (String call : new String[] {"complete_tables(7)", "fence_shard(7)"}) {
            assertThatThrownBy(() -> execute(connection, "SELECT shardflake." + call))
                    .hasMessageMatching(
                            "(?s).*table shard_0007\\.\\w+ belongs together with table (public\\.)?elsewhere, which is not in the schema of shard 7.*");
        }
        assertThat(queryString(connection, "SELECT shardflake.is_fenced(7)")).isEqualTo("f");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "CREATE TABLE shard_0007.comment (id bigint PRIMARY KEY DEFERRABLE)",
                "CREATE TABLE shard_0007.comment (id bigint PRIMARY KEY INITIALLY DEFERRED, at date)",
                "CREATE TABLE shard_0007.comment (id bigint PRIMARY KEY DEFERRABLE) PARTITION BY RANGE (id)"
            })
    void tablesThatCouldNotBeChangedOncePublishedAreRefused(String table) throws SQLException {
        execute(connection, table);

        assertThatThrownBy(() -> execute(connection, "SELECT shardflake.complete_tables(7)"))
                .hasMessageContaining("the primary key of table shard_0007.comment is deferrable")
                .hasMessageContaining("NOT DEFERRABLE");
    }

    @Test
    void waitsForTransactionsThatHaveWrittenAndGivesUpInTime() throws SQLException {
        connection.setAutoCommit(false);
        execute(connection, "INSERT INTO shard_0007.photo DEFAULT VALUES");

        try (Connection other = postgres.database(0).connect()) {
            execute(other, "SET lock_timeout = '50ms'");
            assertThatThrownBy(() -> execute(other, "SELECT shardflake.fence_shard(7)"))
                    .isInstanceOfSatisfying(
                            PSQLException.class,
                            e -> assertThat(e.getSQLState()).isEqualTo("55P03"));
        }
        execute(connection, "INSERT INTO shard_0007.photo DEFAULT VALUES");
        connection.commit();
        assertThat(queryLong(connection, COUNT)).isEqualTo(3);
    }

    @Test
    void stopsIdsAndLetsThemGoOnBehindTheLastOne() throws SQLException {
        // Ahead of the clock, as after it has stepped back.
        long ahead = queryLong(
                connection,
                "SELECT shardflake.next_id(7, 'shard_0007.photo_id_seq') FROM setval('shard_0007.photo_id_seq', shardflake.now_ticks() + 600000 * 1024)");
        execute(connection, "SELECT shardflake.fence_shard(7)", "SELECT shardflake.fence_shard(7)");

        assertThatThrownBy(() -> queryLong(connection, "SELECT shard_0007.next_id('shard_0007.photo_id_seq')"))
                .hasMessageContaining("shard 7 makes no ids on this server")
                .isInstanceOfSatisfying(PSQLException.class, FenceTest::isFence);
        assertThatThrownBy(() -> queryLong(connection, "SELECT shard_0007.next_id()"))
                .isInstanceOfSatisfying(PSQLException.class, FenceTest::isFence);

        execute(connection, "SELECT shardflake.unfence_shard(7)", "SELECT shardflake.unfence_shard(7)");
        long next = queryLong(connection, "SELECT shard_0007.next_id('shard_0007.photo_id_seq')");
        assertThat(next).isGreaterThan(ahead);
        assertThat(queryLong(connection, "SELECT shard_0007.next_id('shard_0007.photo_id_seq')"))
                .isGreaterThan(next);
        execute(connection, "SELECT setval('shard_0007.photo_id_seq', 0)");
    }

    @Test
    void whoWaitedForAnIdWhileTheFenceWentUpGetsNone() throws SQLException {
        execute(connection, "SELECT shardflake.fence_shard(7)");

        // What a session meets that looked before the fence and draws after it.
        assertThatThrownBy(
                        () -> queryLong(
                                connection,
                                "SELECT CASE WHEN shardflake.is_stopped(nextval('shard_0007.photo_id_seq')) THEN shard_0007.next_id('shard_0007.photo_id_seq') END"))
                .isInstanceOfSatisfying(PSQLException.class, FenceTest::isFence);
    }

    /** Between the look that found the fence and the error that says so it can be lifted: it was met all the same. */
    @Test
    void aFenceThatWasLiftedMeanwhileIsAFence() {
        assertThatThrownBy(() -> execute(connection, "SELECT shardflake.refuse_draw(7, 'shard_0007.id_seq', -1)"))
                .isInstanceOfSatisfying(PSQLException.class, FenceTest::isFence);
    }

    @Test
    void aReadOnlyTransactionMeetsTheFenceToo() throws SQLException {
        execute(connection, "SELECT shardflake.fence_shard(7)", "BEGIN READ ONLY");

        assertThatThrownBy(() -> queryLong(connection, "SELECT shard_0007.next_id()"))
                .isInstanceOfSatisfying(PSQLException.class, FenceTest::isFence);
        execute(connection, "ROLLBACK");
    }

    @Test
    void idsGoOnWhereTheyWereThoughTheFenceWasRolledBack() throws SQLException {
        long before = queryLong(connection, "SELECT shard_0007.next_id()");

        execute(connection, "BEGIN", "SELECT shardflake.fence_shard(7)", "ROLLBACK");
        assertThatThrownBy(() -> queryLong(connection, "SELECT shard_0007.next_id()"))
                .isInstanceOfSatisfying(PSQLException.class, FenceTest::isFence);
        execute(connection, "SELECT shardflake.unfence_shard(7)");

        assertThat(queryLong(connection, "SELECT shard_0007.next_id()")).isGreaterThan(before);
    }

    @Test
    void sequencesOfAFencedShardCanBeMovedForwardOnly() throws SQLException {
        execute(connection, "CREATE SEQUENCE shard_0007.ticket INCREMENT 10", "SELECT nextval('shard_0007.ticket')");
        long before = queryLong(connection, "SELECT shard_0007.next_id()");
        execute(connection, "SELECT shardflake.fence_shard(7)");
        long stopped = queryLong(
                connection, "SELECT last_value FROM shardflake.sequence_positions(7) WHERE sequence_name = 'id_seq'");
        assertThat(queryLong(
                        connection,
                        "SELECT last_value FROM shardflake.sequence_positions(7) WHERE sequence_name = 'ticket'"))
                .isEqualTo(1 + 32 * 10);

        execute(
                connection,
                "SELECT shardflake.set_sequence_positions(7, '{id_seq,ticket}', '{%s,5001}')"
                        .formatted(stopped + 600000 * 1024L),
                "SELECT shardflake.set_sequence_positions(7, '{id_seq}', '{7}')",
                "SELECT shardflake.unfence_shard(7)");

        assertThat(queryLong(connection, "SELECT nextval('shard_0007.ticket')")).isEqualTo(5011);
        assertThat(queryLong(connection, "SELECT shard_0007.next_id()") >> 23)
                .isGreaterThanOrEqualTo((before >> 23) + 600000);
        assertThatThrownBy(() -> execute(connection, "SELECT shardflake.set_sequence_positions(7, '{id_seq}', '{9}')"))
                .hasMessageContaining("shard 7 makes ids on this server");
        execute(connection, "DROP SEQUENCE shard_0007.ticket", "SELECT setval('shard_0007.id_seq', 0)");
    }

    @Test
    void noSequenceIsSetBack() throws SQLException {
        execute(
                connection,
                "CREATE SEQUENCE shard_0007.up",
                "CREATE SEQUENCE shard_0007.down INCREMENT -1",
                "SELECT setval('shard_0007.up', 9000), setval('shard_0007.down', -9000)",
                "SELECT shardflake.set_sequence_positions(7, '{up,down}', '{1032,-1032}')");
        assertThat(queryLong(connection, "SELECT nextval('shard_0007.up')")).isEqualTo(9001);
        assertThat(queryLong(connection, "SELECT nextval('shard_0007.down')")).isEqualTo(-9001);

        execute(connection, "SELECT shardflake.set_sequence_positions(7, '{up,down}', '{10000,-10000}')");
        assertThat(queryLong(connection, "SELECT nextval('shard_0007.up')")).isEqualTo(10001);
        assertThat(queryLong(connection, "SELECT nextval('shard_0007.down')")).isEqualTo(-10001);
        execute(connection, "DROP SEQUENCE shard_0007.up, shard_0007.down");
    }

    /** A publisher that failed over may have lost its latest marks, and its subscriber has them. */
    @Test
    void aMarkIsNeverGivenTwice() throws SQLException {
        long mark = queryLong(connection, "SELECT shardflake.mark('test')");
        execute(connection, "DELETE FROM shardflake.move_marker WHERE stream = 'test'");

        assertThat(queryLong(connection, "SELECT shardflake.mark('test')")).isGreaterThan(mark);
        execute(
                connection,
                "UPDATE shardflake.move_marker SET mark = mark + 3600 * 1000000::bigint WHERE stream = 'test'");
        assertThat(queryLong(connection, "SELECT shardflake.mark('test')")).isGreaterThan(mark + 3_600_000_000L);
        execute(connection, "DELETE FROM shardflake.move_marker WHERE stream = 'test'");
    }

    @Test
    void letsReadsAndReplicationPass() throws SQLException {
        execute(connection, "SELECT shardflake.fence_shard(7)");
        assertThat(queryLong(connection, COUNT)).isEqualTo(1);

        execute(
                connection,
                "SET session_replication_role = replica",
                "INSERT INTO shard_0007.photo (id) VALUES (7 << 10)",
                "SET session_replication_role = origin");
        assertThat(queryLong(connection, COUNT)).isEqualTo(2);
    }

    @Test
    void comesDownAgain() throws SQLException {
        assertThat(queryLong(connection, "SELECT shardflake.is_fenced(7)::integer"))
                .isZero();
        assertThat(queryLong(connection, "SELECT shardflake.fence_shard(7)")).isEqualTo(1);
        assertThat(queryLong(connection, "SELECT shardflake.is_fenced(7)::integer"))
                .isEqualTo(1);
        assertThat(queryLong(connection, "SELECT shardflake.unfence_shard(7)")).isEqualTo(1);

        execute(connection, "INSERT INTO shard_0007.photo DEFAULT VALUES");
        assertThat(queryLong(connection, COUNT)).isEqualTo(2);
    }

    @Test
    void aTableAddedToAFencedShardIsFenced() throws SQLException {
        execute(
                connection,
                "SELECT shardflake.fence_shard(7)",
                "CREATE TABLE shard_0007.comment (id bigint PRIMARY KEY)",
                "SELECT shardflake.add_fence('shard_0007.comment')",
                "SELECT shardflake.add_fence('shard_0007.comment')");

        assertThatThrownBy(() -> execute(connection, "INSERT INTO shard_0007.comment VALUES (1)"))
                .isInstanceOfSatisfying(PSQLException.class, FenceTest::isFence);
        assertThat(queryLong(connection, "SELECT shardflake.unfence_shard(7)")).isEqualTo(2);
    }

    @Test
    void refusesToFenceHalfAShard() throws SQLException {
        execute(connection, "CREATE TABLE shard_0007.comment (id bigint PRIMARY KEY)");

        assertThatThrownBy(() -> execute(connection, "SELECT shardflake.fence_shard(7)"))
                .hasMessageContaining("table shard_0007.comment has no fence")
                .hasMessageContaining("SELECT shardflake.add_fence('shard_0007.comment')");
        assertThat(queryString(connection, "SELECT shardflake.is_fenced(7)")).isEqualTo("f");
    }

    @Test
    void refusesAShardThatIsNotHereAndATableOutsideAShard() throws SQLException {
        execute(connection, "CREATE TABLE public.elsewhere (id bigint)");

        assertThatThrownBy(() -> execute(connection, "SELECT shardflake.fence_shard(8)"))
                .hasMessageContaining("shard 8 is not on this server: schema shard_0008 is missing");
        assertThatThrownBy(() -> execute(connection, "SELECT shardflake.add_fence('public.elsewhere')"))
                .hasMessageContaining("table public.elsewhere is not in the schema of a shard");
        assertThat(queryString(connection, "SELECT shardflake.is_fenced(8)")).isEqualTo("f");
    }

    /** From {@code printf %s alice | sha256sum}, and the same of 16 bytes, the first 16 hexadecimal digits. */
    @ParameterizedTest
    @CsvSource({
        "alice,text,2bd806c97f0e00af",
        "'',text,e3b0c44298fc1c14",
        "Zo\u00eb,text,c6a12698582fc110",
        "00000000-0000-0000-0000-000000000000,uuid,374708fff7719dd5",
    })
    void hashesKeysByTheFirstBytesOfTheirSha256(String key, String type, String digits) throws SQLException {
        assertThat(queryLong(connection, "SELECT shardflake.key_hash('%s'::%s)".formatted(key, type)))
                .isEqualTo(Long.parseUnsignedLong(digits, 16));
    }

    private static void isFence(SQLException e) {
        assertThat(e.getSQLState()).isEqualTo("SF001");
    }
}
