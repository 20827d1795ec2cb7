/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.session;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.server.MoveServer;

/** A server of a move, with a connection that belongs to the current claim. For one thread, except for {@link #connect}. */
public final class MoveServerSession implements AutoCloseable {

    private static final Duration END_PATIENCE = Duration.ofMinutes(1);

    private static final String END_OTHERS = """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = current_setting('application_name') AND pid <> pg_backend_pid()
            """;

    private static final String TABLES = """
            SELECT right(n.nspname, 4)::integer, format('%I.%I', n.nspname, c.relname)
              FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = ANY (?) AND c.relkind = 'r' ORDER BY n.nspname, c.relname COLLATE "C"
            """;

    private static final String FENCED = """
            SELECT right(name, 4)::integer FROM unnest(?) name
             WHERE EXISTS (SELECT FROM shardflake.fences(right(name, 4)::integer) f WHERE f.fenced)
            """;

    private static final String STOPPED = """
            SELECT right(name, 4)::integer FROM unnest(?) name
             WHERE EXISTS (
                SELECT FROM shardflake.sequences(right(name, 4)::integer) s
                 WHERE s.makes_ids AND pg_sequence_last_value(s.target) < 0)
            """;

    private final MoveServer server;
    private final String tag;
    private final long claim;
    private final Connection control;

    private MoveServerSession(MoveServer server, String tag, long claim, Connection control) {
        this.server = server;
        this.tag = tag;
        this.claim = claim;
        this.control = control;
    }

    /** Connects, ends the sessions of earlier claims, and makes the server accept only this claim. */
    public static MoveServerSession claim(MoveServer server, String tag, long claim, Consumer<String> voice)
            throws SQLException {
        Connection control = server.connect(application(tag));
        try {
            endOthers(server, control, voice);
            MoveServerSession side = new MoveServerSession(server, tag, claim, control);
            if (side.hasLibrary()) {
                Sql.call(control, "SELECT shardflake.claim_move(?, ?)", tag, claim);
            }
            return side;
        } catch (SQLException | RuntimeException e) {
            Sql.close(control);
            throw e;
        }
    }

    /** Connects for reading only. */
    public static MoveServerSession toRead(MoveServer server, String tag) throws SQLException {
        return new MoveServerSession(server, tag, 0, server.connect("shardflake move"));
    }

    /** Connects to a server that is or was a standby, and ends the sessions of earlier claims; changes nothing. */
    public static MoveServerSession ofStandby(MoveServer server, String tag, long claim, Consumer<String> voice)
            throws SQLException {
        Connection control = server.url().connectToEither(application(tag));
        try {
            endOthers(server, control, voice);
            return new MoveServerSession(server, tag, claim, control);
        } catch (SQLException | RuntimeException e) {
            Sql.close(control);
            throw e;
        }
    }

    private static void endOthers(MoveServer server, Connection control, Consumer<String> voice) throws SQLException {
        Poll.Reason reason = () -> "%s waits for sessions of an earlier run to end".formatted(server.name());
        if (!Poll.everyMillis(10, END_PATIENCE).until(() -> Sql.number(control, END_OTHERS) == 0, reason, voice)) {
            throw new MoveException("sessions of an earlier run on %s do not end".formatted(server.name()));
        }
    }

    private static String application(String tag) {
        return "shardflake move " + tag;
    }

    /** Whether the server has the function library, as every server with shards does. */
    public boolean hasLibrary() throws SQLException {
        return Sql.isTrue(control, "SELECT to_regclass('shardflake.move_claim') IS NOT NULL");
    }

    public String name() {
        return server.name();
    }

    public MoveServer server() {
        return server;
    }

    public Connection control() {
        return control;
    }

    /** Opens another connection, which is closed when another command takes over the move; the caller closes it otherwise. */
    public Connection connect() throws SQLException {
        return server.connect(application(tag));
    }

    /** The first statement of every change on a server, which stops a claim that was believed dead. */
    public String checkClaim() {
        return "SELECT shardflake.check_claim(%s, %s);\n".formatted(Sql.quote(tag), claim);
    }

    /** Withdraws the claim, so that the server accepts no command. */
    public void giveUpClaim() throws SQLException {
        Sql.call(control, "DELETE FROM shardflake.move_claim WHERE move = ?", tag);
    }

