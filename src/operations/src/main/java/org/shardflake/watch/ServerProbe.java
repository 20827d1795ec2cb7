/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.watch;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.shardflake.doctor.ShardState;
import org.shardflake.jdbc.Sql;
import org.shardflake.load.LoadSampler;
import org.shardflake.load.MachineMemory;
import org.shardflake.load.RowCounts;
import org.shardflake.load.SessionMemory;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.FunctionLibrary;
import org.shardflake.watch.ServerSnapshot.Load;
import org.shardflake.watch.ServerSnapshot.Slot;
import org.shardflake.watch.ServerSnapshot.Standby;

/**
 * Takes snapshots of one server over a connection that it keeps. Everything is asked in one round trip, which is one transaction.
 *
 * <p>One thread looks at a time; another may {@link #abort}.
 */
final class ServerProbe implements AutoCloseable {

    /** The SQLSTATEs of a relation that is gone or locked. */
    private static final Set<String> CHANGED_MEANWHILE = Set.of("42P01", "XX000", "40P01", "55P03");

    private static final int LOOKS = 3;

    /**
     * The numbers of sizes and sequences that each snapshot reads, since there are too many for one.
     *
     * @param sizes shards whose sizes are read; each table is a dozen files to ask the file system about
     * @param sequences whose positions are read; each is locked until the look ends, and the server's table of locks is for all
     */
    record Portions(int sizes, int sequences) {

        static final Portions DEFAULT = new Portions(100, 500);
    }

    private static final String TIMED_OUT = "57014";

    private static final long AHEAD_MILLIS = 1000;

    /** The duration below which a snapshot may read larger portions. */
    private static final Duration SHORT = Watch.PATIENCE.dividedBy(4);

    /**
     * The settings of sessions, without JIT, which takes longer than these queries. A query ends before {@link Watch#PATIENCE} does, which
     * begins earlier: the server then says what was too much.
     */
    private static final String SESSION =
            "SET jit = off; SET lock_timeout = '300ms'; SET statement_timeout = '3s'; SET default_transaction_read_only = on";

    private static final String CLOCK = "SELECT extract(epoch FROM clock_timestamp()) * 1000";

    private static final String SERVER = """
            SELECT current_setting('server_version_num')::integer / 10000, %s,
                   (SELECT sum(numbackends) FROM pg_stat_database), current_setting('max_connections')::integer
            """;

    /**
     * Reads the sizes of some shards. No size of one that has a table or an index locked against everything, TOAST included, since reading it would
     * wait for that.
     */
    private static final String SIZES = """
            WITH locked AS MATERIALIZED (
                 SELECT COALESCE(i.indrelid, l.relation) AS relation FROM pg_locks l LEFT JOIN pg_index i ON i.indexrelid = l.relation
                  WHERE l.relation IS NOT NULL AND l.mode = 'AccessExclusiveLock'
                    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
            SELECT right(n.nspname, 4)::integer,
                   CASE WHEN NOT bool_or(c.shut) THEN sum(CASE WHEN NOT c.shut THEN pg_table_size(c.oid) END)::bigint END,
                   CASE WHEN NOT bool_or(c.shut) THEN sum(CASE WHEN NOT c.shut THEN pg_indexes_size(c.oid) END)::bigint END,
                   sum(pg_stat_get_live_tuples(c.oid))::bigint
              FROM (SELECT oid, nspname FROM pg_namespace WHERE nspname ~ '^shard_[0-9]{4}$' AND right(nspname, 4)::integer > %1$s ORDER BY nspname LIMIT %2$s) AS n
              LEFT JOIN (SELECT oid, relnamespace, relkind,
                                %3$b OR oid IN (SELECT relation FROM locked) OR reltoastrelid IN (SELECT relation FROM locked) AS shut
                           FROM pg_class) c
                ON c.relnamespace = n.oid AND c.relkind IN ('r', 'm')
             GROUP BY n.nspname ORDER BY n.nspname
            """;

    /** Finds the seals that a move puts on copies before it removes them. */
    private static final String SEALED = """
            SELECT right(n.nspname, 4)::integer FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
             WHERE p.proname = 'shardflake_seal' AND n.nspname ~ '^shard_[0-9]{4}$'
            """;

