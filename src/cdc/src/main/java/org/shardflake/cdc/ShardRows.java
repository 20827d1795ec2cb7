/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.postgresql.jdbc.PreferQueryMode;
import org.shardflake.Sharding;
import org.shardflake.server.ServerUrl;

/**
 * Reads the rows of shards on one server, each shard in one snapshot, while reading that server's log is suspended. So each change that is read
 * afterwards is in the snapshot or was made later, and the snapshot tells which. For one thread.
 */
final class ShardRows implements AutoCloseable {

    private static final String APPLICATION = "shardflake cdc";
    private static final int ROWS_AT_A_TIME = 100;
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    /** Finds the tables and columns that pgoutput sends: no generated columns, and partitioned tables in place of their partitions. */
    private static final String TABLES = """
            SELECT c.relname, format('%s%I.%I', CASE c.relkind WHEN 'r' THEN 'ONLY ' ELSE '' END, n.nspname, c.relname),
                   (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute a
                     WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '')
              FROM pg_publication p JOIN pg_publication_rel r ON r.prpubid = p.oid
              JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE p.pubname = ? AND n.nspname = ? ORDER BY c.relname COLLATE "C"
            """;

    /** Reads the snapshot with which the statement begins, and then the position in the log, which is later. */
    private static final String STATE = """
            SELECT pg_current_snapshot()::text, (pg_current_wal_insert_lsn() - '0/0')::bigint,
                   (SELECT CASE WHEN here THEN epoch ELSE -1 END FROM shardflake.placement WHERE shard = ?),
                   to_regnamespace(?) IS NOT NULL, EXISTS (SELECT FROM pg_publication WHERE pubname = ?),
                   (extract(epoch FROM now()) * 1000000)::bigint
            """;

    private record Table(String name, String target, String columns) {}

    /** The placements of shards, from the shard map and the servers. */
    @FunctionalInterface
    interface Placements {

        /**
         * Whether a server has a shard with this epoch.
         *
         * @throws SQLException if that cannot be told now
         */
        boolean isAt(String server, int shard, long epoch) throws SQLException;
    }

    private final String name;
    private final ServerUrl url;
    private final Positions positions;
    private final Placements placements;

    /** The shards that have left; another server has their rows, once the log has been read up to there. */
    private final Set<Integer> gone = new HashSet<>();

    private long seen = -1;
    private int due = -1;
    private long retryAt = System.nanoTime();
    private @Nullable Connection connection;

    private int shard = -1;
    private EventId id = new EventId(0, 0, 0, 0);
    private Snapshot snapshot = new Snapshot(0, new Snapshot.Xids(0, 0, Set.of()));
    private Instant takenAt = Instant.EPOCH;
    private final Deque<Table> tables = new ArrayDeque<>();
    private final Deque<Map<String, @Nullable String>> rows = new ArrayDeque<>();
    private boolean isOpen;
    private @Nullable Change ahead;

    ShardRows(String name, ServerUrl url, Positions positions, Placements placements) {
        this.name = name;
        this.url = url;
        this.positions = positions;
        this.placements = placements;
    }

    /** Whether reading the log must wait for the rows of a shard. */
    boolean isDue() {
        if (shard < 0 && seen != positions.version()) {
            seen = positions.version();
            due = positions.unread().stream()
                    .filter(unread -> {
                        Owner owner = positions.owner(unread);
                        return owner.server().equals(name) && owner.left().isEmpty() && !gone.contains(unread);
                    })
                    .findFirst()
                    .orElse(-1);
        }
        return shard >= 0 || due >= 0;
    }

    /** Notes that the log reports what became of a shard. */
    void heard(int itsShard) {
        gone.remove(itsShard);
        seen = -1;
    }

    /** The start of a shard's snapshot or one of its rows; null if no rows can be read now. */
    @Nullable
    Change next() throws SQLException {
        while (isDue()) {
            if (shard < 0 && (System.nanoTime() - retryAt < 0 || !begin(due))) {
                if (due >= 0 && gone.contains(due)) {
                    seen = -1;
                    continue;
                }
                return null;
            }
            Change change = ahead;
            if (change == null) {
                throw new IllegalStateException("no row of shard " + shard);
            }
            ahead = read();
            if (ahead == null) {
                // The commit brings the log of all that the snapshot includes to disk: numbers of transactions that are
                // not there are used again.
                execute("SELECT pg_logical_emit_message(true, 'shardflake', '')");
                execute("COMMIT");
                positions.setRead(shard, snapshot);
                shard = -1;
                if (!isDue()) {
                    close();
                }
                return change.asLast();
            }
            return change;
        }
        return null;
    }

