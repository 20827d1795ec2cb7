/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardMap;
import org.shardflake.ShardPlacement;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.AdvisoryLock;

/** A catalog that was restored from a backup and is older than the servers. Brings it to where they are, moves included. */
public final class RestoredCatalog {

    private static final String COUNTERS = """
            SELECT m.tag, m.claim, s.shard, s.attempt
              FROM shardflake_catalog.move m JOIN shardflake_catalog.move_shard s ON s.move = m.id
            """;

    /** Sets shards to their actual phase, with the comparison after the cutover still due, and invalidates earlier attempts. */
    private static final String SHARD_PHASES = """
            UPDATE shardflake_catalog.move_shard m
               SET phase = CASE WHEN s.server = v.target THEN 'switched' ELSE 'copied' END,
                   attempt = m.attempt + 1, mark = NULL, verified = ''
              FROM shardflake_catalog.shard s, shardflake_catalog.move v
             WHERE m.move = ? AND s.shard = m.shard AND v.id = m.move
            """;

    private final ServerUrl url;

    public RestoredCatalog(ServerUrl url) {
        this.url = url;
    }

    /**
     * The counters of a move in the catalog.
     *
     * @param claim how often it was taken up
     * @param attempts at the cutover of each shard
     */
    public record Counted(long claim, Map<Integer, Long> attempts) {}

    /** The counters of each move in the catalog, by its tag. */
    public Map<String, Counted> counted() throws SQLException {
        Map<String, Counted> counted = new HashMap<>();
        try (Connection connection = url.connect("shardflake doctor")) {
            Sql.list(connection, COUNTERS, row -> {
                String tag = row.getString(1);
                Counted its = counted.getOrDefault(tag, new Counted(row.getLong(2), new HashMap<>()));
                its.attempts().put(row.getInt(3), row.getLong(4));
                return counted.put(tag, its);
            });
        }
        return counted;
    }

    /**
     * The state that a move has reached on its servers.
     *
     * @param claim the highest that a server obeys
     * @param phase the phase in which the move is; none if it is over
     */
    public record Reached(Move move, long claim, Optional<MovePhase> phase) {}

    /**
     * Places shards where the servers have them, with their epochs, and updates moves to their actual state, all or nothing. Changes no server.
     *
     * @param current the map that the catalog had when the servers were asked
     * @param wanted the map that fits the servers
     * @throws MoveRefusedException if the catalog was changed since, or someone works on one of the moves
     */
    public void catchUp(ShardMap current, ShardMap wanted, List<Reached> moves) throws SQLException {
        try (Connection connection = url.connect("shardflake doctor")) {
            for (Reached reached : moves) {
                lock(connection, reached.move());
            }
            Sql.inTransaction(connection, () -> {
                catchUp(connection, current, wanted, moves);
                return true;
            });
        }
    }

    private static void catchUp(Connection connection, ShardMap current, ShardMap wanted, List<Reached> moves)
            throws SQLException {
        Sql.call(connection, "SELECT 1 FROM shardflake_catalog.installation FOR UPDATE");
        if (Sql.number(connection, "SELECT version FROM shardflake_catalog.installation") != current.version()) {
            throw new MoveRefusedException("the shard map was changed just now; run the same command again");
        }
        for (Reached reached : moves) {
            requireUnchanged(connection, reached.move());
        }
        Sql.call(
                connection,
                "SELECT set_config('shardflake.catch_up', 'on', true), set_config('shardflake.reason', 'restored catalog brought to what the servers remember', true)");
        for (int shard = 0; shard < current.sharding().shardCount(); shard++) {
            if (!current.placement(shard).equals(wanted.placement(shard))) {
                place(connection, wanted.placement(shard), moves);
            }
        }
        for (Reached reached : moves) {
            reach(connection, reached);
        }
    }

    private static void lock(Connection connection, Move move) throws SQLException {
        Optional<String> holder =
                new AdvisoryLock("shardflake.move", Math.toIntExact(move.id())).take(connection, Duration.ofSeconds(5));
        if (holder.isPresent()) {
            throw new MoveRefusedException(
                    "another shardflake works on move %s: in the catalog, %s holds its lock"
                            .formatted(move.id(), holder.get()),
                    Advice.of("see it with %s", CliCommand.MOVE_STATUS_WATCH));
        }
    }

    private static void requireUnchanged(Connection connection, Move move) throws SQLException {
        if (!Sql.isTrue(
                connection,
                "SELECT EXISTS (SELECT FROM shardflake_catalog.move WHERE id = ? AND tag = ? AND phase = ?)",
                move.id(),
                move.tag(),
                move.phase().toString())) {
            throw new MoveRefusedException(
                    "move %s has progressed just now; run the same command again".formatted(move.id()));
        }
    }

    private static void place(Connection connection, ShardPlacement placement, List<Reached> moves)
            throws SQLException {
        String move = moves.stream()
                .map(Reached::move)
                .filter(its -> its.shardSet().contains(placement.shard()))
                .map(its -> String.valueOf(its.id()))
                .findFirst()
                .orElse("");
        Sql.call(connection, "SELECT set_config('shardflake.move', ?, true)", move);
        // One after the other, since to change the server counts the epoch up.
        Sql.update(
                connection,
                "UPDATE shardflake_catalog.shard SET server = ? WHERE shard = ? AND server <> ?",
                placement.server().name(),
                placement.shard(),
                placement.server().name());
        Sql.update(
                connection,
                "UPDATE shardflake_catalog.shard SET epoch = ? WHERE shard = ? AND epoch < ?",
                placement.epoch(),
                placement.shard(),
                placement.epoch());
    }

    private static void reach(Connection connection, Reached reached) throws SQLException {
        long id = reached.move().id();
        if (reached.phase().isEmpty()) {
            boolean arrived = Sql.isTrue(
                    connection,
                    "SELECT NOT EXISTS (SELECT FROM shardflake_catalog.move_shard m JOIN shardflake_catalog.shard s USING (shard) WHERE m.move = ? AND s.server <> ?)",
                    id,
                    reached.move().target());
            MoveCatalog.recordChange(connection, id, arrived ? "move completed" : "move cancelled");
            Sql.update(connection, "DELETE FROM shardflake_catalog.move_shard WHERE move = ?", id);
            Sql.update(connection, "DELETE FROM shardflake_catalog.move WHERE id = ?", id);
            return;
        }
        Sql.update(connection, SHARD_PHASES, id);
        Sql.update(
                connection,
                "UPDATE shardflake_catalog.move SET phase = ?, phase_since = clock_timestamp(), problem = '', claim = GREATEST(claim, ?) WHERE id = ?",
                reached.phase().get().toString(),
                reached.claim(),
                id);
    }
}