    /** Reads slots; a session that is hidden from the role shows neither state nor lag. */
    private static final String SLOTS = """
            SELECT s.slot_name, s.active, COALESCE(pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn), 0)::bigint,
                   COALESCE(pg_wal_lsn_diff(pg_current_wal_lsn(), s.confirmed_flush_lsn), 0)::bigint,
                   CASE WHEN r.state IS NOT NULL THEN COALESCE(extract(epoch FROM r.replay_lag) * 1000, 0)::bigint END, COALESCE(s.wal_status = 'lost', false)
              FROM pg_replication_slots s LEFT JOIN pg_stat_replication r ON r.pid = s.active_pid
             WHERE NOT s.temporary AND (s.database IS NULL OR s.database = current_database()) ORDER BY 1
            """;

    private static final String APPLY_ERRORS = """
            SELECT s.subname, t.apply_error_count FROM pg_subscription s JOIN pg_stat_subscription_stats t ON t.subid = s.oid
             WHERE s.subname ~ '^shardflake_m[0-9]' AND s.subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
            """;

    /** Reads standbys; a walsender of a logical slot has a database, and one that takes a backup replays nothing. */
    private static final String STANDBYS = """
            SELECT COALESCE(r.application_name, ''), COALESCE(r.client_addr::text, ''), max(pg_wal_lsn_diff(pg_current_wal_lsn(), r.replay_lsn))::bigint,
                   COALESCE(max(extract(epoch FROM r.replay_lag)) * 1000, 0)::bigint
              FROM pg_stat_replication r
             WHERE r.replay_lsn IS NOT NULL
               AND NOT EXISTS (SELECT FROM pg_replication_slots s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')
             GROUP BY 1, 2 ORDER BY 1, 2
            """;

    /**
     * Reads the sequences of ids, recognized by their bounds as in the doctor's query. No position of one that the role may not read, or that
     * is locked against being read.
     */
    private static final String SEQUENCES = """
            WITH locked AS MATERIALIZED (
                 SELECT relation FROM pg_locks
                  WHERE relation IS NOT NULL AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
            SELECT oid::bigint, (tick + CASE WHEN tick < 0 THEN 1125899906842624 ELSE 0 END) / 1024 + %1$s
              FROM (SELECT c.oid, CASE WHEN NOT %4$b AND c.oid NOT IN (SELECT relation FROM locked) AND has_sequence_privilege(c.oid, 'USAGE, SELECT')
                                       THEN pg_sequence_last_value(c.oid) END AS tick
                      FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid JOIN pg_namespace n ON n.oid = c.relnamespace
                     WHERE s.seqmin = -1125899906842624 AND n.nspname ~ '^shard_[0-9]{4}$' AND c.oid::bigint > %2$s
                     ORDER BY c.oid LIMIT %3$s) AS batch
             ORDER BY 1
            """;

    private final ServerUrl url;
    private final long epochMillis;
    private final Portions portions;
    private final AtomicBoolean busy = new AtomicBoolean();
    /** The times in milliseconds that sequences have reached, by OID, as last read. */
    private final TreeMap<Long, Long> reached = new TreeMap<>();

    /** The sizes of shards as last read, by number. */
    private final TreeMap<Integer, Size> sizes = new TreeMap<>();

    private long lastSequence;
    private int lastSized = -1;
    private int sizesAtOnce;
    private MachineMemory memory = new MachineMemory(0, false);
    private volatile boolean aborted;
    private volatile boolean ended;
    private volatile @Nullable Connection connection;

    ServerProbe(ServerUrl url, long epochMillis) {
        this(url, epochMillis, Portions.DEFAULT);
    }

    ServerProbe(ServerUrl url, long epochMillis, Portions portions) {
        this.url = url;
        this.epochMillis = epochMillis;
        this.portions = portions;
        this.sizesAtOnce = portions.sizes();
    }

    ServerUrl url() {
        return url;
    }

    /** Begins a snapshot, unless the previous one is still in progress. */
    boolean begin() {
        return busy.compareAndSet(false, true);
    }

