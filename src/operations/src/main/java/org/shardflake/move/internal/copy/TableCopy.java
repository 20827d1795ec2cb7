/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.copy;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;
import org.postgresql.copy.CopyManager;
import org.postgresql.copy.CopyOut;
import org.shardflake.grants.OwnersCode;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveException;

/** Copies the rows of tables, one after another, over two connections. For one thread. */
public final class TableCopy {

    /** Finds types that aren't built in: in the binary format, their values and arrays contain numbers that differ between servers. */
    private static final String ONLY_BUILT_IN_TYPES = """
            SELECT NOT EXISTS (
                SELECT FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
                 WHERE a.attrelid = ?::regclass AND a.attnum > 0 AND NOT a.attisdropped
                   AND (t.typnamespace <> 'pg_catalog'::regnamespace OR t.typsend = 0 OR t.typreceive = 0
                        OR t.oid = ANY ('{aclitem,aclitem[],regclass,regproc,regprocedure,regoper,regoperator,regtype,regrole,regnamespace,regconfig,regdictionary}'::regtype[])))
            """;

    /**
     * Reads a table's columns except for generated ones, its size in bytes without and with TOAST, PostgreSQL's estimate of its rows, and the number
     * of its indexes.
     */
    private static final String TABLE = """
            SELECT COALESCE(string_agg(quote_ident(a.attname), ', ' ORDER BY a.attname), ''),
                   pg_table_size(c.oid) - COALESCE(pg_total_relation_size(NULLIF(c.reltoastrelid, 0)), 0), pg_table_size(c.oid), c.reltuples,
                   (SELECT count(*) FROM pg_index x WHERE x.indrelid = c.oid)
              FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
             WHERE c.oid = ?::regclass GROUP BY c.oid, c.reltuples
            """;

    /**
     * The time that a byte in TOAST takes, since TOAST's index is kept during the copy, relative to a byte outside. As measured, like the
     * others.
     */
    private static final double TOASTED = 2.5;

    /** The fixed cost of a row, in bytes that could be copied in the same time. */
    private static final long ROW = 100;

    /** The cost of an entry in an index built afterwards, in bytes that could be copied in the same time. */
    private static final long ENTRY = 60;

    /** The minimum number of bytes that a temporary table holds at a time. */
    private static final long STAGE = 16 << 20;

    /**
     * The divisor that gives the size of a temporary table from the bytes copied so far, if that is more than the minimum. Each time that the
     * owner takes the rows, its transaction keeps a dozen locks, and a server has room for some thousands.
     */
    private static final int STAGE_OF_ALL = 16;

    private final Connection source;
    private final Connection target;
    private final CopyThrottle throttle;

    /** Receives the progress of a copy. */
    @FunctionalInterface
    public interface Progress {
        /**
         * Called when more rows have been copied.
         *
         * @param bytes sent
         * @param rows of a table or part that has all its rows now, otherwise 0
         * @param size how much of the shard's size on the source that stands for
         */
        void copied(long bytes, long rows, long size);
    }

    /**
     * A copy over these connections.
     *
     * @param source in a transaction that sees what to copy
     */
    public TableCopy(Connection source, Connection target, CopyThrottle throttle) {
        this.source = source;
        this.target = target;
        this.throttle = throttle;
    }

    /** The source's description of a table. */
    public Table table(String name) throws SQLException {
        return Sql.list(source, TABLE, row -> Table.read(name, row), name).get(0);
    }

    /**
     * Copies all rows in frozen form, since the target's transaction has truncated the table.
     *
     * @param size by which its progress is counted: its part of the shard's, by the time that it takes
     */
    void copyFrozen(Table table, long size, Progress progress) throws SQLException {
        copy(table, table.withColumns(), ", FREEZE", new Share(table.rows(), size), progress);
    }

    /**
     * Copies the rows that meet a condition.
     *
     * @param condition SQL that tells which
     */
    public void copyWhere(String condition, Table table, Share share, Progress progress) throws SQLException {
        String rows = "(SELECT %s FROM ONLY %s WHERE %s)".formatted(table.columns(), table.name(), condition);
        copy(table, rows, "", share, progress);
    }

    private void copy(Table table, String rows, String option, Share share, Progress progress) throws SQLException {
        hold(table.name());
        Optional<OwnersCode> code = OwnersCode.of(target, table.name());
        if (code.isPresent()) {
            copyAsOwner(table, rows, code.get(), share, progress);
            return;
        }
        String format = Sql.isTrue(target, ONLY_BUILT_IN_TYPES, table.name()) ? "binary" : "text";
        CopyManager from = source.unwrap(PGConnection.class).getCopyAPI();
        CopyManager to = target.unwrap(PGConnection.class).getCopyAPI();
        forward(
                () -> from.copyOut("COPY %s TO STDOUT (FORMAT %s)".formatted(rows, format)),
                new Pump(
                        () -> to.copyIn(
                                "COPY %s FROM STDIN (FORMAT %s%s)".formatted(table.withColumns(), format, option)),
                        Long.MAX_VALUE,
                        () -> {},
                        share,
                        progress));
    }

    /**
     * Locks a table until the end of the target's transaction, so that its owner can add no columns, checks or triggers, and no view takes its name.
     */
    private void hold(String table) throws SQLException {
        Sql.execute(target, "LOCK TABLE ONLY %s IN ROW EXCLUSIVE MODE".formatted(table));
        if (!Sql.isTrue(target, "SELECT relkind = 'r' FROM pg_class WHERE oid = ?::regclass", table)) {
            throw new MoveException(
                    "%s is no longer a table on the server that its rows are copied to".formatted(table));
        }
    }