    /** Starts a shard's snapshot, unless the shard has left or its arrival is not visible yet. */
    private boolean begin(int next) throws SQLException {
        retryAt = System.nanoTime() + RETRY_NANOS;
        if (connection == null) {
            // The same settings as those of the stream, so that values have the same text.
            connection = url.connect(APPLICATION, source -> {
                source.setPreferQueryMode(PreferQueryMode.SIMPLE);
                source.setAssumeMinServerVersion("15");
            });
            execute(
                    "SET lock_timeout = '1s'; SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET synchronous_commit = on; SET default_transaction_read_only = off");
        }
        List<Table> before = tables(next);
        execute("BEGIN ISOLATION LEVEL REPEATABLE READ");
        if (!before.isEmpty()) {
            // Before the snapshot: what empties or rewrites a table later would be seen in it. Neither writers nor
            // cutovers wait.
            execute("LOCK TABLE %s IN ACCESS SHARE MODE"
                    .formatted(before.stream().map(Table::target).collect(Collectors.joining(", "))));
        }
        if (!look(next) || !before.equals(tables(next))) {
            execute("ROLLBACK");
            return false;
        }
        shard = next;
        id = new EventId(next, positions.owner(next).epoch(), positions.of(name).end() - 1, 0);
        tables.clear();
        tables.addAll(before);
        rows.clear();
        isOpen = false;
        ahead = new Change(id, name, Change.Kind.SNAPSHOT, "", Map.of(), Map.of(), takenAt, 0, false);
        retryAt = System.nanoTime();
        return true;
    }

    private List<Table> tables(int its) throws SQLException {
        try (PreparedStatement statement = open().prepareStatement(TABLES)) {
            statement.setString(1, ChangeReader.PUBLICATION);
            statement.setString(2, Sharding.schema(its));
            try (ResultSet row = statement.executeQuery()) {
                List<Table> found = new ArrayList<>();
                while (row.next()) {
                    found.add(new Table(row.getString(1), row.getString(2), row.getString(3)));
                }
                return found;
            }
        }
    }

    /** Takes a snapshot; returns whether the shard is here in it. */
    private boolean look(int its) throws SQLException {
        Owner owner = positions.owner(its);
        Long arrival = positions.unread(its);
        try (PreparedStatement statement = open().prepareStatement(STATE)) {
            statement.setInt(1, its);
            statement.setString(2, Sharding.schema(its));
            statement.setString(3, ChangeReader.PUBLICATION);
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                snapshot = new Snapshot(row.getLong(2), Snapshot.Xids.parse(row.getString(1)));
                takenAt = Instant.EPOCH.plusNanos(row.getLong(6) * 1000);
                if (!row.getBoolean(5)) {
                    throw new ChangesLostException("%s has no change stream any more".formatted(name));
                }
                if (arrival != null && arrival != 0 && !snapshot.xids().includes(arrival.intValue())) {
                    return false; // The log is a moment ahead of what is visible.
                }
                long epoch = row.getLong(3);
                boolean isRemembered = !row.wasNull();
                if (isRemembered && epoch >= 0 && epoch < owner.epoch()) {
                    throw new ChangesLostException(
                            "%s got shard %s with epoch %s, and it has been there with %s: the server was restored to an earlier time"
                                    .formatted(name, its, epoch, owner.epoch()));
                }
                // One without a schema was not created yet, or has gone and been forgotten.
                boolean isHere = isRemembered
                        ? epoch == owner.epoch()
                        : row.getBoolean(4) || placements.isAt(name, its, owner.epoch());
                if (!isHere) {
                    gone.add(its);
                    retryAt = System.nanoTime();
                }
                return isHere;
            }
        }
    }

    private @Nullable Change read() throws SQLException {
        while (rows.isEmpty()) {
            Table table = tables.peek();
            if (table == null) {
                return null;
            }
            if (!isOpen) {
                execute("DECLARE shardflake_rows NO SCROLL CURSOR FOR SELECT %s FROM %s"
                        .formatted(table.columns(), table.target()));
                isOpen = true;
            }
            fetch();
            if (rows.isEmpty()) {
                execute("CLOSE shardflake_rows");
                isOpen = false;
                tables.remove();
            }
        }
        id = new EventId(id.shard(), id.epoch(), id.lsn(), id.number() + 1);
        return new Change(
                id, name, Change.Kind.ROW, tables.element().name(), rows.remove(), Map.of(), takenAt, 0, false);
    }

    private void fetch() throws SQLException {
        try (Statement statement = open().createStatement();
                ResultSet row = statement.executeQuery("FETCH %s FROM shardflake_rows".formatted(ROWS_AT_A_TIME))) {
            ResultSetMetaData columns = row.getMetaData();
            while (row.next()) {
                Map<String, @Nullable String> values = new LinkedHashMap<>();
                for (int i = 1; i <= columns.getColumnCount(); i++) {
                    values.put(columns.getColumnName(i), row.getString(i));
                }
                rows.add(values);
            }
        }
    }

    private void execute(String sql) throws SQLException {
        try (Statement statement = open().createStatement()) {
            statement.execute(sql);
        }
    }

    private Connection open() throws SQLException {
        Connection its = connection;
        if (its == null) {
            throw new SQLException("the session has ended");
        }
        return its;
    }

    /** Ends a snapshot that is being read; it will be taken again. */
    @Override
    public void close() {
        Connection closing = connection;
        connection = null;
        shard = -1;
        seen = -1;
        ahead = null;
        if (closing != null) {
            try {
                closing.close();
            } catch (SQLException e) {
                // It has ended.
            }
        }
    }
}
