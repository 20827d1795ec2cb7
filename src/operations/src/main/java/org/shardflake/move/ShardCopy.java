/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;
import org.postgresql.copy.CopyManager;
import org.postgresql.copy.CopyOut;
import org.shardflake.Sharding;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Sql;

/**
 * Copies the rows of shards over two connections. For one thread.
 *
 * <p>A shard is copied in one transaction: existing rows are truncated, so it can be restarted; rows are written frozen, and indexes
 * of a large shard are built after its rows are in.
 */
final class ShardCopy implements AutoCloseable {

    private static final String FOREIGN_KEY_VIOLATION = "23503";

    /** The size of a shard's tables, in bytes, from which copying is faster without indexes, which are built afterwards. */
    private static final long LARGE = 1 << 20;

    /**
     * Objects that are faster to build after the rows: indexes, primary keys and unique constraints, and the foreign keys within the
     * shard that need them. In dropping order; statements that drop, and statements that rebuild. Leaves out objects that something
     * else depends on, and those with properties missing from their definition.
     */
    private static final String BUILT_LAST = """
            WITH plain AS (
                SELECT t.oid, format('%I.%I', n.nspname, t.relname) AS name
                  FROM pg_namespace n JOIN pg_class t ON t.relnamespace = n.oid
                 WHERE n.nspname = ? AND t.relkind = 'r' AND NOT t.relispartition),
            foreign_key AS (
                SELECT k.oid, t.name AS of_table, k.conname
                  FROM plain t JOIN pg_constraint k ON k.conrelid = t.oid
                 WHERE k.contype = 'f' AND k.confrelid IN (SELECT oid FROM plain)
                   AND NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgconstraint = k.oid AND g.tgenabled <> 'O')
                   AND NOT EXISTS (SELECT FROM pg_description d WHERE d.objoid = k.oid)),
            built AS (
                SELECT t.name AS of_table, k.oid AS constraint_oid, k.conname, x.indexrelid
                  FROM plain t JOIN pg_index x ON x.indrelid = t.oid JOIN pg_class i ON i.oid = x.indexrelid
                  LEFT JOIN pg_constraint k ON k.conindid = x.indexrelid AND k.contype IN ('p', 'u', 'x')
                 WHERE NOT x.indisreplident AND NOT x.indisclustered AND x.indisvalid
                   AND COALESCE(k.contype, 'u') IN ('p', 'u')
                   AND i.reltablespace = 0 AND (k.oid IS NULL OR i.reloptions IS NULL)
                   AND NOT EXISTS (SELECT FROM pg_depend d
                                    WHERE (d.refclassid = 'pg_class'::regclass AND d.refobjid = x.indexrelid
                                           OR d.refclassid = 'pg_constraint'::regclass AND d.refobjid = k.oid)
                                      AND d.deptype <> 'i'
                                      AND NOT (d.classid = 'pg_constraint'::regclass AND d.objid IN (SELECT oid FROM foreign_key)))
                   AND NOT EXISTS (SELECT FROM pg_description d WHERE d.objoid IN (x.indexrelid, k.oid))
                   AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = x.indexrelid AND a.attstattarget >= 0))
            SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', of_table, conname),
                   format('ALTER TABLE %s ADD CONSTRAINT %I %s', of_table, conname, pg_get_constraintdef(oid)), 1 AS turn
              FROM foreign_key
             UNION ALL
            SELECT CASE WHEN constraint_oid IS NULL THEN format('DROP INDEX %s', indexrelid::regclass)
                        ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', of_table, conname) END,
                   CASE WHEN constraint_oid IS NULL THEN pg_get_indexdef(indexrelid)
                        ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s', of_table, conname, pg_get_constraintdef(constraint_oid)) END, 2
              FROM built
             ORDER BY turn
            """;

    /**
     * What would fire for rows that are copied: triggers, the fence among them, and foreign keys. Those to reference tables stay, since
     * dropping them would lock tables that others read; the rows that they need are there already.
     */
    private static final String FIRING = """
            WITH own AS (
                SELECT t.oid, format('%I.%I', n.nspname, t.relname) AS name
                  FROM pg_namespace n JOIN pg_class t ON t.relnamespace = n.oid WHERE n.nspname = ? AND t.relkind IN ('r', 'p'))
            SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', t.name, k.conname),
                   format('ALTER TABLE %s ADD CONSTRAINT %I %s', t.name, k.conname, pg_get_constraintdef(k.oid))
                   || COALESCE((SELECT format('; COMMENT ON CONSTRAINT %I ON %s IS %L', k.conname, t.name, d.description)
                                  FROM pg_description d WHERE d.objoid = k.oid AND d.classoid = 'pg_constraint'::regclass), ''), 1 AS turn
              FROM own t JOIN pg_constraint k ON k.conrelid = t.oid WHERE k.contype = 'f' AND k.conparentid = 0 AND k.confrelid IN (SELECT oid FROM own)
             UNION ALL
            SELECT format('ALTER TABLE %s DISABLE TRIGGER %I', t.name, g.tgname), format('ALTER TABLE %s ENABLE TRIGGER %I', t.name, g.tgname), 2
              FROM own t JOIN pg_trigger g ON g.tgrelid = t.oid WHERE NOT g.tgisinternal AND g.tgenabled = 'O'
             ORDER BY turn
            """;

