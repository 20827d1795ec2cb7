/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.compare;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.StringReader;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.PGConnection;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;

/** When a copy need not be compared again. */
class EqualCopiesTest {

    private static final String TABLE = "shard_0001.photo";
    private static final String ROWS = """
            CREATE SCHEMA shard_0001;
            CREATE TABLE shard_0001.photo (id bigint PRIMARY KEY, title text);
            INSERT INTO shard_0001.photo SELECT n, 'photo ' || n FROM generate_series(1, 1000) n
            """;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private final EqualCopies copies = new EqualCopies(1);
    private Connection writer;
    private Connection source;
    private Connection target;

    @BeforeEach
    void create() throws SQLException {
        writer = postgres.database(0).connect();
        source = prepared(0);
        target = prepared(1);
        Sql.execute(writer, ROWS);
        there(ROWS);
    }

    private static void there(String sql) throws SQLException {
        try (Connection connection = postgres.database(1).connect()) {
            Sql.execute(connection, sql);
        }
    }

    @AfterEach
    void drop() throws SQLException {
        source.rollback();
        target.rollback();
        Sql.execute(writer, "DROP SCHEMA shard_0001 CASCADE");
        there("DROP SCHEMA shard_0001 CASCADE");
        for (Connection connection : new Connection[] {writer, source, target}) {
            Sql.close(connection);
        }
    }

    private static Connection prepared(int server) throws SQLException {
        Connection connection = postgres.database(server).connect();
        Rows.prepare(connection);
        return connection;
    }

    /** As after a cutover. */
    private List<TableDifference> compare() throws SQLException {
        List<TableDifference> differences = copies.begin(1, null)
                .compare(
                        List.of(TABLE),
                        new SnapshotPair(source, target),
                        source,
                        new TableDifference.Names(),
                        () -> {});
        source.rollback();
        target.rollback();
        return differences;
    }

    private void found() throws SQLException {
        assertThat(compare()).isEmpty();
    }

    /** Not as one command, since VACUUM refuses to be part of one. */
    private void write(String statements) throws SQLException {
        for (String statement : statements.split("; ", -1)) {
            Sql.execute(writer, statement);
        }
    }

    private boolean isUnwritten() throws SQLException {
        return copies.isUnwritten(1, TABLE, source, EqualCopies.Moment.read(source, target));
    }

