/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import static java.util.stream.Collectors.joining;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyOut;
import org.shardflake.Sharding;
import org.shardflake.compare.ForeignKeys;
import org.shardflake.compare.ForeignKeys.ForeignKey;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Sql;

/**
 * One table's rows on their way back from the shards. For one thread, in one session of the old database.
 *
 * <p>The rows of slices that are over do not change there, so their keys and hashes are read once. The rows of a shard are read while it accepts writes,
 * and those that differ from the slice are kept. When the shard accepts no more writes, only the rows are read that were written since then: those of
 * transactions that the first reading did not see. A row that was deleted is missed by the number of rows, and found by its key. Then what differs is
 * written: in the caller's transaction, with nothing firing but our own triggers.
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

    /** The number of rows up to which a temporary table is emptied by DELETE and not analyzed: TRUNCATE makes files, and a pause may do it for each table. */
    private static final int FEW_ROWS = 1000;

    /** Finds the keys that triggers check at the end of a statement or transaction; such triggers do not fire here. */
    private static final String LATE_KEYS =
            "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = ?::regclass AND NOT indimmediate ORDER BY 1";

    private static final String HAS = "EXISTS (SELECT FROM %s %s WHERE %s)";

    /** The first transaction that the next snapshot may not see; those before it have ended. */
    static final String FIRST_UNSEEN = "SELECT pg_snapshot_xmin(pg_current_snapshot())::xid::text";

    /**
     * The temporary tables: the slices' keys and hashes, the rows that come back, those that were just read, the keys that the shard has no more, the
     * table's rows that differ, and those that decide about other shards than before.
     */
    private static final String CREATE = """
            DROP TABLE IF EXISTS %1$s, %2$s, %3$s, %4$s, %5$s, %6$s;
            CREATE TEMP TABLE %1$s AS SELECT %7$s AS shardflake_shard, %8$s, %9$s AS shardflake_hash FROM %10$s t WHERE %7$s = ANY ('{%11$s}'::integer[]);
            CREATE INDEX ON %1$s (shardflake_shard);
            CREATE INDEX ON %1$s (%12$s);
            CREATE TEMP TABLE %2$s AS SELECT %13$s, NULL::bigint AS shardflake_hash FROM %14$s t WITH NO DATA;
            CREATE TEMP TABLE %3$s AS SELECT * FROM %2$s WITH NO DATA;
            CREATE TEMP TABLE %4$s AS SELECT %8$s FROM %14$s t WITH NO DATA;
            CREATE TEMP TABLE %5$s AS SELECT t.* FROM %14$s t WITH NO DATA;
            CREATE TEMP TABLE %6$s AS SELECT t.* FROM %14$s t WITH NO DATA;
            ANALYZE %1$s, %2$s, %3$s, %4$s, %5$s, %6$s
            """;

    private final Connection connection;
    private final Route route;
    private final TableFacts table;
    private final List<Column> columns;
    private final ShardServers servers;
    private final Rows rows;
    private final boolean areShardsPartitioned;
    private final String slice;
    private final String back;
    private final String late;
    private final String gone;
    private final String lost;
    private final String moved;
    private boolean areReplaced;
    /** What {@link #FIRST_UNSEEN} said before the shard was read; empty if it was not. */
    private String since = "";

    /** The number of rows that the shard had when it was read. */
    private long count;

    /** The number of rows that were just read. */
    private long lateRows;

    /**
     * @param adoption the number of the table's adoption
     * @param columns that are brought back
     * @param rows how rows are compared
     * @param areShardsPartitioned whether the tables in the shards are
     */
    SliceRows(
            Connection connection,
            Route route,
            int adoption,
            List<Column> columns,
            ShardServers servers,
            Rows rows,
            boolean areShardsPartitioned) {
        this.connection = connection;
        this.route = route;
        this.table = route.table();
        this.columns = columns;
        this.servers = servers;
        this.rows = rows;
        this.areShardsPartitioned = areShardsPartitioned;
        this.slice = "pg_temp.shardflake_slice_" + adoption;
        this.back = "pg_temp.shardflake_back_" + adoption;
        this.late = "pg_temp.shardflake_late_" + adoption;
        this.gone = "pg_temp.shardflake_gone_" + adoption;
        this.lost = "pg_temp.shardflake_lost_" + adoption;
        this.moved = "pg_temp.shardflake_moved_" + adoption;
    }

    String name() {
        return table.name();
    }

    boolean isPartitioned() {
        return table.isPartitioned() || areShardsPartitioned;
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
        Sql.execute(
                connection,
                CREATE.formatted(
                        slice,
                        back,
                        late,
                        gone,
                        lost,
                        moved,
                        route.shard("t"),
                        table.keyOf("t"),
                        rows.hash(),
                        table.rows(),
                        shards.stream().map(String::valueOf).collect(joining(",")),
                        quotedKey(),
                        names("t."),
                        table.own()));
    }

    private String names(String row) {
        return columns.stream().map(column -> row + column.quoted()).collect(joining(", "));
    }

    private static String same(String one, String other) {
        return "(%s) = (%s)".formatted(one, other);
    }

    /** A condition that the old table has a returning row, with the same values or others. */
    private String isKnown(int shard) {
        return HAS.formatted(
                slice,
                "s",
                "s.shardflake_shard = %s AND %s".formatted(shard, same(table.keyOf("s"), table.keyOf("b"))));
    }

    /** A condition that another table has a row with the same key. */
    private String isIn(String other, String row) {
        return HAS.formatted(other, "o", same(table.keyOf("o"), table.keyOf(row)));
    }

    /** Forgets the shard before. Nothing is known of the rows that this one has. */
    void begin(int shard) throws SQLException {
        areReplaced = false;
        since = "";
        Sql.execute(connection, """
                TRUNCATE %1$s, %2$s, %3$s, %4$s, %5$s;
                INSERT INTO %2$s SELECT %6$s FROM %7$s s WHERE s.shardflake_shard = %8$s;
                ANALYZE %1$s, %2$s, %3$s, %4$s, %5$s
                """.formatted(back, gone, late, lost, moved, table.keyOf("s"), slice, shard));
        lateRows = 0;
    }

    /** A condition that the shard's rows may have changed since they were read. */
    String hasChanged(int shard) {
        return "(SELECT count(*) <> %s OR count(*) FILTER (WHERE age(t.xmin) <= age('%s'::xid)) > 0 FROM %s t)"
                .formatted(count, since, servers.ofShard(shard).table(shard));
    }

    /** A condition that the shard has rows that the table has not, or lacks some. */
    String hasWork() {
        return "EXISTS (SELECT FROM %s) OR EXISTS (SELECT FROM %s)".formatted(back, gone);
    }

    /** SQL for the number of rows that the table has otherwise, or not, or would lose. */
    String work() {
        return "(SELECT count(*) FROM %s) + (SELECT count(*) FROM %s)".formatted(back, gone);
    }

    /**
     * Reads the rows of the shard that were written since the last reading, all of them at first, and keeps those that the table has not.
     *
     * @param seen what {@link #FIRST_UNSEEN} says of the snapshot of the shard's connection
     */
    void read(int shard, String seen) throws SQLException {
        ShardTables server = servers.ofShard(shard);
        copy(
                server,
                "SELECT %s, %s FROM %s t WHERE %s"
                        .formatted(
                                names("t."),
                                rows.hash(),
                                server.table(shard),
                                since.isEmpty() ? "true" : "age(t.xmin) <= age('%s'::xid)".formatted(since)),
                "");
        take(shard);
        count = Sql.number(server.connection(), "SELECT count(*) FROM " + server.table(shard));
        if (count != known(shard)) {
            copy(
                    server,
                    "SELECT %s FROM %s t".formatted(table.keyOf("t"), server.table(shard)),
                    "(%s)".formatted(quotedKey()));
            forgetDeleted(shard);
            if (count != known(shard)) {
                throw new AdoptRefusedException(
                        "shard %s cannot come back: rows of %s there have equal primary keys, as %s compares them"
                                .formatted(shard, server.table(shard), table.name()),
                        "delete or change one of them in the shard");
            }
        }
        since = seen;
    }

    private String quotedKey() {
        return table.primaryKey().stream()
                .map(name -> table.column(name).orElseThrow().quoted())
                .collect(joining(", "));
    }

    /** @param only the columns that the query has, in parentheses; empty for all */
    private void copy(ShardTables server, String query, String only) throws SQLException {
        Sql.execute(connection, (lateRows <= FEW_ROWS ? "DELETE FROM " : "TRUNCATE ") + late);
        lateRows = Long.MAX_VALUE; // If it fails.
        CopyOut out = server.connection()
                .unwrap(PGConnection.class)
                .getCopyAPI()
                .copyOut("COPY (%s) TO STDOUT".formatted(query));
        try (Sql.Ending ending = () -> Sql.cancel(server.connection(), out)) {
            lateRows = OldTable.copyIn(connection, out, late + " " + only);
        }
        analyze(late);
    }

    /** Tells the planner how many rows some tables have, if they can be many. */
    private void analyze(String tables) throws SQLException {
        if (lateRows > FEW_ROWS) {
            Sql.execute(connection, "ANALYZE " + tables);
        }
    }

    /** Keeps the rows that were read and that the table has not, with these values. */
    private void take(int shard) throws SQLException {
        String isSame = HAS.formatted(
                slice,
                "s",
                "s.shardflake_shard = %s AND %s AND s.shardflake_hash = b.shardflake_hash"
                        .formatted(shard, same(table.keyOf("s"), table.keyOf("b"))));
        Sql.execute(connection, """
                DELETE FROM %1$s b WHERE %2$s;
                DELETE FROM %3$s g WHERE %4$s;
                INSERT INTO %1$s SELECT b.* FROM %5$s b WHERE NOT %6$s
                """.formatted(back, isIn(late, "b"), gone, isIn(late, "g"), late, isSame));
        analyze(back + ", " + gone);
    }

    /** The number of rows that the shard has if none was deleted since they were read. */
    private long known(int shard) throws SQLException {
        return Sql.list(
                        connection,
                        "SELECT (SELECT count(*) FROM %s s WHERE s.shardflake_shard = %s) - (SELECT count(*) FROM %s) + (SELECT count(*) FROM %s b WHERE NOT %s)"
                                .formatted(slice, shard, gone, back, isKnown(shard)),
                        row -> row.getLong(1))
                .get(0);
    }

    /** Notes that the shard has only the rows whose keys were read. */
    private void forgetDeleted(int shard) throws SQLException {
        Sql.execute(connection, """
                INSERT INTO %1$s SELECT %2$s FROM %3$s s WHERE s.shardflake_shard = %4$s AND NOT %5$s AND NOT %6$s;
                DELETE FROM %7$s b WHERE NOT %8$s
                """.formatted(
                        gone, table.keyOf("s"), slice, shard, isIn(late, "s"), isIn(gone, "s"), back, isIn(late, "b")));
        analyze(back + ", " + gone);
    }

    /**
     * Finds the rows of the table that the shard has otherwise or no more, and those whose shard they decide about.
     *
     * @param parent of this table's rows, which has done the same; null if they have the key
     */
    void findLost(int shard, @Nullable SliceRows parent) throws SQLException {
        Sql.execute(connection, """
                INSERT INTO %1$s SELECT t.* FROM %3$s t WHERE (%4$s) IN (SELECT %5$s FROM %6$s g UNION ALL SELECT %7$s FROM %8$s b WHERE %9$s);
                INSERT INTO %2$s SELECT l.* FROM %1$s l WHERE NOT EXISTS (SELECT FROM %8$s b WHERE %10$s AND %11$s)
                """.formatted(
                        lost,
                        moved,
                        table.own(),
                        table.keyOf("t"),
                        table.keyOf("g"),
                        gone,
                        table.keyOf("b"),
                        back,
                        isKnown(shard),
                        same(table.keyOf("b"), table.keyOf("l")),
                        decidesAlike()));
        Route.Link link = route.link();
        if (link != null
                && parent != null
                && Sql.isTrue(connection, "SELECT EXISTS (SELECT FROM %s)".formatted(parent.moved))) {
            Sql.execute(connection, """
                    INSERT INTO %1$s SELECT t.* FROM %2$s t JOIN %3$s s ON s.shardflake_shard = %4$s AND %5$s
                     WHERE (%6$s) IN (SELECT %7$s FROM %8$s p) AND NOT %9$s
                    """.formatted(
                            moved,
                            table.own(),
                            slice,
                            shard,
                            same(table.keyOf("s"), table.keyOf("t")),
                            table.listOf("t", link.columns()),
                            parent.table.listOf("p", link.to()),
                            parent.moved,
                            isIn(moved, "t")));
        }
    }

    /** A condition for a row that comes back: the rows that refer to it belong to the same shard as before, with the same key. */
    private String decidesAlike() {
        List<String> conditions = new ArrayList<>();
        for (String name : route.deciding()) {
            Column column = table.column(name).orElseThrow();
            conditions.add(
                    columns.contains(column)
                            ? "b.%1$s::text IS NOT DISTINCT FROM l.%1$s::text".formatted(column.quoted())
                            : "false");
        }
        return String.join(" AND ", conditions);
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
        String changed =
                "%s b WHERE %s AND %s".formatted(back, same(table.keyOf("b"), table.keyOf("t")), isKnown(shard));
        try {
            Sql.execute(
                    connection,
                    "SAVEPOINT before; UPDATE %s t SET %s FROM %s; RELEASE SAVEPOINT before"
                            .formatted(table.own(), values, changed));
        } catch (SQLException e) {
            if (!CLASH.contains(String.valueOf(e.getSQLState()))) {
                throw e;
            }
            Sql.execute(
                    connection,
                    "ROLLBACK TO SAVEPOINT before; DELETE FROM %s t USING %s".formatted(table.own(), changed));
            areReplaced = true;
        }
    }

    /** Inserts the rows that only the shard has. */
    void insert(int shard) throws SQLException {
        Sql.execute(
                connection,
                "INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM %s b WHERE %s"
                        .formatted(
                                table.name(),
                                names(""),
                                names("b."),
                                back,
                                areReplaced ? "true" : "NOT " + isKnown(shard)));
    }

    /**
     * Compares the rows that were written, and those that got their keys from such rows, and refuses any that differ from the shard's. No other row of the
     * slice has changed since it was found to be the same.
     */
    void compare(int shard) throws SQLException {
        List<String> differing = Sql.list(
                connection,
                """
                WITH wanted AS (
                    SELECT %1$s, b.shardflake_hash FROM %2$s b
                     UNION ALL
                    SELECT %3$s, s.shardflake_hash FROM %4$s s WHERE s.shardflake_shard = %5$s AND %6$s AND NOT %7$s AND NOT %8$s),
                found AS (
                    SELECT %9$s, %10$s AS shardflake_shard, %11$s AS shardflake_hash FROM %12$s t WHERE (%9$s) IN (SELECT %13$s FROM wanted w))
                SELECT concat_ws(', ', %13$s) FROM wanted w
                 WHERE NOT EXISTS (SELECT FROM found i WHERE %14$s AND i.shardflake_shard = %5$s AND i.shardflake_hash = w.shardflake_hash)
                 UNION
                SELECT concat_ws(', ', %9$s) FROM %15$s t JOIN %16$s g ON %17$s
                 ORDER BY 1 LIMIT %18$s
                """.formatted(
                                table.keyOf("b"),
                                back,
                                table.keyOf("s"),
                                slice,
                                shard,
                                isIn(moved, "s"),
                                isIn(back, "s"),
                                isIn(gone, "s"),
                                table.keyOf("t"),
                                route.shard("t"),
                                rows.hash(),
                                table.rows(),
                                table.keyOf("w"),
                                same(table.keyOf("i"), table.keyOf("w")),
                                table.own(),
                                gone,
                                same(table.keyOf("g"), table.keyOf("t")),
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
                String isWritten = "(%s) IN (SELECT %s FROM %s b)".formatted(table.keyOf("c"), table.keyOf("b"), back);
                ForeignKeys.keepReferred(connection, key, isWritten);
                conditions.add(isWritten);
            }
            if (key.isTo(table.own()) && areLost(key.referredColumns())) {
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

    /**
     * Whether a row has been deleted or has other values now, so that rows which referred to these values may refer to none. To find such rows may read all of
     * another table.
     *
     * @param columns as written in SQL
     */
    private boolean areLost(List<String> columns) throws SQLException {
        String isSame = columns.stream()
                .map(column -> "t.%1$s::text IS NOT DISTINCT FROM l.%1$s::text".formatted(column))
                .collect(joining(" AND "));
        return Sql.isTrue(
                connection,
                "SELECT EXISTS (SELECT FROM %s l WHERE NOT EXISTS (SELECT FROM %s t WHERE %s AND %s))"
                        .formatted(lost, table.own(), same(table.keyOf("t"), table.keyOf("l")), isSame));
    }

    /** The foreign keys of the old table, and those of other tables that refer to it. */
    List<ForeignKey> foreignKeys() throws SQLException {
        return ForeignKeys.of(connection, "SELECT CAST(?::regclass AS oid)", table.name());
    }
}
