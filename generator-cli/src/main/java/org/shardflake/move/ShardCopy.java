/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;
import org.postgresql.copy.CopyManager;
import org.postgresql.copy.CopyOut;
import org.shardflake.Sharding;
import org.shardflake.jdbc.Sql;

/**
 * Copies the rows of shards over two connections. For one thread.
 *
 * <p>A shard is copied in one transaction: what may be there is truncated, so it can be begun again; rows are written frozen, and
 * indexes are built when they are in.
 */
final class ShardCopy implements AutoCloseable {

    /**
     * What is quicker to build when the rows are in: indexes and unique constraints, but for what rows are told apart by, or
     * referenced by, and for what has properties that its definition does not tell.
     */
    private static final String BUILT_LAST = """
            SELECT CASE WHEN k.oid IS NULL THEN format('DROP INDEX %I.%I', n.nspname, i.relname)
                        ELSE format('ALTER TABLE %I.%I DROP CONSTRAINT %I', n.nspname, t.relname, k.conname) END,
                   CASE WHEN k.oid IS NULL THEN pg_get_indexdef(x.indexrelid)
                        ELSE format('ALTER TABLE %I.%I ADD CONSTRAINT %I %s', n.nspname, t.relname, k.conname, pg_get_constraintdef(k.oid)) END
              FROM pg_namespace n JOIN pg_class t ON t.relnamespace = n.oid JOIN pg_index x ON x.indrelid = t.oid
              JOIN pg_class i ON i.oid = x.indexrelid
              LEFT JOIN pg_constraint k ON k.conindid = x.indexrelid AND k.contype IN ('p', 'u', 'x')
             WHERE n.nspname = ? AND t.relkind = 'r' AND NOT t.relispartition
               AND NOT x.indisprimary AND NOT x.indisreplident AND NOT x.indisclustered AND x.indisvalid
               AND COALESCE(k.contype, 'u') = 'u'
               AND NOT EXISTS (SELECT FROM pg_constraint f WHERE f.conindid = x.indexrelid AND f.contype = 'f')
               AND NOT EXISTS (SELECT FROM pg_description d WHERE d.objoid IN (x.indexrelid, k.oid))
               AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = x.indexrelid AND a.attstattarget > 0)
             ORDER BY i.relname
            """;

    /** In the binary format values of types of one's own, and arrays of them, carry numbers that differ between servers. */
    private static final String ONLY_BUILT_IN_TYPES = """
            SELECT NOT EXISTS (
                SELECT FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
                 WHERE a.attrelid = ?::regclass AND a.attnum > 0 AND NOT a.attisdropped
                   AND (t.typnamespace <> 'pg_catalog'::regnamespace OR t.typsend = 0 OR t.typreceive = 0
                        OR t.oid = ANY ('{aclitem,aclitem[],regclass,regproc,regprocedure,regoper,regoperator,regtype,regrole,regnamespace,regconfig,regdictionary}'::regtype[])))
            """;

    private final Connection source;
    private final Connection target;
    private final Throttle throttle;
    private final Progress progress;

    /** Hears of rows on their way. */
    @FunctionalInterface
    interface Progress {
        void copied(long bytes, long rows);
    }

    /**
     * Copies over these connections, and closes them.
     *
     * @param source in a transaction that sees what is to be copied
     * @param target in auto-commit mode
     */
    ShardCopy(Connection source, Connection target, Throttle throttle, Progress progress) {
        this.source = source;
        this.target = target;
        this.throttle = throttle;
        this.progress = progress;
    }

    void copy(int shard, List<String> tables, String checkClaim) throws SQLException {
        target.setAutoCommit(false);
        try {
            // As for replication: fences and other triggers do not fire, and foreign keys are not checked again.
            Sql.execute(
                    target,
                    checkClaim
                            + "SET LOCAL session_replication_role = replica; SET LOCAL synchronous_commit = off; SET LOCAL maintenance_work_mem = '256MB'");
            if (!tables.isEmpty()) {
                Sql.execute(target, "TRUNCATE " + String.join(", ", tables));
            }
            List<String[]> indexes = Sql.list(
                    target,
                    BUILT_LAST,
                    row -> new String[] {row.getString(1), row.getString(2)},
                    Sharding.schema(shard));
            for (String[] index : indexes) {
                Sql.execute(target, index[0]);
            }
            for (String table : tables) {
                copyTable(table);
            }
            for (String[] index : indexes) {
                Sql.execute(target, index[1]);
            }
            for (String table : tables) {
                Sql.execute(target, "ANALYZE " + table);
            }
            target.commit();
        } catch (SQLException | RuntimeException e) {
            rollback(e);
            throw e;
        }
        target.setAutoCommit(true);
    }

    private void rollback(Exception failure) {
        try {
            target.rollback();
            target.setAutoCommit(true);
        } catch (SQLException e) {
            failure.addSuppressed(e);
        }
    }

    private void copyTable(String table) throws SQLException {
        String format = Sql.isTrue(target, ONLY_BUILT_IN_TYPES, table) ? "binary" : "text";
        String columns = String.join(
                ", ",
                Sql.list(
                        source,
                        "SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = ?::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attname",
                        row -> row.getString(1),
                        table));
        CopyManager from = source.unwrap(PGConnection.class).getCopyAPI();
        CopyManager to = target.unwrap(PGConnection.class).getCopyAPI();
        CopyOut out = from.copyOut("COPY %s (%s) TO STDOUT (FORMAT %s)".formatted(table, columns, format));
        CopyIn in = null;
        try {
            in = to.copyIn("COPY %s (%s) FROM STDIN (FORMAT %s, FREEZE)".formatted(table, columns, format));
            pump(out, in);
            long rows = in.endCopy();
            progress.copied(0, rows);
        } catch (SQLException | RuntimeException e) {
            if (in != null && in.isActive()) {
                in.cancelCopy();
            }
            if (out.isActive()) {
                out.cancelCopy();
            }
            throw e;
        }
    }

    /** Sends rows on in pieces: the driver sends each piece as a message of its own. */
    private void pump(CopyOut out, CopyIn in) throws SQLException {
        byte[] buffer = new byte[64 * 1024];
        int filled = 0;
        for (byte[] row = out.readFromCopy(); row != null; row = out.readFromCopy()) {
            if (filled + row.length > buffer.length && filled > 0) {
                send(in, buffer, filled);
                filled = 0;
            }
            if (row.length > buffer.length) {
                send(in, row, row.length);
            } else {
                System.arraycopy(row, 0, buffer, filled, row.length);
                filled += row.length;
            }
        }
        if (filled > 0) {
            send(in, buffer, filled);
        }
    }

    private void send(CopyIn in, byte[] bytes, int length) throws SQLException {
        in.writeToCopy(bytes, 0, length);
        progress.copied(length, 0);
        throttle.copied(length);
    }

    @Override
    public void close() throws SQLException {
        try (Connection ignored = target) {
            source.close();
        }
    }
}