    /**
     * Copies through a temporary table, from which the owner inserts the rows: COPY would run the owner's functions with this session's rights.
     */
    private void copyAsOwner(Table table, String rows, OwnersCode code, Share share, Progress progress)
            throws SQLException {
        CopyManager from = source.unwrap(PGConnection.class).getCopyAPI();
        CopyManager to = target.unwrap(PGConnection.class).getCopyAPI();
        code.createStage(target);
        forward(
                () -> from.copyOut("COPY %s TO STDOUT".formatted(rows)),
                new Pump(
                        () -> to.copyIn("COPY %s FROM STDIN".formatted(code.stage())),
                        STAGE,
                        () -> code.bring(target, table.name()),
                        share,
                        progress));
        code.dropStage(target);
    }

    /** Forwards rows; a failure of one side leaves the other in the middle of its COPY. */
    private void forward(Reading reading, Pump pump) throws SQLException {
        CopyOut out = named(source, reading::open);
        try (Sql.Ending ofReading = () -> Sql.cancel(source, out);
                Sql.Ending ofWriting = pump::cancel) {
            pump.forward(out);
            pump.end();
        }
    }

    /** Names the server in a failure. */
    private static <T> T named(Connection connection, Sql.Work<T> work) throws SQLException {
        try {
            return work.run();
        } catch (SQLException e) {
            throw Sql.named(connection, e);
        }
    }

    /**
     * A table's part in the progress.
     *
     * @param rows about how many will be copied; 0 if that is not known
     * @param size of the shard's that they stand for
     */
    public record Share(long rows, long size) {}

    /**
     * A table on the source.
     *
     * @param bytes without TOAST
     * @param toast the bytes of its TOAST
     * @param rows about how many it has; 0 if that is not known
     */
    public record Table(String name, String columns, long bytes, long toast, long rows, long indexes) {

        static Table read(String name, ResultSet row) throws SQLException {
            return new Table(
                    name,
                    row.getString(1),
                    row.getLong(2),
                    row.getLong(3) - row.getLong(2),
                    Math.max(0, (long) row.getDouble(4)),
                    row.getLong(5));
        }

        /** The table with its columns, for COPY. */
        String withColumns() {
            return "%s (%s)".formatted(name, columns);
        }

        /** The table's size on the source, with TOAST. */
        long size() {
            return bytes + toast;
        }

        /** The time that the rows take, expressed in bytes of a table without TOAST. */
        double work() {
            return 1 + bytes + TOASTED * toast + ROW * rows;
        }

        double workOfIndexes() {
            return ENTRY * rows * indexes;
        }
    }

    @FunctionalInterface
    private interface Reading {
        CopyOut open() throws SQLException;
    }

    @FunctionalInterface
    private interface Opening {
        CopyIn open() throws SQLException;
    }

    @FunctionalInterface
    private interface Step {
        void take() throws SQLException;
    }

    /** Forwards rows in pieces, as the driver sends each piece as a separate message. */
    private final class Pump {

        private final Opening opening;
        private final long most;
        private final Step step;
        private final Share share;
        private final Progress progress;
        private final byte[] buffer = new byte[64 * 1024];
        private @Nullable CopyIn in;
        private int filled;
        private long sent;
        private long sentBefore;
        private long rows;
        private long counted;

        /**
         * Forwards rows to a series of COPYs, one after another.
         *
         * @param most the bytes after which the first one ends; the others grow with what was sent
         * @param step what is done after each
         */
        Pump(Opening opening, long most, Step step, Share share, Progress progress) {
            this.opening = opening;
            this.most = most;
            this.step = step;
            this.share = share;
            this.progress = progress;
        }

        void forward(CopyOut out) throws SQLException {
            in = named(target, opening::open);
            for (byte[] row = read(out); row != null; row = read(out)) {
                if (filled + row.length > buffer.length && filled > 0) {
                    flush();
                    if (sent >= Math.max(most, sentBefore / STAGE_OF_ALL)) {
                        end(0);
                        in = named(target, opening::open);
                    }
                }
                rows++;
                if (row.length > buffer.length) {
                    send(row, row.length);
                } else {
                    System.arraycopy(row, 0, buffer, filled, row.length);
                    filled += row.length;
                }
            }
            flush();
        }

        private byte @Nullable [] read(CopyOut out) throws SQLException {
            try {
                return out.readFromCopy();
            } catch (SQLException e) {
                throw Sql.named(source, e);
            }
        }

        private void flush() throws SQLException {
            if (filled > 0) {
                send(buffer, filled);
                filled = 0;
            }
        }

        /** Reports progress by the share of rows: sent values are larger than the table where TOAST compresses. */
        private void send(byte[] bytes, int length) throws SQLException {
            try {
                Objects.requireNonNull(in).writeToCopy(bytes, 0, length);
            } catch (SQLException e) {
                throw Sql.named(target, e);
            }
            sent += length;
            long part = share.rows() > 0 ? share.size() * rows / share.rows() : length;
            long more = Math.min(part, share.size() - counted);
            counted += more;
            rows = 0;
            progress.copied(length, 0, more);
            throttle.copied(length);
        }

        void end() throws SQLException {
            end(share.size() - counted);
        }

        private void end(long size) throws SQLException {
            long copied = named(target, Objects.requireNonNull(in)::endCopy);
            sentBefore += sent;
            sent = 0;
            step.take();
            progress.copied(0, copied, size);
        }

        void cancel() throws SQLException {
            if (in != null) {
                Sql.cancel(in);
            }
        }
    }
}
