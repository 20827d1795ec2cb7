/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import static java.util.stream.Collectors.joining;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;
import org.postgresql.copy.CopyOut;
import org.shardflake.Sharding;
import org.shardflake.compare.ForeignKeys;
import org.shardflake.compare.ForeignKeys.ForeignKey;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Sql;

/**
 * One table's rows on their way back from the shards. For one thread, in one session of the old database.
 *
 * <p>The rows of slices that are over do not change there, so their keys and hashes are read once, before any writer waits. Then, for each shard, all
 * of its rows are read, and what differs is written: in the caller's transaction, with nothing firing but our own triggers.
 */
final class SliceRows {

    /**
     * The SQLSTATEs of a row that conflicts with another by a unique key or an exclusion constraint, and of an identity column that only INSERT
     * can set.
     */
    private static final Set<String> CLASH = Set.of("23505", "23P01", "428C9");

    /** The types whose equal values are always identical. Others have values such as 1.0 and 1.00. */
    private static final Set<String> WHOLE_NUMBERS = Set.of("smallint", "integer", "bigint");

    private static final int SAMPLES = 3;

    /** Finds the keys that triggers check at the end of a statement or transaction; such triggers do not fire here. */
    private static final String LATE_KEYS =
            "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = ?::regclass AND NOT indimmediate ORDER BY 1";

    private static final String HAS = "EXISTS (SELECT FROM %s %s WHERE %s)";

    private final Connection connection;
    private final Route route;
    private final TableFacts table;
    private final List<Column> columns;
    private final ShardServers servers;
    private final Rows rows;
    private final String slice;
    private final String back;
    private final String lost;
    private boolean areReplaced;

    /**
     * @param adoption the number of the table's adoption
     * @param columns that are brought back
     * @param rows how rows are compared
     */
    SliceRows(Connection connection, Route route, int adoption, List<Column> columns, ShardServers servers, Rows rows) {
        this.connection = connection;
        this.route = route;
        this.table = route.table();
        this.columns = columns;
        this.servers = servers;
        this.rows = rows;
        this.slice = "pg_temp.shardflake_slice_" + adoption;
        this.back = "pg_temp.shardflake_back_" + adoption;
        this.lost = "pg_temp.shardflake_lost_" + adoption;
    }

    String name() {
        return table.name();
    }

    /** Refuses deferrable unique keys, which nothing would check. */
    void check() throws SQLException {
        List<String> late = Sql.list(connection, LATE_KEYS, row -> row.getString(1), table.name());
        if (!late.isEmpty()) {
            throw new AdoptRefusedException(
                    "%s has a deferrable unique key, %s, which is not checked for rows that come back"
                            .formatted(table.name(), late.get(0)),
                    "make it NOT DEFERRABLE");
        }
    }

    /** Reads the old table's rows of shards that have left, and creates the temporary tables for returning rows. */
    void remember(Collection<Integer> shards) throws SQLException {
        String ids = shards.stream().map(String::valueOf).collect(joining(","));
        String shard = route.shard("t");
        Sql.execute(connection, """
                DROP TABLE IF EXISTS %1$s, %2$s, %3$s;
                CREATE TEMP TABLE %4$s AS SELECT %5$s AS shardflake_shard, %6$s, %7$s AS shardflake_hash FROM %8$s t WHERE %5$s = ANY ('{%9$s}'::integer[]);
                CREATE INDEX ON %1$s (shardflake_shard);
                CREATE TEMP TABLE %10$s AS SELECT %11$s, NULL::bigint AS shardflake_hash FROM %12$s t WITH NO DATA;
                CREATE TEMP TABLE %13$s AS SELECT t.* FROM %12$s t WITH NO DATA;
                ANALYZE %1$s
                """.formatted(
                        slice,
                        back,
                        lost,
                        slice,
                        shard,
                        table.keyOf("t"),
                        rows.hash(),
                        table.rows(),
                        ids,
                        back,
                        names("t."),
                        table.own(),
                        lost));
    }