    /** The tables whose rows are replicated, by shard; for partitioned tables, their partitions. */
    public Map<Integer, List<String>> tables(ShardSet shards) throws SQLException {
        Map<Integer, List<String>> tables = new TreeMap<>();
        shards.stream().forEach(shard -> tables.put(shard, new ArrayList<>()));
        Sql.list(
                control,
                TABLES,
                row -> tables.computeIfAbsent(row.getInt(1), shard -> new ArrayList<>())
                        .add(row.getString(2)),
                shards);
        return tables;
    }

    /** The shards, among the given ones, that refuse writes on this server. */
    public ShardSet fenced(ShardSet shards) throws SQLException {
        return ShardSet.of(Sql.list(control, FENCED, row -> row.getInt(1), shards));
    }

    /** The shards, among the given ones, that give no ids on this server. */
    public ShardSet stopped(ShardSet shards) throws SQLException {
        return ShardSet.of(Sql.list(control, STOPPED, row -> row.getInt(1), shards));
    }

    /** The shards that the server remembers as received and has not given up, with their epochs. */
    public Map<Integer, Long> gotShards() throws SQLException {
        return placements("here");
    }

    /** The shards that the server remembers as given up, with the epoch of their placement on another server. */
    public Map<Integer, Long> gaveUpShards() throws SQLException {
        return placements("NOT here");
    }

    private Map<Integer, Long> placements(String which) throws SQLException {
        Map<Integer, Long> placements = new TreeMap<>();
        if (Sql.isTrue(control, "SELECT to_regclass('shardflake.placement') IS NOT NULL")) {
            Sql.list(
                    control,
                    "SELECT shard, epoch FROM shardflake.placement WHERE " + which,
                    row -> placements.put(row.getInt(1), row.getLong(2)));
        }
        return placements;
    }

    /** The shards, among the given ones, that exist on this server. */
    public ShardSet present(ShardSet shards) throws SQLException {
        return ShardSet.of(Sql.list(
                control,
                "SELECT right(nspname, 4)::integer FROM pg_namespace WHERE nspname = ANY (?)",
                row -> row.getInt(1),
                shards));
    }

    /** Ends PostgreSQL's background work on a shard's tables if it would outlast a fence's wait. */
    public void cancelAutovacuum(int shard) throws SQLException {
        try {
            Sql.call(control, """
                    SELECT pg_cancel_backend(a.pid) FROM pg_stat_activity a JOIN pg_locks l ON l.pid = a.pid
                     WHERE a.backend_type = 'autovacuum worker' AND l.locktype = 'relation' AND l.granted
                       AND l.relation IN (SELECT shardflake.relations(?))
                    """, shard);
        } catch (SQLException e) {
            if (!Sql.isNotAllowed(e)) {
                throw e;
            }
            makeAutovacuumGiveWay(shard);
        }
    }

    /**
     * Makes autovacuum cancel itself, as it does for a session that has waited for its lock longer than deadlock_timeout. The one taken here
     * stops no writer.
     */
    private void makeAutovacuumGiveWay(int shard) throws SQLException {
        for (String table : tables(ShardSet.of(shard)).getOrDefault(shard, List.of())) {
            try {
                Sql.inTransaction(control, () -> {
                    Sql.execute(
                            control,
                            "SET LOCAL lock_timeout = '3s'; LOCK TABLE %s IN SHARE UPDATE EXCLUSIVE MODE"
                                    .formatted(table));
                    return true;
                });
            } catch (SQLException e) {
                if (!Sql.isInTheWay(e)) {
                    throw e;
                }
            }
        }
    }

    /** Describes, for a message, who holds locks stronger than a reader's on a shard's tables. */
    public String writers(int shard) throws SQLException {
        return holders(shard, "AND l.mode NOT IN ('AccessShareLock', 'RowShareLock')");
    }

    /** Describes, for a message, who holds any lock on a shard's tables. */
    public String holders(int shard) throws SQLException {
        return holders(shard, "");
    }

    private String holders(int shard, String which) throws SQLException {
        return Sql.text(control, """
                SELECT COALESCE(string_agg(DISTINCT CASE WHEN l.pid IS NULL THEN 'a prepared transaction'
                           ELSE format('pid %s of %s%s', l.pid, COALESCE(a.usename::text, a.backend_type), ' (' || NULLIF(a.application_name, '') || ')') END, ', '), 'they have just ended')
                  FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid)
                 WHERE l.locktype = 'relation' AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
                   AND l.relation IN (SELECT shardflake.relations(?))
                """ + which, shard);
    }

    @Override
    public void close() {
        Sql.close(control);
    }
}
