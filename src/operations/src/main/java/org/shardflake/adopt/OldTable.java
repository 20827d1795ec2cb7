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
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;
import org.postgresql.copy.CopyOut;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Sql;

/** Reads the rows of the adopted table, each with its shard. */
final class OldTable {

    private static final int NONE = -1;

    /** The number of shards up to which a condition lists them. */
    private static final int LISTED = 100;

    private final Connection connection;
    private final Route route;
    private final TableFacts table;
    private final List<Column> columns;
    private final List<Route> children;
    private final Map<String, Integer> ids = new HashMap<>();

    /**
     * @param columns the columns that are brought over
     * @param children the routes of adopted tables whose rows have the keys of this one's
     */
    OldTable(Connection connection, Route route, List<Column> columns, List<Route> children) {
        this.connection = connection;
        this.route = route;
        this.table = route.table();
        this.columns = columns;
        this.children = children;
    }

    Connection connection() {
        return connection;
    }

    /**
     * A batch of rows in primary key order.
     *
     * @param end the primary key of the last row, as text
     * @param isLast whether no rows follow
     */
    record Batch(List<String> end, boolean isLast) {}

    /** Receives a row: its shard, and its line for COPY into the stage. */
    @FunctionalInterface
    interface RowReceiver {
        void row(int shard, byte[] line) throws SQLException;
    }

    /** Finds the batch of up to this many rows after a primary key; null if no rows follow. */
    @Nullable
    Batch nextBatch(@Nullable List<String> after, int rows) throws SQLException {
        String primaryKey = table.keyOf("t");
        String batch = "SELECT %s FROM %s t %s ORDER BY %s LIMIT %s"
                .formatted(
                        primaryKey,
                        table.own(),
                        after == null ? "" : "WHERE ROW(%s) > %s".formatted(primaryKey, row(after)),
                        primaryKey,
                        rows);
        String last = "SELECT ARRAY[%s], count(*) OVER () FROM (%s) t ORDER BY %s LIMIT 1"
                .formatted(keyParts("t", "%s::text"), batch, keyParts("t", "%s DESC"));
        List<Batch> found = Sql.list(
                connection,
                last,
                end -> new Batch(List.of((String[]) end.getArray(1).getArray()), end.getLong(2) < rows));
        return found.isEmpty() ? null : found.get(0);
    }

    private String keyParts(String row, String format) {
        return table.primaryKey().stream()
                .map(name -> format.formatted(
                        row + "." + table.column(name).orElseThrow().quoted()))
                .collect(joining(", "));
    }

    /** Reads the rows after one primary key up to another. Those without a shard are counted only. */
    Read read(@Nullable List<String> after, List<String> upTo, RowReceiver rows) throws SQLException {
        return copyOut(rowsWhere(between(after, upTo)), rows);
    }

    private String between(@Nullable List<String> after, List<String> upTo) {
        String primaryKey = table.keyOf("t");
        String from = after == null ? "" : "ROW(%s) > %s AND ".formatted(primaryKey, row(after));
        return "%sROW(%s) <= %s".formatted(from, primaryKey, row(upTo));
    }

    /** Records the rows without a shard that lie between two primary keys. Those that lose theirs later are in the journal. */
    void keepWaiting(Adoption adoption, @Nullable List<String> after, List<String> upTo) throws SQLException {
        Sql.execute(connection, keepWaiting(adoption, between(after, upTo)));
    }

    private String keepWaiting(Adoption adoption, String condition) {
        return "INSERT INTO %s SELECT %s FROM %s t WHERE %s AND %s IS NULL"
                .formatted(waiting(adoption), table.keyOf("t"), route.followed(), condition, route.shard("t"));
    }