    private String names(String row) {
        return columns.stream().map(column -> row + column.quoted()).collect(joining(", "));
    }

    private static String same(String one, String other) {
        return "(%s) = (%s)".formatted(one, other);
    }

    /** A condition that the old table has a returning row unchanged. */
    private String isSame(int shard) {
        return HAS.formatted(
                slice,
                "s",
                "s.shardflake_shard = %s AND %s AND s.shardflake_hash = b.shardflake_hash"
                        .formatted(shard, same(table.keyOf("s"), table.keyOf("b"))));
    }

    /** A condition that the old table has a returning row, with the same values or others. */
    private String isKnown(int shard) {
        return HAS.formatted(
                slice,
                "s",
                "s.shardflake_shard = %s AND %s".formatted(shard, same(table.keyOf("s"), table.keyOf("b"))));
    }

    /** Reads all rows of a shard, which accepts no more writes. */
    void read(int shard) throws SQLException {
        areReplaced = false;
        Sql.execute(connection, "TRUNCATE %s, %s".formatted(back, lost));
        ShardTables server = servers.ofShard(shard);
        CopyOut out = server.connection()
                .unwrap(PGConnection.class)
                .getCopyAPI()
                .copyOut("COPY (SELECT %s, %s FROM %s t) TO STDOUT"
                        .formatted(names("t."), rows.hash(), server.table(shard)));
        try (Sql.Ending ending = () -> Sql.cancel(server.connection(), out)) {
            CopyIn in = connection.unwrap(PGConnection.class).getCopyAPI().copyIn("COPY %s FROM STDIN".formatted(back));
            try (Sql.Ending failed = () -> Sql.cancel(in)) {
                for (byte[] line = out.readFromCopy(); line != null; line = out.readFromCopy()) {
                    in.writeToCopy(line, 0, line.length);
                }
                in.endCopy();
            }
        }
        Sql.execute(connection, "ANALYZE " + back);
        Sql.execute(connection, """
                INSERT INTO %s SELECT t.* FROM %s t JOIN %s s ON s.shardflake_shard = %s AND %s
                 WHERE NOT EXISTS (SELECT FROM %s b WHERE %s AND b.shardflake_hash = s.shardflake_hash)
                """.formatted(
                        lost,
                        table.own(),
                        slice,
                        shard,
                        same(table.keyOf("s"), table.keyOf("t")),
                        back,
                        same(table.keyOf("b"), table.keyOf("s"))));
    }

    /** Deletes the rows that the shard no longer has. */
    void deleteGone() throws SQLException {
        Sql.execute(
                connection,
                "DELETE FROM %s t USING %s l WHERE %s AND NOT EXISTS (SELECT FROM %s b WHERE %s)"
                        .formatted(
                                table.own(),
                                lost,
                                same(table.keyOf("l"), table.keyOf("t")),
                                back,
                                same(table.keyOf("b"), table.keyOf("t"))));
    }

    /**
     * Updates rows in place, so that a waiting statement sees their current state; rows that have exchanged a unique value are deleted and
     * inserted.
     */
    void update(int shard) throws SQLException {
        String values = columns.stream()
                .filter(column -> !table.primaryKey().contains(column.name()) || !WHOLE_NUMBERS.contains(column.type()))
                .map(column -> "%1$s = b.%1$s".formatted(column.quoted()))
                .collect(joining(", "));
        if (values.isEmpty()) {
            return;
        }
        String changed = "%s b WHERE %s AND %s AND NOT %s"
                .formatted(back, same(table.keyOf("b"), table.keyOf("t")), isKnown(shard), isSame(shard));
        Savepoint before = connection.setSavepoint();
        try {
            Sql.execute(connection, "UPDATE %s t SET %s FROM %s".formatted(table.own(), values, changed));
            connection.releaseSavepoint(before);
        } catch (SQLException e) {
            if (!CLASH.contains(String.valueOf(e.getSQLState()))) {
                throw e;
            }
            connection.rollback(before);
            Sql.execute(connection, "DELETE FROM %s t USING %s".formatted(table.own(), changed));
            areReplaced = true;
        }
    }

