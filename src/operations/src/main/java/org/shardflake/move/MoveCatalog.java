/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.IntConsumer;
import org.postgresql.PGConnection;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.server.ServerUrl;

/** The moves recorded in the catalog. Thread-safe; connects for each call. */
final class MoveCatalog {

    private static final String UNIQUE_VIOLATION = "23505";

    /**
     * Reads moves with their shards, one line per shard. In one statement, since a move may end between two. A standby doesn't have the locks,
     * and a role may not see when another's session began. A catalog before version 5 has no bytes_at.
     */
    private static final String MOVES = """
            WITH move AS MATERIALIZED (
                SELECT id, tag, source, target, phase, phase_since, started_at, reason, problem,
                       CASE WHEN pg_is_in_recovery() THEN phase_since
                            ELSE (SELECT COALESCE(max(a.backend_start), phase_since)
                                    FROM %s LEFT JOIN pg_stat_activity a USING (pid) WHERE %s HAVING count(*) > 0) END
                  FROM shardflake_catalog.move)
            SELECT move.*, m.shard, m.phase, s.server, s.epoch, m.mark, m.bytes, m.rows, m.verified, m.pause_ms, m.switched_at,
                   (to_jsonb(m) ->> 'bytes_at')::timestamptz
              FROM move LEFT JOIN (shardflake_catalog.move_shard m JOIN shardflake_catalog.shard s USING (shard)) ON m.move = move.id
            """.formatted(MoveLease.LOCKS, MoveLease.IS_OF.formatted("id"));

    private static final String INSERT = """
            WITH new AS (SELECT nextval(pg_get_serial_sequence('shardflake_catalog.move', 'id')) AS id)
            INSERT INTO shardflake_catalog.move (id, tag, source, target, reason) OVERRIDING SYSTEM VALUE
            SELECT id, format('m%s_%s', id, ?::text), ?, ?, ? FROM new RETURNING id
            """;

    private static final String INSERT_SHARDS = """
            INSERT INTO shardflake_catalog.move_shard (move, shard)
            SELECT ?, s.shard FROM shardflake_catalog.shard s
             WHERE s.server = ? AND format('shard_%s', lpad(s.shard::text, 4, '0')) = ANY (?)
            """;

    private final ServerUrl url;

    MoveCatalog(ServerUrl url) {
        this.url = url.named("the catalog");
    }

    ServerUrl url() {
        return url;
    }

    Connection connect() throws SQLException {
        return url.connect("shardflake move");
    }

    boolean isTakenUp(long id) throws SQLException {
        return Sql.with(connect(), connection -> MoveLease.isTaken(connection, id));
    }

    /** All unfinished moves, oldest first. */
    List<Move> list() throws SQLException {
        return Sql.with(connect(), MoveCatalog::all);
    }

    static List<Move> all(Connection connection) throws SQLException {
        return read(connection, " ORDER BY move.id, m.shard");
    }

    /**
     * A move by its number.
     *
     * @throws MoveRefusedException if there is none, or it is finished
     */
    Move find(long id) throws SQLException {
        return Sql.with(connect(), connection -> find(connection, id));
    }

    static Move find(Connection connection, long id) throws SQLException {
        return read(connection, " WHERE move.id = ? ORDER BY m.shard", id).stream()
                .findFirst()
                .orElseThrow(() -> new MoveRefusedException(
                        "no move %s is in progress".formatted(id),
                        Advice.of("see %s and %s", CliCommand.MOVE_STATUS, CliCommand.MAP_HISTORY)));
    }

    private static List<Move> read(Connection connection, String which, Object... values) throws SQLException {
        List<Move> moves = new ArrayList<>();
        Map<Long, List<MoveShard>> shards = new HashMap<>();
        Sql.list(
                connection,
                MOVES + which,
                row -> {
                    List<MoveShard> its = shards.get(row.getLong(1));
                    if (its == null) {
                        its = new ArrayList<>();
                        shards.put(row.getLong(1), its);
                        moves.add(readMove(row, Collections.unmodifiableList(its)));
                    }
                    return row.getString(11) == null || its.add(readShard(row));
                },
                values);
        return moves;
    }

    private static Move readMove(ResultSet row, List<MoveShard> shards) throws SQLException {
        return new Move(
                row.getLong(1),
                row.getString(2),
                row.getString(3),
                row.getString(4),
                MovePhase.of(row.getString(5)),
                time(row, 6),
                time(row, 7),
                row.getString(8),
                row.getString(9),
                Optional.ofNullable(row.getObject(10, OffsetDateTime.class)).map(OffsetDateTime::toInstant),
                shards);
    }