    /**
     * Notes the rows that had no shard as changed, so that they are tried again; returns their number. Those that are gone have been noted for
     * that.
     */
    long retryWaiting(Adoption adoption) throws SQLException {
        return Sql.inTransaction(
                connection,
                () -> Sql.number(connection, """
                        WITH again AS (DELETE FROM %1$s RETURNING *),
                             noted AS (INSERT INTO %2$s (%3$s) SELECT %4$s FROM %5$s t WHERE (%6$s) IN (SELECT %7$s FROM again c) RETURNING 1)
                        SELECT count(*) FROM noted
                        """.formatted(
                                waiting(adoption),
                                changes(adoption.id()),
                                names(route),
                                table.listOf("t", route.noted()),
                                table.own(),
                                table.keyOf("t"),
                                table.keyOf("c"))));
    }

    /** The primary keys of some rows without a shard; the journal must be empty. */
    List<String> waiting(Adoption adoption, int limit) throws SQLException {
        return Sql.list(
                connection,
                "SELECT DISTINCT concat_ws(', ', %s) FROM %s c ORDER BY 1 LIMIT %s"
                        .formatted(table.keyOf("c"), waiting(adoption), limit),
                row -> row.getString(1));
    }

    private static String waiting(Adoption adoption) {
        return ChangeJournal.SCHEMA + ".waiting_" + adoption.id();
    }

    private static String changes(int id) {
        return ChangeJournal.SCHEMA + ".changes_" + id;
    }

    private static String names(Route route) {
        return route.noted().stream()
                .map(name -> route.table().column(name).orElseThrow().quoted())
                .collect(joining(", "));
    }

    private String row(List<String> values) {
        List<Column> primaryKey = table.primaryKey().stream()
                .map(name -> table.column(name).orElseThrow())
                .toList();
        return literals(values, primaryKey, Column::type);
    }

    private String rowsWhere(String condition) {
        String names = columns.stream().map(column -> "t." + column.quoted()).collect(joining(", "));
        return "SELECT %s, false, %s FROM %s t WHERE %s"
                .formatted(route.shard("t"), names, route.followed(), condition);
    }

    /** Notes all rows of a partition, within the connection's transaction, and that the keys of others may have changed with them. */
    void noteRows(Adoption adoption, String partition) throws SQLException {
        Sql.execute(
                connection,
                "INSERT INTO %s (shardflake_shard, %s%s) SELECT %s, %s%s FROM %s t"
                        .formatted(
                                changes(adoption.id()),
                                names(route),
                                route.hasChildren() ? ", shardflake_moved" : "",
                                route.link() == null ? route.shard("t") : "NULL::integer",
                                table.listOf("t", route.noted()),
                                route.hasChildren() ? ", true" : "",
                                partition));
    }

    /**
     * Notes the rows that shards have and the table has not, or has elsewhere, within the connection's transaction.
     *
     * @param left the shards that are left out, since they have left the old database
     */
    void noteGone(Adoption adoption, ShardServers servers, Set<Integer> left) throws SQLException {
        String found = "pg_temp.shardflake_found_" + adoption.id();
        Sql.execute(
                connection,
                "CREATE TEMP TABLE shardflake_found_%s ON COMMIT DROP AS SELECT NULL::integer AS shardflake_shard, %s FROM %s t WITH NO DATA"
                        .formatted(adoption.id(), table.listOf("t", route.noted()), table.own()));
        for (ShardTables server : servers.all()) {
            List<Integer> shards = server.shards().stream()
                    .boxed()
                    .filter(shard -> !left.contains(shard))
                    .toList();
            for (List<Integer> some : ShardTables.inParts(shards)) {
                String rows = some.stream()
                        .map(shard -> "SELECT %s, %s FROM %s t"
                                .formatted(shard, table.listOf("t", route.noted()), server.table(shard)))
                        .collect(joining(" UNION ALL "));
                copy(server.connection(), rows, found);
            }
        }
        Sql.execute(connection, "ANALYZE " + found);
        // A row is not of the shard when neither it nor its way leads there.
        String gone =
                "SELECT c.shardflake_shard, %s%%s FROM %s c WHERE NOT EXISTS (SELECT FROM %s t WHERE (%s) = (%s) AND %s = c.shardflake_shard)"
                        .formatted(
                                table.listOf("c", route.noted()),
                                found,
                                route.followed(),
                                table.keyOf("t"),
                                table.keyOf("c"),
                                route.shard("t"));
        String columns = "(shardflake_shard, %s%s)";
        boolean isParent = route.hasChildren();
        Sql.execute(
                connection,
                "INSERT INTO %s %s %s"
                        .formatted(
                                changes(adoption.id()),
                                columns.formatted(names(route), isParent ? ", shardflake_moved" : ""),
                                gone.formatted(isParent ? ", true" : "")));
        if (isParent) {
            Sql.execute(
                    connection,
                    "INSERT INTO %s.left_%s %s %s"
                            .formatted(
                                    ChangeJournal.SCHEMA,
                                    adoption.id(),
                                    columns.formatted(names(route), ""),
                                    gone.formatted("")));
        }
    }

