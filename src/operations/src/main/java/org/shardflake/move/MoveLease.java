/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.sql.AdvisoryLock;

/**
 * The right to work on a move for as long as its connection to the catalog lives, and the holder's changes to the catalog.
 *
 * <p>Each change is made only if the claim is still the latest. Thread-safe.
 */
final class MoveLease implements AutoCloseable {

    static final String LOCKS = "pg_locks";

    /** The condition for the lock of a move. A lock with two keys is listed with the first as unsigned. */
    static final String IS_OF = """
            locktype = 'advisory' AND granted AND objsubid = 2 AND objid::bigint = %s
               AND classid::bigint = hashtext('shardflake.move')::bigint & 4294967295
               AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """;

    private static final String IS_LOCKED =
            "SELECT EXISTS (SELECT FROM %s WHERE %s)".formatted(LOCKS, IS_OF.formatted("?"));

    /** Whether the catalog has column bytes_at, which version 5 added. */
    private static final String HAS_BYTES_AT =
            "SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'shardflake_catalog.move_shard'::regclass AND attname = 'bytes_at')";

    /** Makes the server notice after 5 + 3 * 3 seconds that the machine is gone; the end of a process is noticed immediately. */
    private static final String NOTICE =
            "SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3";

    /** The time that a server may take to notice that the previous holder has gone. */
    private static final Duration LOCK_PATIENCE = Duration.ofSeconds(20);

    private final Connection connection;
    private final long move;
    private final long claim;
    private final String bytesAt;

    private MoveLease(Connection connection, long move, long claim, boolean hasBytesAt) {
        this.connection = connection;
        this.move = move;
        this.claim = claim;
        this.bytesAt = hasBytesAt ? ", bytes_at = clock_timestamp()" : "";
    }

    /**
     * Takes over the lease.
     *
     * @param mine the claim of this process, if it had the lease before; nobody else may have had it since
     * @throws MoveRefusedException if someone holds it, or has held it since
     */
    static MoveLease take(Connection connection, long move, OptionalLong mine, MoveListener listener)
            throws SQLException {
        MoveCatalog.find(connection, move);
        Sql.execute(connection, NOTICE);
        Optional<String> holder = new AdvisoryLock("shardflake.move", Math.toIntExact(move))
                .take(
                        connection,
                        LOCK_PATIENCE,
                        others -> listener.waits("move %s: %s works on it".formatted(move, others)));
        if (holder.isPresent()) {
            throw new MoveRefusedException(
                    "another shardflake works on move %s: in the catalog, %s holds its lock"
                            .formatted(move, holder.get()),
                    Advice.of("see it with %s", CliCommand.MOVE_STATUS_WATCH));
        }
        // Looked up again, since it may have been completed while we waited.
        MoveCatalog.find(connection, move);
        if (mine.isPresent()
                && Sql.number(connection, "SELECT claim FROM shardflake_catalog.move WHERE id = ?", move)
                        != mine.getAsLong()) {
            throw new MoveRefusedException(
                    "move %s has been worked on by another shardflake since".formatted(move),
                    Advice.of("see it with %s", CliCommand.MOVE_STATUS));
        }
        long claim = Sql.number(
                connection, "UPDATE shardflake_catalog.move SET claim = claim + 1 WHERE id = ? RETURNING claim", move);
        return new MoveLease(connection, move, claim, Sql.isTrue(connection, HAS_BYTES_AT));
    }

    /** Whether someone holds the lease of a move. */
    static boolean isTaken(Connection connection, long move) throws SQLException {
        return Sql.isTrue(connection, IS_LOCKED, move);
    }

    long claim() {
        return claim;
    }

    synchronized Move move() throws SQLException {
        return MoveCatalog.find(connection, move);
    }

    /** The position at which the target was promoted from a standby of the source, if the move is part of a split. */
    synchronized Optional<SplitPosition> splitPosition() throws SQLException {
        return SplitCatalog.position(connection, move);
    }

    synchronized void enter(MovePhase phase) throws SQLException {
        change(
                "UPDATE shardflake_catalog.move SET phase = ?, phase_since = clock_timestamp(), problem = '' WHERE id = ? AND claim = ?",
                phase.toString());
    }

    synchronized void problem(String problem) throws SQLException {
        change("UPDATE shardflake_catalog.move SET problem = ? WHERE id = ? AND claim = ?", problem);
    }

