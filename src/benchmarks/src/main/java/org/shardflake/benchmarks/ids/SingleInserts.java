/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shardflake.benchmarks.ids.Candidate.JavaCandidate;
import org.shardflake.benchmarks.ids.Duplicates.Sessions;
import org.shardflake.scheme.IdGenerator;

/**
 * Rows inserted one by one, each committed by itself, over one connection or several, with prepared statements. Either way the
 * application knows the id in the end: it sent it, or it comes back with RETURNING. All connections share one generator, as in
 * one process.
 */
final class SingleInserts {

    private static final int WARM_UP = 20;
    private static final String DUPLICATE = "23505";

    /** What a turn came to. */
    record Turn(long rows, double rowsPerSecond, double walBytesPerRow) {}

    private record Done(long rows, long start, long end) {}

    private final Servers servers;
    private final Candidate candidate;
    private final @Nullable IdGenerator generator;

    /** With a generator if the ids come from Java. */
    SingleInserts(Servers servers, Candidate candidate, @Nullable IdGenerator generator) {
        this.servers = servers;
        this.candidate = candidate;
        this.generator = generator;
    }

    /** Inserts for so long, right after a checkpoint. The rows say over how many connections they came. */
    Turn run(Connection observer, int connections, int millis) throws Exception {
        Sql.execute(observer, "CHECKPOINT");
        String from = Sql.walPosition(observer);
        List<Done> all = Sessions.run(connections, (number, start) -> insert(connections, millis, start));
        double walBytes = Sql.walBytesSince(observer, from);
        long rows = all.stream().mapToLong(Done::rows).sum();
        long nanos = all.stream().mapToLong(Done::end).max().orElseThrow()
                - all.stream().mapToLong(Done::start).min().orElseThrow();
        long logged = rows + (long) connections * WARM_UP;
        return new Turn(rows, rows * 1e9 / nanos, walBytes / logged);
    }

    private Done insert(int connections, int millis, Sessions.Start start) throws Exception {
        try (Connection connection = servers.connect();
                PreparedStatement statement = connection.prepareStatement(sql())) {
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

    private String sql() {
        return generator == null
                ? "INSERT INTO %s (uid, title) VALUES (?, ?) RETURNING id".formatted(candidate.table())
                : "INSERT INTO %s (uid, title, id) VALUES (?, ?, ?)".formatted(candidate.table());
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

    /**
     * The share of rows whose id is greater than that of the row inserted just before, among those that came over so many
     * connections.
     */
    static double shareInOrder(Connection connection, Candidate candidate, int connections) throws SQLException {
        return Sql.number(connection, """
                SELECT avg((id > before)::integer)
                  FROM (SELECT id, lag(id) OVER (ORDER BY created_at) AS before FROM %s WHERE uid = %d) AS pairs
                 WHERE before IS NOT NULL""".formatted(candidate.table(), connections));
    }
}