    private void copy(Connection from, String query, String into) throws SQLException {
        CopyOut out = from.unwrap(PGConnection.class).getCopyAPI().copyOut("COPY (%s) TO STDOUT".formatted(query));
        try (Sql.Ending ending = () -> Sql.cancel(from, out)) {
            copyIn(connection, out, into);
        }
    }

    /** Writes all that a COPY reads into a table of another connection; returns the number of rows. */
    static long copyIn(Connection connection, CopyOut out, String into) throws SQLException {
        CopyIn in = connection.unwrap(PGConnection.class).getCopyAPI().copyIn("COPY %s FROM STDIN".formatted(into));
        try (Sql.Ending failed = () -> Sql.cancel(in)) {
            for (byte[] line = out.readFromCopy(); line != null; line = out.readFromCopy()) {
                in.writeToCopy(line, 0, line.length);
            }
            return in.endCopy();
        }
    }

    /**
     * Creates the temporary table for the changes that a transaction takes from the journal. Many transactions have it: to drop one waits for
     * the disk.
     */
    void prepare(Adoption adoption) throws SQLException {
        Sql.execute(connection, """
                DROP TABLE IF EXISTS %2$s;
                CREATE TEMP TABLE shardflake_taken_%1$s ON COMMIT DELETE ROWS AS SELECT %3$s FROM %4$s c WITH NO DATA
                """.formatted(adoption.id(), taken(adoption), changeColumns(), changes(adoption.id())));
    }

    private static String taken(Adoption adoption) {
        return "pg_temp.shardflake_taken_" + adoption.id();
    }

    private String changeColumns() {
        return "c.shardflake_shard, " + table.listOf("c", route.noted())
                + (route.hasChildren() ? ", c.shardflake_moved" : "");
    }

    /**
     * Takes some recorded changes from the journal, within the connection's transaction, and reads the current state of their rows: those
     * gone from a shard, and those present in it. Returns how many changes.
     *
     * <p>Each statement sees at least what the one before saw: what is not seen here has a change that is still in the journal.
     */
    long takeChanges(Adoption adoption, long limit, RowReceiver rows) throws SQLException {
        return take(adoption, "true LIMIT " + limit, rows);
    }

    /**
     * Takes all changes from the journal that may concern rows now or formerly in a shard, and leaves those that certainly do not. Otherwise
     * like {@link #takeChanges(Adoption, long, RowReceiver)}.
     */
    long takeChanges(Adoption adoption, int shard, RowReceiver rows) throws SQLException {
        return take(adoption, concerning(Integer.toString(shard)), rows);
    }

    /** @param shard in SQL */
    private String concerning(String shard) throws SQLException {
        Route.Link link = route.link();
        String was = link == null
                ? "c.shardflake_shard IS NULL OR c.shardflake_shard = " + shard
                // The line's own shard is where the row was found; its path may never have led there.
                : "COALESCE((SELECT bool_or(e.shard = %1$s) FROM (%2$s) e (shard)), true) OR c.shardflake_shard = %1$s"
                        .formatted(shard, ever(link.parent(), link.to(), table.listOf("c", link.columns()), 1));
        // Of a row that came from another shard, that one's change would be carried out when this shard may have left.
        // OFFSET keeps PostgreSQL from reading the whole table once, if it expects many changes.
        // One without a shard is taken, so that it waits: nothing notes it when the row that it refers to comes.
        String its = link == null ? route.shard("t") : "COALESCE(%s, %s)".formatted(route.shard("t"), shard);
        String is = "EXISTS (SELECT FROM %s t WHERE (%s) = (%s) AND %s = %s OFFSET 0)"
                .formatted(route.followed(), table.keyOf("t"), table.keyOf("c"), its, shard);
        // A row that others get their keys from has moved: only the change of the shard where it was says so.
        String moved = route.hasChildren() ? " OR c.shardflake_moved" : "";
        return "%s OR %s%s".formatted(was, is, moved);
    }