    /** In the binary format, values of user-defined types and arrays of them carry numbers that differ between servers. */
    private static final String ONLY_BUILT_IN_TYPES = """
            SELECT NOT EXISTS (
                SELECT FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
                 WHERE a.attrelid = ?::regclass AND a.attnum > 0 AND NOT a.attisdropped
                   AND (t.typnamespace <> 'pg_catalog'::regnamespace OR t.typsend = 0 OR t.typreceive = 0
                        OR t.oid = ANY ('{aclitem,aclitem[],regclass,regproc,regprocedure,regoper,regoperator,regtype,regrole,regnamespace,regconfig,regdictionary}'::regtype[])))
            """;

    /**
     * Its columns but for generated ones, its size in bytes without and with TOAST, how many rows PostgreSQL takes it to have, if it knows,
     * and the number of its indexes.
     */
    private static final String TABLE = """
            SELECT COALESCE(string_agg(quote_ident(a.attname), ', ' ORDER BY a.attname), ''),
                   pg_table_size(c.oid) - COALESCE(pg_total_relation_size(NULLIF(c.reltoastrelid, 0)), 0), pg_table_size(c.oid), c.reltuples,
                   (SELECT count(*) FROM pg_index x WHERE x.indrelid = c.oid)
              FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
             WHERE c.oid = ?::regclass GROUP BY c.oid, c.reltuples
            """;

    /** The time of a byte in TOAST, whose index is kept while it is filled, relative to a byte beside it. As measured, like the others. */
    private static final double TOASTED = 2.5;

    /** The time of a row besides its bytes, in bytes that could be copied meanwhile. */
    private static final long ROW = 100;

    /** The time of an entry of an index that is built afterwards, likewise. */
    private static final long ENTRY = 60;

    private final Connection source;
    private final Connection target;
    private final Throttle throttle;
    private final Progress progress;

    /** Receives the progress. */
    @FunctionalInterface
    interface Progress {
        /**
         * More was copied.
         *
         * @param bytes sent
         * @param rows of a table that has all its rows now, otherwise 0
         * @param size how much of the shard's size on the source that stands for
         */
        void copied(long bytes, long rows, long size);
    }

    /**
     * Copies over these connections, and closes them.
     *
     * @param source in a transaction that sees what to copy
     * @param target in auto-commit mode
     */
    ShardCopy(Connection source, Connection target, Throttle throttle, Progress progress) {
        this.source = source;
        this.target = target;
        this.throttle = throttle;
        this.progress = progress;
    }

    /**
     * Copies the rows of a shard.
     *
     * @param bytes approximate size of its tables on the source
     */
    void copy(int shard, long bytes, List<String> tables, String checkClaim) throws SQLException {
        target.setAutoCommit(false);
        try {
            // The first setting is for ANALYZE too.
            Sql.execute(target, checkClaim + "SET synchronous_commit = off; SET LOCAL maintenance_work_mem = '256MB'");
            Deque<String> builds = new ArrayDeque<>();
            silenceTriggers(shard, builds);
            if (!tables.isEmpty()) {
                Sql.execute(target, "TRUNCATE " + String.join(", ", tables));
            }
            if (bytes >= LARGE) {
                takeAway(BUILT_LAST, shard, builds);
            }
            Map<String, Table> its = new LinkedHashMap<>();
            for (String table : tables) {
                its.put(table, Sql.list(source, TABLE, Table::read, table).get(0));
            }
            boolean isBuiltLast = !builds.isEmpty();
            double work = its.values().stream()
                    .mapToDouble(table -> table.work() + (isBuiltLast ? table.workOfIndexes() : 0))
                    .sum();
            for (Map.Entry<String, Table> table : its.entrySet()) {
                copyTable(
                        table.getKey(),
                        table.getValue(),
                        Math.round(bytes * table.getValue().work() / work));
            }
            for (String build : builds) {
                Sql.execute(target, build);
            }
            target.commit();
        } catch (SQLException | RuntimeException e) {
            rollback(e);
            if (e instanceof SQLException broken && FOREIGN_KEY_VIOLATION.equals(broken.getSQLState())) {
                throw new MoveException(
                        "shard %d cannot be copied, since rows on the source break a foreign key. Mend them there, and run the same command again. %s"
                                .formatted(shard, String.valueOf(e.getMessage()).replaceAll("\\s*\n\\s*", ". ")),
                        e);
            }
            throw e;
        }
        target.setAutoCommit(true);
        if (!tables.isEmpty()) {
            // After the commit, without which autovacuum would soon repeat it.
            Sql.execute(target, "ANALYZE " + String.join(", ", tables));
        }
    }

