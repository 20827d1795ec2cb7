/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.restore;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;

/**
 * A moment in which the shard map does not change: no shard is being cut over, no move is ending, and nothing of the kind starts before this is
 * closed. Writers notice nothing.
 *
 * <p>A cutover records in the catalog that it begins, before it raises its fence. From then until the other server is open it holds no
 * lock there, so it is seen by that record and, after the map was changed, by the fence of the server that the shard is on now. If it is
 * there, the locks are released at once, since the cutover would give itself up rather than wait 20 ms for them. If it is not, the
 * next one waits for the locks before it raises its fence.
 */
final class QuietMoment implements AutoCloseable {

    /** Locks the tables before the row: otherwise a cutover with a table lock would keep its writers waiting for the row. */
    private static final String LOCK = """
            SET LOCAL lock_timeout = '10ms';
            LOCK TABLE shardflake_catalog.move, shardflake_catalog.move_shard IN SHARE MODE;
            SELECT 1 FROM shardflake_catalog.installation FOR UPDATE;
            """;

    /** Limits a session whose program has stopped, so that it does not hold up cutovers for long. */
    private static final String NOT_FOREVER = "SET idle_in_transaction_session_timeout = '30s'";

    private static final String IN_THE_WAY = """
            SELECT format('move %s is %s', m.id, CASE
                       WHEN m.phase IN ('completing', 'cancelling') THEN m.phase
                       ELSE 'cutting over shard ' || string_agg(s.shard::text, ', ' ORDER BY s.shard) END)
              FROM shardflake_catalog.move m LEFT JOIN shardflake_catalog.move_shard s ON s.move = m.id AND s.phase = 'cutting over'
             WHERE m.phase IN ('completing', 'cancelling') OR s.shard IS NOT NULL
             GROUP BY m.id ORDER BY m.id LIMIT 1
            """;

    private static final String MOVING = """
            SELECT s.server, array_agg(s.shard ORDER BY s.shard)
              FROM shardflake_catalog.move_shard m JOIN shardflake_catalog.shard s USING (shard) GROUP BY s.server
            """;

    private static final String FENCED =
            "SELECT shard FROM unnest(?::integer[]) shard WHERE shardflake.is_fenced(shard) ORDER BY shard";

    private final Connection catalog;
    private final Map<String, Connection> servers;
    private String obstacle = "";

    private QuietMoment(Connection catalog, Map<String, Connection> servers) {
        this.catalog = catalog;
        this.servers = servers;
    }

    /**
     * Waits for a quiet moment, which lasts until it is closed.
     *
     * @param catalog a connection in auto-commit mode, for nothing else until then
     * @param servers connections to the servers of the shard map
     * @throws ShardflakeException if there is none in time; names what is in the way
     */
    static QuietMoment await(Connection catalog, Map<String, Connection> servers, Duration patience)
            throws SQLException {
        QuietMoment moment = new QuietMoment(catalog, servers);
        Sql.execute(catalog, NOT_FOREVER);
        if (!Poll.everyMillis(20, patience).until(moment::begins)) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "no restore point was made: within %s s there was no moment without a change of the shard map; %s"
                            .formatted(patience.toSeconds(), moment.obstacle),
                    Advice.of(
                            "wait for it longer; if the command of the move no longer runs, continue it as %s says",
                            CliCommand.DOCTOR),
                    null);
        }
        return moment;
    }

    private boolean begins() throws SQLException {
        if (isObstructed()) {
            return false;
        }
        catalog.setAutoCommit(false);
        boolean[] quiet = {false};
        try (Sql.Ending ending = () -> closeUnless(quiet[0])) {
            Sql.execute(catalog, LOCK);
            quiet[0] = !isObstructed() && !isShardClosed();
        } catch (SQLException e) {
            if (!Sql.isInTheWay(e)) {
                throw e;
            }
            obstacle = "someone else changes the catalog";
        }
        return quiet[0];
    }

    private void closeUnless(boolean quiet) throws SQLException {
        if (!quiet) {
            close();
        }
    }

    private boolean isObstructed() throws SQLException {
        Optional<String> found =
                Sql.list(catalog, IN_THE_WAY, row -> row.getString(1)).stream().findFirst();
        found.ifPresent(move -> obstacle = move);
        return found.isPresent();
    }

    /** Whether a moving shard accepts no writes where the map has it, as between the change of the map and the opening of its server. */
    private boolean isShardClosed() throws SQLException {
        record Moving(String server, Object shards) {}
        for (Moving moving : Sql.list(
                catalog,
                MOVING,
                row -> new Moving(row.getString(1), row.getArray(2).getArray()))) {
            Connection server = Objects.requireNonNull(servers.get(moving.server()), moving.server());
            Object shards = server.createArrayOf("integer", (Object[]) moving.shards());
            List<Integer> closed = Sql.list(server, FENCED, row -> row.getInt(1), shards);
            if (!closed.isEmpty()) {
                obstacle = "a move has %s closed on %s".formatted(Plural.shards(ShardSet.of(closed)), moving.server());
                return true;
            }
        }
        return false;
    }

    @Override
    public void close() throws SQLException {
        catalog.rollback();
        catalog.setAutoCommit(true);
    }
}