    @Test
    void nothingIsKnownOfATableThatWasNotCompared() throws SQLException {
        assertThat(isUnwritten()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "SELECT FROM shard_0001.photo FOR UPDATE",
                "BEGIN; DELETE FROM shard_0001.photo; ROLLBACK",
                "CREATE TABLE shard_0001.other AS SELECT * FROM shard_0001.photo",
                "VACUUM (FREEZE, ANALYZE) shard_0001.photo",
                "VACUUM FULL shard_0001.photo",
                "CREATE TRIGGER seal BEFORE INSERT ON shard_0001.photo FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            })
    void aTableWhoseRowsAreTheSameIsUnwritten(String meanwhile) throws SQLException {
        found();
        write(meanwhile);

        assertThat(isUnwritten()).isTrue();
    }

    @Test
    void anEmptyTableIsUnwrittenUntilItHasARow() throws SQLException {
        Sql.execute(writer, "TRUNCATE shard_0001.photo");
        there("TRUNCATE shard_0001.photo");
        found();
        assertThat(isUnwritten()).isTrue();
        source.rollback();

        Sql.execute(writer, "INSERT INTO shard_0001.photo VALUES (1, 'late')");

        assertThat(isUnwritten()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "INSERT INTO shard_0001.photo VALUES (1001, 'late')",
                "UPDATE shard_0001.photo SET title = 'late' WHERE id = 7",
                "UPDATE shard_0001.photo SET title = title WHERE id = 7",
                "DELETE FROM shard_0001.photo WHERE id = 7",
                "DELETE FROM shard_0001.photo WHERE id = 7; INSERT INTO shard_0001.photo VALUES (1001, 'late')",
                "DELETE FROM shard_0001.photo WHERE id = 7; VACUUM shard_0001.photo; INSERT INTO shard_0001.photo VALUES (7, 'photo 7')",
                "TRUNCATE shard_0001.photo",
                "BEGIN; TRUNCATE shard_0001.photo; INSERT INTO shard_0001.photo SELECT n, 'late' FROM generate_series(1, 1000) n; COMMIT; VACUUM (FREEZE) shard_0001.photo",
                "BEGIN; SAVEPOINT a; UPDATE shard_0001.photo SET title = 'late' WHERE id = 7; RELEASE a; COMMIT",
                "SET session_replication_role = replica; UPDATE shard_0001.photo SET title = 'late' WHERE id = 7",
                "ALTER TABLE shard_0001.photo ADD COLUMN tag text DEFAULT 'late'",
                "ALTER TABLE shard_0001.photo ALTER COLUMN title TYPE varchar(99)",
                "ALTER TABLE shard_0001.photo DROP COLUMN title",
            })
    void aTableThatWasWrittenToIsNot(String meanwhile) throws SQLException {
        found();
        write(meanwhile);

        assertThat(isUnwritten()).isFalse();
    }

    @Test
    void rowsThatAreFrozenAsTheyAreWrittenCount() throws Exception {
        found();
        String rows =
                LongStream.rangeClosed(1, 1000).mapToObj(n -> n + "\tlate\n").collect(Collectors.joining());

        writer.setAutoCommit(false);
        Sql.execute(writer, "TRUNCATE shard_0001.photo");
        writer.unwrap(PGConnection.class)
                .getCopyAPI()
                .copyIn("COPY shard_0001.photo FROM STDIN (FREEZE)", new StringReader(rows));
        writer.commit();
        writer.setAutoCommit(true);

        assertThat(isUnwritten()).isFalse();
    }

    /** Its number is less than those of transactions that the comparison has seen. */
    @Test
    void aTransactionThatBeganBeforeTheComparisonCounts() throws SQLException {
        try (Connection early = postgres.database(0).connect()) {
            early.setAutoCommit(false);
            Sql.execute(early, "INSERT INTO shard_0001.photo VALUES (1001, 'early')");
            Sql.execute(writer, "CREATE TABLE shard_0001.later ()");
            found();
            Sql.execute(early, "DELETE FROM shard_0001.photo WHERE id = 8");
            early.commit();
        }

        assertThat(isUnwritten()).isFalse();
    }

    @Test
    void whatIsKnownIsOfServersThatHaveNotStartedSince() throws SQLException {
        found();

        assertThat(copies.isUnwritten(1, TABLE, source, EqualCopies.Moment.read(source, source)))
                .isFalse();
        assertThat(copies.isUnwritten(1, TABLE, source, EqualCopies.Moment.read(target, target)))
                .isFalse();
        assertThat(isUnwritten()).isTrue();
    }

    /** The postmaster goes on, and ends all sessions. */
    @Test
    @Tag("full")
    void aServerThatHasRecoveredFromACrashHasStarted() throws Exception {
        assumeTrue(postgres.database(0).server().canRestart(), "a server given by URL is not crashed");
        found();

        assertThatThrownBy(() -> Sql.execute(writer, "COPY (SELECT 1) TO PROGRAM 'kill -9 $PPID'"))
                .isInstanceOf(SQLException.class);
        // Until then the server still accepts connections.
        assertThat(Poll.everyMillis(10, Duration.ofMinutes(1)).until(() -> isEnded(source)))
                .isTrue();
        Sql.close(writer);
        Sql.close(source);
        writer = connectedAgain();
        source = prepared(0);

        assertThat(Sql.number(source, "SELECT count(*) FROM " + TABLE)).isEqualTo(1000);
        assertThat(isUnwritten()).isFalse();
    }

    private static boolean isEnded(Connection connection) {
        try {
            Sql.execute(connection, "SELECT");
            return false;
        } catch (SQLException e) {
            return true;
        }
    }

    private static Connection connectedAgain() throws Exception {
        for (int tries = 0; ; tries++) {
            try {
                return postgres.database(0).connect();
            } catch (SQLException | RuntimeException e) {
                assertThat(tries).isLessThan(600);
                Thread.sleep(100);
            }
        }
    }

    @Test
    void anAttemptAtACutoverForgetsWhatEarlierOnesHaveFound() throws SQLException {
        found();
        there("DELETE FROM shard_0001.photo WHERE id = 7");
        assertThat(compare()).hasSize(1);
        assertThat(isUnwritten()).isFalse();
    }

    @Test
    void anAttemptThatWasNotComparedForgetsThemToo() throws SQLException {
        found();

        copies.begin(1, null);

        assertThat(isUnwritten()).isFalse();
    }

    @Test
    void anotherTableOfTheSameNameWasNotCompared() throws SQLException {
        Sql.execute(writer, "CREATE TABLE shard_0001.old AS TABLE shard_0001.photo");
        found();

        Sql.execute(writer, "ALTER TABLE shard_0001.photo RENAME TO gone; ALTER TABLE shard_0001.old RENAME TO photo");

        assertThat(isUnwritten()).isFalse();
    }
}
