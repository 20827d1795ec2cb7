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
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.benchmarks.ids.Candidate.JavaCandidate;
import org.shardflake.scheme.IdGenerator;

/**
 * Many rows in one transaction: by one statement where the database makes the ids, by statements of 10,000 rows where they come
 * from Java, made while the clock runs. Both write the same records to the log, which COPY would not.
 */
final class BulkInsert {

    private static final int BATCH = 10_000;
    private static final int MAX_REPEATS = 100;
    private static final String DUPLICATE = "23505";

    /**
     * What it took.
     *
     * @param walBytes written to the log
     * @param madeAgain ids that were there already and had to be replaced
     * @param from where the log was before
     */
    record Outcome(int rows, double seconds, double walBytes, int madeAgain, String from) {

        double walBytesPerRow() {
            return walBytes / rows;
        }
    }

    private final Connection connection;
    private final Candidate candidate;
    private final @Nullable IdGenerator generator;
    private int madeAgain;

    /** With a generator if the ids come from Java. */
    BulkInsert(Connection connection, Candidate candidate, @Nullable IdGenerator generator) {
        this.connection = connection;
        this.candidate = candidate;
        this.generator = generator;
    }

    /** Inserts so many rows, right after a checkpoint: the first change of each page then goes to the log whole. */
    Outcome run(int rows) throws SQLException {
        Sql.execute(connection, "CHECKPOINT");
        madeAgain = 0;
        String from = Sql.walPosition(connection);
        long start = System.nanoTime();
        connection.setAutoCommit(false);
        try {
            for (int done = 0; done < rows; ) {
                int batch = generator != null ? Math.min(BATCH, rows - done) : rows;
                insertOrRepeat(batch);
                done += batch;
            }
            connection.commit();
        } finally {
            connection.setAutoCommit(true);
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        return new Outcome(rows, seconds, Sql.walBytesSince(connection, from), madeAgain, from);
    }

    private void insertOrRepeat(int rows) throws SQLException {
        for (int attempt = 0; ; attempt++) {
            Savepoint before = connection.setSavepoint();
            try {
                insert(rows);
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

    private void insert(int rows) throws SQLException {
        if (candidate instanceof JavaCandidate java && generator != null) {
            insertFromJava(java, generator, rows);
        } else {
            Sql.execute(
                    connection,
                    "INSERT INTO %s (uid, title) SELECT n, 'item ' || n FROM generate_series(1, %d) AS n"
                            .formatted(candidate.table(), rows));
        }
    }

    private void insertFromJava(JavaCandidate java, IdGenerator ids, int rows) throws SQLException {
        Array array = connection.createArrayOf(java.type().element(), batch(java, ids, rows));
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
}