    private long take(Adoption adoption, String which, RowReceiver rows) throws SQLException {
        String temporary = taken(adoption);
        // As few round trips as possible, since writers may be waiting. It need not be durable: what a crash loses is
        // brought over again.
        long taken = Sql.number(connection, """
                WITH taken AS (DELETE FROM %1$s WHERE ctid = ANY (ARRAY(SELECT c.ctid FROM %1$s c WHERE %2$s)) RETURNING *),
                     kept AS (INSERT INTO %3$s SELECT DISTINCT %4$s FROM taken c)
                SELECT count(*), pg_catalog.set_config('synchronous_commit', 'off', true) FROM taken
                """.formatted(changes(adoption.id()), which, temporary, changeColumns()));
        if (taken > 0) {
            String isTaken = "(%s) IN (SELECT %s FROM %s c)".formatted(table.keyOf("t"), table.keyOf("c"), temporary);
            List<String> notes = new ArrayList<>();
            notes.add("ANALYZE " + temporary);
            for (Route child : children) {
                notes.add(noteChildren(child, temporary));
            }
            if (route.mayLackShard()) {
                notes.add(keepWaiting(adoption, isTaken));
            }
            Sql.execute(connection, String.join(";\n", notes));
            String gone = route.link() == null ? gone(temporary) : goneByLink(route.link(), temporary);
            copyOut(gone + " UNION ALL " + rowsWhere(isTaken), rows);
        }
        return taken;
    }

    /** Notes the rows of another table that get their keys from changed rows, and so may have a new key. */
    private String noteChildren(Route child, String taken) throws SQLException {
        Route.Link link = Objects.requireNonNull(child.link());
        TableFacts its = child.table();
        return "INSERT INTO %s (%s%s) SELECT %s%s FROM %s k WHERE (%s) IN (SELECT %s FROM %s c WHERE c.shardflake_moved)"
                .formatted(
                        changes(idOf(its)),
                        names(child),
                        child.hasChildren() ? ", shardflake_moved" : "",
                        its.listOf("k", child.noted()),
                        child.hasChildren() ? ", true" : "",
                        its.own(),
                        its.listOf("k", link.columns()),
                        table.listOf("c", link.to()),
                        taken);
    }

    /** The number of another table's adoption. */
    private int idOf(TableFacts other) throws SQLException {
        Integer id = ids.get(other.name());
        if (id == null) {
            id = (int)
                    Sql.number(connection, "SELECT id FROM shardflake_adopt.adoption WHERE source = ?", other.name());
            ids.put(other.name(), id);
        }
        return id;
    }

    /** A condition that rows wait for their shards, or that the journal has changes. */
    String isNoted(Adoption adoption) {
        return "EXISTS (SELECT FROM %s) OR EXISTS (SELECT FROM %s)"
                .formatted(changes(adoption.id()), waiting(adoption));
    }

    /**
     * A condition that rows wait for their shards, or that the journal has changes that may concern a shard.
     *
     * @param shard in SQL
     * @param since a transaction, in SQL: lines of earlier ones are not asked about
     */
    String isNoted(Adoption adoption, String shard, String since) throws SQLException {
        // OFFSET keeps the costly condition behind the cheap one, which most lines fail.
        return "EXISTS (SELECT FROM (SELECT * FROM %s n WHERE pg_catalog.age(n.xmin) <= (SELECT pg_catalog.age(%s)) OFFSET 0) c WHERE %s) OR EXISTS (SELECT FROM %s)"
                .formatted(changes(adoption.id()), since, concerning(shard), waiting(adoption));
    }