    /** Inserts the rows that only the shard has. */
    void insert(int shard) throws SQLException {
        Sql.execute(
                connection,
                "INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM %s b WHERE NOT %s"
                        .formatted(
                                table.name(),
                                names(""),
                                names("b."),
                                back,
                                areReplaced ? isSame(shard) : isKnown(shard)));
    }

    /** Compares all rows of the shard with those of the table, and refuses any that differ. */
    void compare(int shard) throws SQLException {
        String is =
                "(SELECT %s, %s AS shardflake_shard, %s AS shardflake_hash FROM %s t WHERE (%s) IN (SELECT %s FROM %s b))"
                        .formatted(
                                table.keyOf("t"),
                                route.shard("t"),
                                rows.hash(),
                                table.rows(),
                                table.keyOf("t"),
                                table.keyOf("b"),
                                back);
        List<String> differing = Sql.list(
                connection,
                """
                SELECT concat_ws(', ', %1$s) FROM %2$s b
                 WHERE NOT EXISTS (SELECT FROM %3$s i WHERE %4$s AND i.shardflake_shard = %5$s AND i.shardflake_hash = b.shardflake_hash)
                 UNION
                SELECT concat_ws(', ', %6$s) FROM %7$s t JOIN %8$s l ON %9$s
                 WHERE NOT EXISTS (SELECT FROM %2$s b WHERE %10$s)
                 ORDER BY 1 LIMIT %11$s
                """.formatted(
                                table.keyOf("b"),
                                back,
                                is,
                                same(table.keyOf("i"), table.keyOf("b")),
                                shard,
                                table.keyOf("t"),
                                table.own(),
                                lost,
                                same(table.keyOf("l"), table.keyOf("t")),
                                same(table.keyOf("b"), table.keyOf("t")),
                                SAMPLES),
                row -> "(" + row.getString(1) + ")");
        if (!differing.isEmpty()) {
            throw new AdoptRefusedException(
                    "shard %s cannot come back: %s would have other rows than %s, such as %s"
                            .formatted(shard, table.name(), Sharding.schema(shard), String.join(", ", differing)),
                    "correct or delete them in the shard: the key must be that of the row that they refer to, and the values those that the old columns keep");
        }
    }

    /** Refuses rows that break a foreign key of the old database, since the key is not checked when they are written. */
    void checkForeignKeys(int shard, List<ForeignKey> keys) throws SQLException {
        for (ForeignKey key : keys) {
            List<String> conditions = new ArrayList<>();
            if (key.isFrom(table.own())) {
                String isWritten = "(%s) IN (SELECT %s FROM %s b WHERE NOT %s)"
                        .formatted(table.keyOf("c"), table.keyOf("b"), back, isSame(shard));
                ForeignKeys.keepReferred(connection, key, isWritten);
                conditions.add(isWritten);
            }
            if (key.isTo(table.own())) {
                conditions.add(key.refersTo(lost));
            }
            for (String condition : conditions) {
                List<String> broken = ForeignKeys.broken(connection, key, condition);
                if (!broken.isEmpty()) {
                    throw new AdoptRefusedException(
                            "shard %s cannot come back: rows would break foreign key %s of %s to %s, such as %s"
                                    .formatted(
                                            shard, key.name(), key.table(), key.referred(), String.join(", ", broken)),
                            "add the rows that they refer to, or delete them");
                }
            }
        }
    }

    /** The foreign keys of the old table, and those of other tables that refer to it. */
    List<ForeignKey> foreignKeys() throws SQLException {
        return ForeignKeys.of(connection, "SELECT CAST(?::regclass AS oid)", table.name());
    }
}