    /** Takes the snapshot; must be called once after {@link #begin}. */
    ServerSnapshot look() throws SQLException {
        try {
            for (int look = 1; ; look++) {
                try {
                    return look(connected(), look > 1);
                } catch (SQLException e) {
                    if (look == LOOKS || !CHANGED_MEANWHILE.contains(String.valueOf(e.getSQLState()))) {
                        throw e;
                    }
                }
            }
        } catch (SQLException e) {
            if (aborted || TIMED_OUT.equals(e.getSQLState())) {
                sizesAtOnce = Math.max(1, sizesAtOnce / 2); // Perhaps that was too much for the time.
            }
            close();
            throw e;
        } catch (RuntimeException e) {
            close();
            throw e;
        } finally {
            if (ended) {
                close();
            }
            aborted = false;
            busy.set(false);
        }
    }

    /** The number of shards whose sizes the next snapshot reads. */
    int sizesAtOnce() {
        return sizesAtOnce;
    }

    private Connection connected() throws SQLException {
        Connection kept = connection;
        if (kept == null) {
            kept = url.connect("shardflake watch");
            connection = kept;
            Sql.execute(kept, SESSION);
            memory = MachineMemory.read(kept);
        }
        return kept;
    }

    /** @param isPassing over the sizes and positions of this portion, one of which someone has locked or dropped meanwhile */
    private ServerSnapshot look(Connection from, boolean isPassing) throws SQLException {
        String all = String.join(
                ";",
                CLOCK,
                SERVER.formatted(FunctionLibrary.versionExpression()),
                SessionMemory.QUERY,
                ShardState.QUERY,
                LoadSampler.COUNTERS,
                SIZES.formatted(lastSized, sizesAtOnce, isPassing),
                SEALED,
                SLOTS,
                APPLY_ERRORS,
                STANDBYS,
                SEQUENCES.formatted(epochMillis, lastSequence, portions.sequences(), isPassing),
                CLOCK);
        long began = System.nanoTime();
        long beganAt = System.currentTimeMillis();
        try (Statement statement = from.createStatement()) {
            statement.setEscapeProcessing(false);
            statement.execute(all);
            Duration took = Duration.ofNanos(System.nanoTime() - began);
            ServerSnapshot seen = read(new Answers(statement), beganAt, took);
            if (took.compareTo(SHORT) < 0) {
                sizesAtOnce = Math.min(sizesAtOnce * 2, portions.sizes());
            }
            return seen;
        }
    }

    private ServerSnapshot read(Answers answers, long beganAt, Duration took) throws SQLException {
        double clockBefore = answers.only(row -> row.getDouble(1));
        Server server = answers.only(Server::read);
        SessionMemory sessions = answers.only(SessionMemory::read);
        List<ShardState> states = answers.all(ShardState::read);
        Map<Integer, RowCounts> rows = new HashMap<>();
        answers.all(row -> rows.put(row.getInt(1), RowCounts.read(row)));
        rememberSizes(answers.all(ServerProbe::size));
        Set<Integer> sealed = Set.copyOf(answers.all(row -> row.getInt(1)));
        List<Slot> slots = answers.all(row -> new Slot(
                row.getString(1),
                row.getBoolean(2),
                row.getLong(3),
                row.getLong(4),
                number(row, 5),
                row.getBoolean(6)));
        Map<String, Long> applyErrors = new HashMap<>();
        answers.all(row -> applyErrors.put(row.getString(1), row.getLong(2)));
        List<Standby> standbys =
                answers.all(row -> new Standby(row.getString(1), row.getString(2), row.getLong(3), row.getLong(4)));
        rememberSequences(answers.all(row -> new Position(row.getLong(1), row.getObject(2, Long.class))));
        double clockAfter = answers.only(row -> row.getDouble(1));
        // As in NTP: the way there and the way back are taken to be equally long.
        double clockMillis = (clockBefore - beganAt + clockAfter - (beganAt + took.toNanos() / 1e6)) / 2;
        long[] ahead = reached.values().stream()
                .mapToLong(time -> (long) (time - clockAfter))
                .filter(millis -> millis > AHEAD_MILLIS)
                .toArray();
        long furthest = 0;
        for (long millis : ahead) {
            furthest = Math.max(furthest, millis);
        }
        return new ServerSnapshot(
                took,
                clockMillis,
                server.version(),
                server.libraryVersion(),
                server.connections(),
                server.maxConnections(),
                sessions,
                memory,
                shards(states, rows),
                sealed,
                slots,
                applyErrors,
                standbys,
                ahead.length,
                furthest);
    }