    /** The number of changes in the journal. */
    long notedChanges(Adoption adoption) throws SQLException {
        return Sql.number(connection, "SELECT count(*) FROM " + changes(adoption.id()));
    }

    private String gone(String taken) {
        return """
                SELECT c.shardflake_shard, true, %s FROM %s c
                 WHERE c.shardflake_shard IS NOT NULL
                   AND NOT EXISTS (SELECT FROM %s t WHERE (%s) = (%s) AND %s = c.shardflake_shard)
                """.formatted(
                        onlyKey("c."), taken, table.followed(), table.keyOf("t"), table.keyOf("c"), route.shard("t"));
    }

    /** The columns of the stage for a row of which only the primary key is known. */
    private String onlyKey(String row) {
        return columns.stream()
                .map(column -> table.primaryKey().contains(column.name()) ? row + column.quoted() : "NULL")
                .collect(joining(", "));
    }

    /** Marks rows as gone in all shards in which their recorded links may ever have put them, except the one they belong to. */
    private String goneByLink(Route.Link link, String taken) throws SQLException {
        // OFFSET keeps PostgreSQL from reading the whole tables of the path: it expects a hundred shards for each line,
        // where there is one.
        return """
                SELECT g.shard, true, %1$s
                  FROM (SELECT DISTINCT e.shard, %2$s FROM %8$s c CROSS JOIN LATERAL (%3$s UNION ALL SELECT c.shardflake_shard) e (shard) WHERE e.shard IS NOT NULL) g
                 WHERE NOT EXISTS (SELECT FROM %4$s t WHERE (%5$s) = (%6$s) AND %7$s = g.shard OFFSET 0)
                """.formatted(
                        onlyKey("g."),
                        table.keyOf("c"),
                        ever(link.parent(), link.to(), table.listOf("c", link.columns()), 1),
                        route.followed(),
                        table.keyOf("t"),
                        table.keyOf("g"),
                        route.shard("t"),
                        taken);
    }

    /**
     * A query for the shards in which rows may have been that refer to a row by given values, now or earlier.
     *
     * @param level tells the names of nested queries apart
     */
    private String ever(Route parent, List<String> to, String values, int level) throws SQLException {
        TableFacts its = parent.table();
        String left = "%s.left_%s".formatted(ChangeJournal.SCHEMA, idOf(its));
        String now = "p" + level;
        String then = "l" + level;
        Route.Link link = parent.link();
        String both = "SELECT %s FROM %s %s WHERE (%s) = (%s) UNION ALL SELECT %s FROM %s %s WHERE (%s) = (%s)";
        if (link == null) {
            return both.formatted(
                    parent.shard(now),
                    its.own(),
                    now,
                    its.listOf(now, to),
                    values,
                    then + ".shardflake_shard",
                    left,
                    then,
                    its.listOf(then, to),
                    values);
        }
        String links = both.formatted(
                its.listOf(now, link.columns()),
                its.own(),
                now,
                its.listOf(now, to),
                values,
                its.listOf(then, link.columns()),
                left,
                then,
                its.listOf(then, to),
                values);
        String row = "x" + level;
        return "SELECT %1$s.shard FROM (%2$s) %3$s CROSS JOIN LATERAL (%4$s) %1$s (shard)"
                .formatted(
                        "e" + level,
                        links,
                        row,
                        ever(link.parent(), link.to(), its.listOf(row, link.columns()), level + 1));
    }

    /**
     * The number of rows read, and of those without a shard.
     *
     * @param rows those that have a shard
     * @param others those that have none
     */
    record Read(long rows, long others) {}

    private Read copyOut(String query, RowReceiver rows) throws SQLException {
        CopyOut out =
                connection.unwrap(PGConnection.class).getCopyAPI().copyOut("COPY (%s) TO STDOUT".formatted(query));
        long others = 0;
        try (Sql.Ending ending = () -> Sql.cancel(connection, out)) {
            for (byte[] line = out.readFromCopy(); line != null; line = out.readFromCopy()) {
                int shard = shard(line);
                if (shard == NONE) {
                    others++;
                } else {
                    rows.row(shard, line);
                }
            }
            return new Read(out.getHandledRowCount() - others, others);
        }
    }