    /** Whether the target has exactly the source's rows in these tables. Reading them takes a fraction of the time of writing them. */
    boolean isThere(List<String> tables) throws SQLException {
        Sql.execute(source, Rows.SETTINGS);
        Sql.execute(target, Rows.SETTINGS);
        for (String table : tables) {
            Rows rows = Rows.of(source, target, table);
            if (!InParallel.both(() -> rows.digest(source), () -> rows.digest(target))
                    .areEqual()) {
                return false;
            }
        }
        return true;
    }

    /**
     * As in replication, fences and other triggers do not fire, including those of foreign keys. Where the role may not say so for its
     * session, the triggers are disabled and the shard's foreign keys dropped, until the rows are in; only then does anybody see the tables.
     */
    private void silenceTriggers(int shard, Deque<String> builds) throws SQLException {
        Savepoint before = target.setSavepoint();
        try {
            Sql.execute(target, "SET LOCAL session_replication_role = replica");
        } catch (SQLException e) {
            if (!Sql.isNotAllowed(e)) {
                throw e;
            }
            target.rollback(before);
            takeAway(FIRING, shard, builds);
        }
    }

    /** Runs the first statement of each pair, and puts the second on what is to be rebuilt: what was taken away last comes first. */
    private void takeAway(String pairs, int shard, Deque<String> builds) throws SQLException {
        for (String[] statements : Sql.list(
                target, pairs, row -> new String[] {row.getString(1), row.getString(2)}, Sharding.schema(shard))) {
            Sql.execute(target, statements[0]);
            builds.push(statements[1]);
        }
    }

    private void rollback(Exception failure) {
        try {
            target.rollback();
            target.setAutoCommit(true);
        } catch (SQLException e) {
            failure.addSuppressed(e);
        }
    }

    /** @param size by which its progress is counted: its part of the shard's, by the time that it takes */
    private void copyTable(String table, Table its, long size) throws SQLException {
        String format = Sql.isTrue(target, ONLY_BUILT_IN_TYPES, table) ? "binary" : "text";
        CopyManager from = source.unwrap(PGConnection.class).getCopyAPI();
        CopyManager to = target.unwrap(PGConnection.class).getCopyAPI();
        CopyOut out = from.copyOut("COPY %s (%s) TO STDOUT (FORMAT %s)".formatted(table, its.columns(), format));
        CopyIn in = null;
        try {
            in = to.copyIn("COPY %s (%s) FROM STDIN (FORMAT %s, FREEZE)".formatted(table, its.columns(), format));
            Pump pump = new Pump(in, its.rows(), size);
            pump.forward(out);
            pump.end();
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

    /**
     * A table on the source.
     *
     * @param bytes without TOAST
     * @param toast the bytes of its TOAST
     * @param rows about how many it has; 0 if that is not known
     */
    private record Table(String columns, long bytes, long toast, long rows, long indexes) {

        static Table read(ResultSet row) throws SQLException {
            return new Table(
                    row.getString(1),
                    row.getLong(2),
                    row.getLong(3) - row.getLong(2),
                    Math.max(0, (long) row.getDouble(4)),
                    row.getLong(5));
        }

        /** The time that its rows take, in bytes of a table without TOAST. */
        double work() {
            return 1 + bytes + TOASTED * toast + ROW * rows;
        }

        double workOfIndexes() {
            return ENTRY * rows * indexes;
        }
    }

    /** Forwards rows in pieces: the driver sends each piece as a message of its own. */
    private final class Pump {

        private final CopyIn in;
        private final long tableRows;
        private final long size;
        private final byte[] buffer = new byte[64 * 1024];
        private int filled;
        private long rows;
        private long counted;

        Pump(CopyIn in, long tableRows, long size) {
            this.in = in;
            this.tableRows = tableRows;
            this.size = size;
        }

        void forward(CopyOut out) throws SQLException {
            for (byte[] row = out.readFromCopy(); row != null; row = out.readFromCopy()) {
                if (filled + row.length > buffer.length && filled > 0) {
                    send(buffer, filled);
                    filled = 0;
                }
                rows++;
                if (row.length > buffer.length) {
                    send(row, row.length);
                } else {
                    System.arraycopy(row, 0, buffer, filled, row.length);
                    filled += row.length;
                }
            }
            if (filled > 0) {
                send(buffer, filled);
            }
        }

        /** Reports rows by their part of all rows: what is sent of values that TOAST compresses is larger than the table. */
        private void send(byte[] bytes, int length) throws SQLException {
            in.writeToCopy(bytes, 0, length);
            long part = tableRows > 0 ? size * rows / tableRows : length;
            long more = Math.min(part, size - counted);
            counted += more;
            rows = 0;
            progress.copied(length, 0, more);
            throttle.copied(length);
        }

        void end() throws SQLException {
            progress.copied(0, in.endCopy(), size - counted);
        }
    }

    @Override
    public void close() {
        Sql.close(source);
        Sql.close(target);
    }
}