    private Map<Integer, ServerSnapshot.Shard> shards(List<ShardState> states, Map<Integer, RowCounts> rows) {
        Map<Integer, ServerSnapshot.Shard> shards = new TreeMap<>();
        for (ShardState state : states) {
            Size size = sizes.getOrDefault(state.shard(), Size.UNKNOWN);
            Load load = new Load(
                    size.tableBytes(),
                    size.indexBytes(),
                    size.live(),
                    rows.getOrDefault(state.shard(), RowCounts.NONE));
            shards.put(state.shard(), new ServerSnapshot.Shard(state, load));
        }
        return shards;
    }

    private record Size(OptionalLong tableBytes, OptionalLong indexBytes, long live) {

        static final Size UNKNOWN = new Size(OptionalLong.empty(), OptionalLong.empty(), 0);
    }

    private static Map.Entry<Integer, Size> size(ResultSet row) throws SQLException {
        return Map.entry(row.getInt(1), new Size(number(row, 2), number(row, 3), row.getLong(4)));
    }

    private static OptionalLong number(ResultSet row, int column) throws SQLException {
        Long number = row.getObject(column, Long.class);
        return number == null ? OptionalLong.empty() : OptionalLong.of(number);
    }

    /** Stores sizes that were read; one that could not be read keeps its last value. */
    private void rememberSizes(List<Map.Entry<Integer, Size>> batch) {
        boolean isLast = batch.size() < sizesAtOnce;
        int last = isLast ? Integer.MAX_VALUE : batch.get(batch.size() - 1).getKey();
        NavigableMap<Integer, Size> range = sizes.subMap(lastSized, false, last, true);
        Map<Integer, Size> before = Map.copyOf(range);
        range.clear();
        batch.forEach(shard -> {
            Size size = shard.getValue();
            sizes.put(shard.getKey(), size.tableBytes().isPresent() ? size : before.getOrDefault(shard.getKey(), size));
        });
        lastSized = isLast ? -1 : last;
    }

    /** The position of a sequence; null if it cannot be read now. */
    private record Position(long sequence, @Nullable Long millis) {}

    /**
     * Replaces the known positions of a range of sequences by a batch; after the last range, the first one is next. A position that cannot be
     * read now stays what it was.
     */
    private void rememberSequences(List<Position> batch) {
        boolean isLast = batch.size() < portions.sequences();
        long last = isLast ? Long.MAX_VALUE : batch.get(batch.size() - 1).sequence();
        NavigableMap<Long, Long> range = reached.subMap(lastSequence, false, last, true);
        Map<Long, Long> before = Map.copyOf(range);
        range.clear();
        batch.forEach(position -> {
            Long millis = position.millis() == null ? before.get(position.sequence()) : position.millis();
            if (millis != null) {
                reached.put(position.sequence(), millis);
            }
        });
        lastSequence = isLast ? 0 : last;
    }

    private record Server(int version, int libraryVersion, int connections, int maxConnections) {
        static Server read(ResultSet row) throws SQLException {
            return new Server(row.getInt(1), row.getInt(2), row.getInt(3), row.getInt(4));
        }
    }

    /** The results of statements sent together, in order. */
    private static final class Answers {

        private final Statement statement;
        private boolean hasNext = true;

        Answers(Statement statement) {
            this.statement = statement;
        }

        <T> List<T> all(Sql.RowReader<T> reader) throws SQLException {
            if (!hasNext) {
                throw new IllegalStateException("more was read than asked");
            }
            List<T> rows = new ArrayList<>();
            try (ResultSet row = statement.getResultSet()) {
                while (row.next()) {
                    rows.add(reader.read(row));
                }
            }
            hasNext = statement.getMoreResults();
            return rows;
        }

        <T> T only(Sql.RowReader<T> reader) throws SQLException {
            return all(reader).get(0);
        }
    }

    /** Aborts a snapshot that takes too long, which then fails. */
    void abort() {
        aborted = true;
        Connection hung = connection;
        if (hung != null) {
            try {
                hung.abort(Runnable::run);
            } catch (SQLException e) {
                // It is closed already.
            }
        }
    }

    /** Prevents further snapshots; one in progress closes its connection. */
    void end() {
        ended = true;
        abort();
    }

    @Override
    public void close() {
        Connection kept = connection;
        connection = null;
        if (kept != null) {
            Sql.close(kept);
        }
    }
}