    /** The shard in the first field of a line, or {@link #NONE} if the field is null. */
    private static int shard(byte[] line) {
        int shard = 0;
        for (byte digit : line) {
            if (digit == '\t') {
                return shard;
            }
            if (digit == '\\') {
                return NONE;
            }
            shard = 10 * shard + digit - '0';
        }
        throw new IllegalStateException("a line of COPY without a field");
    }

    /** Whether a line of the stage marks a row as gone, in its second field. */
    static boolean isGone(byte[] line) {
        int field = 0;
        while (line[field] != '\t') {
            field++;
        }
        return line[field + 1] == 't';
    }

    /** The conversion of a key's value to text, as in the text of a row: for boolean, char and inet, a cast gives another text. */
    static final String KEY_TEXT = "concat(%s)";

    /** The shard and the hash of a row. */
    record Hashed(int shard, long hash) {}

    /**
     * The hashes of the rows with these primary keys, by primary key; missing rows are left out.
     *
     * @param primaryKey the columns in the shards, whose types may be wider
     */
    Map<List<String>, Hashed> hashes(List<List<String>> keys, List<Column> primaryKey, Rows rows) throws SQLException {
        String wanted = wanted(keys, primaryKey);
        String sql = "SELECT ARRAY[%s], COALESCE(%s, %s), %s FROM %s t WHERE ROW(%s) IN (%s)"
                .formatted(
                        keyParts("t", KEY_TEXT),
                        route.shard("t"),
                        NONE,
                        rows.hash(),
                        route.followed(),
                        table.keyOf("t"),
                        wanted);
        Map<List<String>, Hashed> found = new HashMap<>();
        Sql.list(
                connection,
                sql,
                row -> found.put(
                        List.of((String[]) row.getArray(1).getArray()), new Hashed(row.getInt(2), row.getLong(3))));
        return found;
    }

    private String wanted(List<List<String>> keys, List<Column> primaryKey) {
        Map<String, Column> own = new HashMap<>();
        table.columns().forEach(column -> own.put(column.name(), column));
        return keys.stream()
                .map(one -> literals(one, primaryKey, column -> {
                    Column mine = Objects.requireNonNull(own.get(column.name()));
                    return mine.identity().equals(column.identity()) ? mine.type() : column.type();
                }))
                .collect(joining(", "));
    }

    /**
     * The rows and the pending changes at one moment.
     *
     * @param rows by primary key; those that are gone are left out
     * @param pending the primary keys of the rows with changes that had not been carried out then, their own or those of rows that they have their
     *     keys from; empty once the adoption is finished
     */
    record Moment(Map<List<String>, Hashed> rows, Set<List<String>> pending) {}