    private void change(String sql, String value) throws SQLException {
        if (Sql.update(connection, sql, value, move, claim) != 1) {
            throw superseded();
        }
    }

    private MoveException superseded() {
        return new MoveException(
                ShardflakeException.Kind.FAILURE,
                "move %s has been taken over by another command".formatted(move),
                Advice.of("see %s", CliCommand.MOVE_STATUS));
    }

    /**
     * Records how much of a shard has been copied. Does not wait for the catalog's disk, which the copy may keep busy: nothing depends on
     * it.
     */
    synchronized void copying(int shard, long bytes, long rows) throws SQLException {
        changeShard(
                "phase = '%s', bytes = %s%s, rows = CASE set_config('synchronous_commit', 'off', true) WHEN 'off' THEN %s END"
                        .formatted(ShardPhase.WAITING, bytes, bytesAt, rows),
                shard);
    }

    /** Records whether a shard has been copied, and how much was sent. */
    synchronized void copied(int shard, ShardPhase phase, long bytes, long rows) throws SQLException {
        changeShard("phase = '%s', bytes = %s%s, rows = %s".formatted(phase, bytes, bytesAt, rows), shard);
    }

    /** Begins a cutover attempt and returns its number, the latest. */
    synchronized long arm(int shard) throws SQLException {
        return Sql.list(
                        connection,
                        "UPDATE shardflake_catalog.move_shard SET phase = 'cutting over', attempt = attempt + 1 WHERE shard = ? AND move = (SELECT id FROM shardflake_catalog.move WHERE id = ? AND claim = ?) RETURNING attempt",
                        row -> row.getLong(1),
                        shard,
                        move,
                        claim)
                .stream()
                .findFirst()
                .orElseThrow(this::superseded);
    }

    /** Cancels all attempts, so that none can change the map any more. */
    synchronized void disarm(int shard, ShardPhase phase) throws SQLException {
        changeShard("phase = '%s', attempt = attempt + 1".formatted(phase), shard);
    }

    /**
     * Changes the shard map, unless something has intervened.
     *
     * @param phase the shard's phase after the change
     */
    synchronized void switchShard(MoveShard shard, long attempt, String server, ShardPhase phase, long mark)
            throws SQLException {
        callSwitch(shard, attempt, server, phase, mark);
    }

    /** Makes the change and rolls it back, so that a refusal comes before anyone has to wait. */
    synchronized void rehearseSwitch(MoveShard shard, long attempt, String server, ShardPhase phase)
            throws SQLException {
        try (Sql.Ending ending = Sql.rollingBack(connection)) {
            callSwitch(shard, attempt, server, phase, 0);
        }
    }

    private void callSwitch(MoveShard shard, long attempt, String server, ShardPhase phase, long mark)
            throws SQLException {
        Sql.call(
                connection,
                "SELECT shardflake_catalog.switch_shard(?, ?, ?, ?, ?, ?, ?, ?)",
                move,
                claim,
                shard.shard(),
                attempt,
                shard.epoch(),
                server,
                phase.toString(),
                mark);
    }

    synchronized void paused(int shard, Duration pause) throws SQLException {
        changeShard(String.format(Locale.ROOT, "pause_ms = %f", pause.toNanos() / 1e6), shard);
    }

    synchronized void verified(int shard, Verified verified) throws SQLException {
        changeShard("verified = " + Sql.quote(verified.toString()), shard);
    }

    private void changeShard(String assignments, int shard) throws SQLException {
        int changed = Sql.update(
                connection,
                "UPDATE shardflake_catalog.move_shard SET %s WHERE shard = ? AND move = (SELECT id FROM shardflake_catalog.move WHERE id = ? AND claim = ?)"
                        .formatted(assignments),
                shard,
                move,
                claim);
        if (changed != 1) {
            throw superseded();
        }
    }

    /** Removes the move from the catalog, except for a line in its history. */
    synchronized void end(String change) throws SQLException {
        Sql.inTransaction(connection, () -> {
            Sql.call(connection, "SELECT 1 FROM shardflake_catalog.installation FOR UPDATE");
            MoveCatalog.recordChange(connection, move, change);
            Sql.update(connection, "DELETE FROM shardflake_catalog.move_shard WHERE move = ?", move);
            if (Sql.update(connection, "DELETE FROM shardflake_catalog.move WHERE id = ? AND claim = ?", move, claim)
                    != 1) {
                throw superseded();
            }
            return true;
        });
    }

    @Override
    public void close() {
        Sql.close(connection);
    }
}