    private static MoveShard readShard(ResultSet row) throws SQLException {
        Long mark = row.getObject(15, Long.class);
        Double pause = row.getObject(19, Double.class);
        OffsetDateTime switched = row.getObject(20, OffsetDateTime.class);
        OffsetDateTime progressed = row.getObject(21, OffsetDateTime.class);
        return new MoveShard(
                row.getInt(11),
                ShardPhase.of(row.getString(12)),
                row.getString(13),
                row.getLong(14),
                mark == null ? OptionalLong.empty() : OptionalLong.of(mark),
                row.getLong(16),
                Optional.ofNullable(progressed).map(OffsetDateTime::toInstant),
                row.getLong(17),
                Verified.of(row.getString(18)),
                pause == null ? OptionalDouble.empty() : OptionalDouble.of(pause),
                Optional.ofNullable(switched).map(OffsetDateTime::toInstant));
    }

    private static Instant time(ResultSet row, int column) throws SQLException {
        return row.getObject(column, OffsetDateTime.class).toInstant();
    }

    /**
     * Records a new move without starting it.
     *
     * @throws MoveRefusedException if a shard is in another move, or not on the source
     */
    static Move begin(Connection connection, String source, String target, ShardSet shards, String reason)
            throws SQLException {
        long id = Sql.inTransaction(connection, () -> create(connection, source, target, shards, reason));
        return find(connection, id);
    }

    private static long create(Connection connection, String source, String target, ShardSet shards, String reason)
            throws SQLException {
        // Blocks changes of the map, so that the shards stay where they are seen here.
        Sql.call(connection, "SELECT 1 FROM shardflake_catalog.installation FOR UPDATE");
        String random = "%06x".formatted(ThreadLocalRandom.current().nextInt(1 << 24));
        SplitCatalog.refuseUnderWay(connection, source, target);
        OpenAdoptions.refuseUnderWay(connection);
        long id = Sql.number(connection, INSERT, random, source, target, reason);
        placeInMove(connection, id, source, shards);
        recordChange(connection, id, "move started");
        return id;
    }

    /**
     * Adds shards to a recorded move.
     *
     * @throws MoveRefusedException if a shard is in another move, or not on the source
     */
    static void placeInMove(Connection connection, long id, String source, ShardSet shards) throws SQLException {
        int placed = insertShards(connection, id, source, shards);
        if (placed != shards.size()) {
            throw new MoveRefusedException("only %s of %s shards are on %s; read the shard map again"
                    .formatted(placed, shards.size(), source));
        }
    }

    private static int insertShards(Connection connection, long id, String source, ShardSet shards)
            throws SQLException {
        try {
            return Sql.update(connection, INSERT_SHARDS, id, source, shards);
        } catch (SQLException e) {
            if (UNIQUE_VIOLATION.equals(e.getSQLState())) {
                throw new MoveRefusedException(
                        "some of these shards are in a move already", Advice.of("see %s", CliCommand.MOVE_STATUS));
            }
            throw e;
        }
    }

    static void recordChange(Connection connection, long id, String change) throws SQLException {
        Sql.update(connection, """
                INSERT INTO shardflake_catalog.history (version, change, server, from_server, reason)
                SELECT i.version, ?, m.target, m.source,
                       concat_ws(', ', format('move %s', m.id), (SELECT format('%s shard%s', count(*), CASE WHEN count(*) > 1 THEN 's' END) FROM shardflake_catalog.move_shard s WHERE s.move = m.id), NULLIF(m.reason, ''), NULLIF(current_setting('shardflake.origin', true), ''))
                  FROM shardflake_catalog.installation i, shardflake_catalog.move m WHERE m.id = ?
                """, change, id);
    }

    /**
     * Takes over a move exclusively: its previous holder can change nothing more in the catalog.
     *
     * @param session is told the process of the session that has the lease
     * @throws MoveRefusedException if someone is working on it
     */
    MoveLease takeUp(long id, OptionalLong mine, MoveListener listener, IntConsumer session) throws SQLException {
        Connection connection = connect();
        try {
            session.accept(connection.unwrap(PGConnection.class).getBackendPID());
            return MoveLease.take(connection, id, mine, listener);
        } catch (SQLException | RuntimeException e) {
            Sql.close(connection);
            throw e;
        }
    }
}
