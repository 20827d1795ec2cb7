/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.benchmarks.ids.IdCandidate.JavaCandidate;
import org.shardflake.benchmarks.report.Sessions;
import org.shardflake.jdbc.Sql;
import org.shardflake.scheme.IdGenerator;

/** Rows inserted into the table of a candidate, right after a checkpoint: the first change of each page then goes to the log whole. */
final class Inserts {

    private static final int BATCH = 10_000;
    private static final int MAX_REPEATS = 100;
    private static final int WARM_UP = 20;
    private static final String DUPLICATE = "23505";

    private final Servers servers;
    private final IdCandidate candidate;
    private final @Nullable IdGenerator generator;
    private int madeAgain;

    /** Inserts for a candidate, with a generator if its ids come from Java. */
    Inserts(Servers servers, IdCandidate candidate, @Nullable IdGenerator generator) {
        this.servers = servers;
        this.candidate = candidate;
        this.generator = generator;
    }

    /**
     * The result of a bulk insert.
     *
     * @param madeAgain ids that were there already and had to be replaced
     * @param from where the log was before
     */
    record Bulk(int rows, double microsPerRow, double walBytesPerRow, int madeAgain, String from) {}

    /**
     * Inserts so many rows in one transaction: by one statement where the database makes the ids, by statements of 10,000 rows where
     * they come from Java, made while the clock runs. Both write the same records to the log, which COPY would not.
     */
    Bulk inBulk(Connection connection, int rows) throws SQLException {
        String from = checkpoint(connection);
        madeAgain = 0;
        long start = System.nanoTime();
        connection.setAutoCommit(false);
        try {
            for (int done = 0; done < rows; ) {
                int batch = generator != null ? Math.min(BATCH, rows - done) : rows;
                insertOrRepeat(connection, batch);
                done += batch;
            }
            connection.commit();
        } finally {
            connection.setAutoCommit(true);
        }
        double micros = (System.nanoTime() - start) / 1e3;
        return new Bulk(rows, micros / rows, walBytesSince(connection, from) / rows, madeAgain, from);
    }

    private static String checkpoint(Connection connection) throws SQLException {
        Sql.execute(connection, "CHECKPOINT");
        return Sql.text(connection, "SELECT pg_current_wal_insert_lsn()");
    }

    private static double walBytesSince(Connection connection, String position) throws SQLException {
        return Sql.number(connection, "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '%s')".formatted(position));
    }

    private void insertOrRepeat(Connection connection, int rows) throws SQLException {
        for (int attempt = 0; ; attempt++) {
            Savepoint before = connection.setSavepoint();
            try {
                insert(connection, rows);
                connection.releaseSavepoint(before);
                return;
            } catch (SQLException e) {
                if (generator == null || !DUPLICATE.equals(e.getSQLState()) || attempt == MAX_REPEATS) {
                    throw e;
                }
                connection.rollback(before);
                madeAgain += rows;
            }
        }
    }

    private void insert(Connection connection, int rows) throws SQLException {
        if (!(candidate instanceof JavaCandidate java) || generator == null) {
            Sql.execute(
                    connection,
                    "INSERT INTO %s (uid, title) SELECT n, 'item ' || n FROM generate_series(1, %d) AS n"
                            .formatted(candidate.table(), rows));
            return;
        }
        Array array = connection.createArrayOf(java.type().element(), batch(java, generator, rows));
        try (PreparedStatement statement = connection.prepareStatement(
                "INSERT INTO %s (id, uid, title) SELECT id, n, 'item ' || n FROM unnest(?) WITH ORDINALITY AS u (id, n)"
                        .formatted(java.table()))) {
            statement.setArray(1, array);
            statement.executeUpdate();
        } finally {
            array.free();
        }
    }

    private Object[] batch(JavaCandidate java, IdGenerator ids, int rows) throws SQLException {
        Object[] batch = java.type().array(rows);
        Set<Object> seen = new HashSet<>();
        for (int i = 0; i < rows; i++) {
            batch[i] = java.next(ids);
            while (java.isByChance() && !seen.add(batch[i])) {
                batch[i] = java.next(ids);
                madeAgain++;
            }
        }
        return batch;
    }

    /** The result of a turn of single inserts. */
    record Turn(double rowsPerSecond, double walBytesPerRow) {}

    private record Done(long rows, long start, long end) {}

    /**
     * Inserts rows for this time, each in its own commit, over one connection or several, with prepared statements. Either way the application knows
     * the id in the end: it sent it, or it comes back with RETURNING. All connections share one generator, as in one process. The rows say over how
     * many connections they came.
     */
    Turn singly(Connection observer, int connections, int millis) throws Exception {
        String from = checkpoint(observer);
        List<Done> all = Sessions.run(connections, (number, start) -> insertSingly(connections, millis, start));
        double walBytes = walBytesSince(observer, from);
        long rows = all.stream().mapToLong(Done::rows).sum();
        long nanos = all.stream().mapToLong(Done::end).max().orElseThrow()
                - all.stream().mapToLong(Done::start).min().orElseThrow();
        return new Turn(rows * 1e9 / nanos, walBytes / (rows + (long) connections * WARM_UP));
    }

    private Done insertSingly(int connections, int millis, Sessions.Start start) throws Exception {
        String sql = generator == null
                ? "INSERT INTO %s (uid, title) VALUES (?, ?) RETURNING id"
                : "INSERT INTO %s (uid, title, id) VALUES (?, ?, ?)";
        try (Connection connection = servers.connect();
                PreparedStatement statement = connection.prepareStatement(sql.formatted(candidate.table()))) {
            statement.setString(2, "an item");
            for (int i = 0; i < WARM_UP; i++) {
                insertOne(statement, 0);
            }
            start.await();
            long began = System.nanoTime();
            long rows = 0;
            while (System.nanoTime() - began < millis * 1_000_000L) {
                rows += insertOne(statement, connections) ? 1 : 0;
            }
            return new Done(rows, began, System.nanoTime());
        }
    }

    /** Whether the id was a new one. */
    private boolean insertOne(PreparedStatement statement, int connections) throws SQLException {
        statement.setLong(1, connections);
        if (candidate instanceof JavaCandidate java && generator != null) {
            statement.setObject(3, java.next(generator));
        }
        try {
            statement.execute();
            return true;
        } catch (SQLException e) {
            if (DUPLICATE.equals(e.getSQLState())) {
                return false;
            }
            throw e;
        }
    }
}