    /** Reads the rows with these primary keys and the journal, in one snapshot. */
    Moment moment(Adoption adoption, List<List<String>> keys, List<Column> primaryKey, Rows rows) throws SQLException {
        return Sql.inTransaction(connection, () -> {
            Sql.execute(connection, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
            boolean isFollowed = adoption.state() != AdoptState.FINISHED;
            return new Moment(
                    hashes(keys, primaryKey, rows),
                    isFollowed ? pending(adoption, wanted(keys, primaryKey)) : Set.of());
        });
    }

    private Set<List<String>> pending(Adoption adoption, String wanted) throws SQLException {
        String noted = "SELECT ARRAY[%s] FROM %s c WHERE ROW(%s) IN (%s)";
        String sql = noted.formatted(keyParts("c", KEY_TEXT), changes(adoption.id()), table.keyOf("c"), wanted)
                + " UNION "
                + noted.formatted(keyParts("c", KEY_TEXT), waiting(adoption), table.keyOf("c"), wanted);
        if (route.link() != null) {
            sql += " UNION SELECT ARRAY[%s] FROM %s t WHERE ROW(%s) IN (%s) AND (%s)"
                    .formatted(
                            keyParts("t", KEY_TEXT),
                            table.own(),
                            table.keyOf("t"),
                            wanted,
                            isPendingBy(
                                    route.link(), table.listOf("t", route.link().columns()), 1));
        }
        return new HashSet<>(Sql.list(
                connection, sql, row -> List.of((String[]) row.getArray(1).getArray())));
    }

    /**
     * A condition that is true if the journal has changes of a row that is referred to, or of one that it gets its key from.
     *
     * @param level tells the names of nested queries apart
     */
    private String isPendingBy(Route.Link link, String values, int level) throws SQLException {
        TableFacts parent = link.parent().table();
        String noted =
                "(%s) IN (SELECT %s FROM %s c)".formatted(values, parent.listOf("c", link.to()), changes(idOf(parent)));
        Route.Link next = link.parent().link();
        if (next == null) {
            return noted;
        }
        String row = "p" + level;
        return "%s OR EXISTS (SELECT FROM %s %s WHERE (%s) = (%s) AND (%s))"
                .formatted(
                        noted,
                        parent.own(),
                        row,
                        parent.listOf(row, link.to()),
                        values,
                        isPendingBy(next, parent.listOf(row, next.columns()), level + 1));
    }

    /** The rows of some shards, for a search. */
    Rows slices(Rows rows, Collection<Integer> shards) {
        String shard = route.shard("t");
        return Rows.ofParts(List.of(rows.partBy(shard, List.of(table.keyOf("t")), table.rows() + " t")
                + " WHERE %s = ANY ('%s')".formatted(shard, array(shards))));
    }

    /** A SQL row with the given values, as text. */
    static String literals(List<String> values, List<Column> columns, Function<Column, String> type) {
        List<String> literals = new ArrayList<>();
        for (int i = 0; i < values.size(); i++) {
            literals.add(Sql.quote(values.get(i)) + "::" + type.apply(columns.get(i)));
        }
        return "ROW(%s)".formatted(String.join(", ", literals));
    }

    /** The primary keys of some rows with changes that have not been carried out, each as the text of a row that begins with -1. */
    List<String> noted(Adoption adoption, int limit) throws SQLException {
        return Sql.list(
                connection,
                "SELECT DISTINCT ROW(%s, %s)::text FROM %s c LIMIT %s"
                        .formatted(NONE, table.keyOf("c"), changes(adoption.id()), limit),
                row -> row.getString(1));
    }

    /** The rows with these primary keys, each as the text of a row of its shard and its key. */
    List<String> present(List<List<String>> keys, List<Column> primaryKey) throws SQLException {
        return Sql.list(
                connection,
                "SELECT ROW(%s, %s)::text FROM %s t WHERE ROW(%s) IN (%s)"
                        .formatted(
                                route.shard("t"),
                                table.keyOf("t"),
                                route.followed(),
                                table.keyOf("t"),
                                wanted(keys, primaryKey)),
                row -> row.getString(1));
    }

    /**
     * Count and hash of the rows of each of these shards, read in one pass.
     *
     * @param followed leaves out the rows with changes that have not been carried out; null for none
     */
    Map<Integer, Rows.Digest> digests(Rows rows, Set<Integer> shards, @Nullable Adoption followed) throws SQLException {
        Map<Integer, Rows.Digest> digests = new HashMap<>();
        String shard = route.shard("t");
        String condition =
                shards.size() > LISTED ? shard + " IS NOT NULL" : "%s = ANY ('%s')".formatted(shard, array(shards));
        if (followed != null) {
            condition += " AND NOT EXISTS (SELECT FROM %s n WHERE (%s) = (%s))"
                    .formatted(changes(followed.id()), table.keyOf("n"), table.keyOf("t"));
        }
        Sql.list(
                connection,
                "%s WHERE %s GROUP BY 1".formatted(rows.digestsBy(shard, table.rows() + " t"), condition),
                row -> digests.put(row.getInt(1), new Rows.Digest(row.getLong(2), row.getString(3))));
        digests.keySet().retainAll(shards);
        return digests;
    }

    private static String array(Collection<Integer> shards) {
        return shards.stream().map(String::valueOf).collect(joining(",", "{", "}"));
    }
}
