/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.AdvisoryLock;

/** The splits recorded in the catalog. Thread-safe; connects for each call. */
public final class SplitCatalog {

    private static final String SPLITS = """
            SELECT move, tag, source, target, target_url, shards, phase, standby_slot, position, next_xid, standby_started::text
              FROM shardflake_catalog.split
            """;

    private static final String INSERT = """
            WITH new AS (SELECT nextval(pg_get_serial_sequence('shardflake_catalog.move', 'id')) AS id)
            INSERT INTO shardflake_catalog.split (move, tag, source, target, target_url, shards, reason)
            SELECT id, format('m%s_%s', id, ?::text), ?, ?, ?, ?, ? FROM new RETURNING move
            """;

    private static final String INSERT_MOVE = """
            INSERT INTO shardflake_catalog.move (id, tag, source, target, claim, reason) OVERRIDING SYSTEM VALUE
            SELECT move, tag, source, target, claim, reason FROM shardflake_catalog.split WHERE move = ? AND claim = ?
            """;

    private static final Duration LOCK_PATIENCE = Duration.ofSeconds(20);

    private final ServerUrl url;
    private final String application;

    /** @param application what its sessions are called, so that another can watch them */
    public SplitCatalog(ServerUrl url, String application) {
        this.url = url.named("the catalog");
        this.application = application;
    }

    private Connection connect() throws SQLException {
        return url.connect(application);
    }

    private static boolean isKept(Connection connection) throws SQLException {
        return Sql.isTrue(connection, "SELECT to_regclass('shardflake_catalog.split') IS NOT NULL");
    }

    public List<Split> list() throws SQLException {
        return Sql.with(connect(), SplitCatalog::listed);
    }

    /** All splits; a catalog of an older version has none. */
    static List<Split> listed(Connection connection) throws SQLException {
        return isKept(connection) ? Sql.list(connection, SPLITS + " ORDER BY move", SplitCatalog::read) : List.of();
    }

    /** The position at which the target of a move was promoted, if the move is part of a split. */
    static Optional<SplitPosition> position(Connection connection, long move) throws SQLException {
        return listed(connection).stream()
                .filter(split -> split.move() == move)
                .findFirst()
                .flatMap(Split::position);
    }

    /**
     * Refuses a move from or to a server whose standby is about to become a copy of it: objects of the move would appear on both.
     *
     * @throws MoveRefusedException if there is such a server
     */
    static void refuseUnderWay(Connection connection, String source, String target) throws SQLException {
        for (Split split : listed(connection)) {
            boolean touches = List.of(source, target).contains(split.source())
                    || List.of(source, target).contains(split.target());
            if (touches && split.phase() != SplitPhase.MOVING) {
                throw new MoveRefusedException(
                        "%s is being split by its standby".formatted(split.source()),
                        Advice.of(
                                "run %s again, or give it up with %s",
                                CliCommand.SERVER_SPLIT.with(split.source()),
                                CliCommand.SERVER_SPLIT_CANCEL.with(split.source())));
            }
        }
    }

    private static Split read(ResultSet row) throws SQLException {
        String started = row.getString(11);
        return new Split(
                row.getLong(1),
                row.getString(2),
                row.getString(3),
                row.getString(4),
                row.getString(5),
                ShardSet.parse(row.getString(6)),
                SplitPhase.of(row.getString(7)),
                Optional.ofNullable(row.getString(8)),
                started == null
                        ? Optional.empty()
                        : Optional.of(new SplitPosition(row.getLong(9), row.getLong(10), started)));
    }

    /**
     * Records a split without starting it.
     *
     * @throws MoveRefusedException if a move or another split concerns the server
     */
    public Split create(SplitRequest request) throws SQLException {
        return Sql.with(connect(), connection -> {
            if (!isKept(connection)) {
                throw new MoveRefusedException(
                        "the catalog is of an older version, which keeps no splits",
                        Advice.of("bring it up to date with %s", CliCommand.UPGRADE));
            }
            long id = Sql.inTransaction(connection, () -> {
                // Blocks changes of the map, and moves that begin.
                Sql.call(connection, "SELECT 1 FROM shardflake_catalog.installation FOR UPDATE");
                OpenAdoptions.refuseUnderWay(connection);
                refuseOthers(connection, request.source(), request.target().name());
                return Sql.number(
                        connection,
                        INSERT,
                        "%06x".formatted(ThreadLocalRandom.current().nextInt(1 << 24)),
                        request.source(),
                        request.target().name(),
                        request.target().url(),
                        request.shards().toString(),
                        request.reason());
            });
            return find(connection, id);
        });
    }

    public void refuseOthers(String source, String target) throws SQLException {
        Sql.with(connect(), connection -> {
            refuseOthers(connection, source, target);
            return true;
        });
    }

    private static void refuseOthers(Connection connection, String source, String target) throws SQLException {
        OpenAdoptions.refuseAny(connection);
        List<Long> moves = Sql.list(
                connection,
                "SELECT id FROM shardflake_catalog.move WHERE ? IN (source, target) ORDER BY id",
                row -> row.getLong(1),
                source);
        if (!moves.isEmpty()) {
            throw new MoveRefusedException(
                    "move %s has %s, so a copy of that server would take part in the move"
                            .formatted(moves.get(0), source),
                    Advice.of("end it first: see %s", CliCommand.MOVE_STATUS));
        }
        for (Split split : listed(connection)) {
            if (split.source().equals(source) || split.target().equals(target)) {
                throw new MoveRefusedException(
                        "%s is being split already, into %s".formatted(split.source(), split.target()),
                        Advice.of(
                                "run that command again, or give it up with %s",
                                CliCommand.SERVER_SPLIT_CANCEL.with(split.source())));
            }
        }
    }

    /**
     * The split with this move.
     *
     * @throws MoveRefusedException if it is done, or was given up
     */
    public Split find(long id) throws SQLException {
        return Sql.with(connect(), connection -> find(connection, id));
    }

    private static Split find(Connection connection, long id) throws SQLException {
        return listed(connection).stream()
                .filter(split -> split.move() == id)
                .findFirst()
                .orElseThrow(() -> new MoveRefusedException("the split is done, or was given up"));
    }

    /**
     * Takes over a split exclusively: an earlier holder can change nothing more in the catalog.
     *
     * @param voice gets who works on it, once that has been awaited for a second
     * @throws MoveRefusedException if someone is working on it
     */
    public Lease takeUp(long id, Consumer<String> voice) throws SQLException {
        Connection connection = connect();
        try {
            Optional<String> holder = new AdvisoryLock("shardflake.split", Math.toIntExact(id))
                    .take(connection, LOCK_PATIENCE, others -> voice.accept(others + " works on this split"));
            if (holder.isPresent()) {
                throw new MoveRefusedException(
                        "another shardflake works on this split: in the catalog, %s holds its lock"
                                .formatted(holder.get()),
                        "let it end");
            }
            find(connection, id);
            long claim = Sql.number(
                    connection,
                    "UPDATE shardflake_catalog.split SET claim = claim + 1 WHERE move = ? RETURNING claim",
                    id);
            return new Lease(connection, id, claim);
        } catch (SQLException | RuntimeException e) {
            Sql.close(connection);
            throw e;
        }
    }

    /** The right to work on a split while its connection to the catalog lives. For one thread. */
    public static final class Lease implements AutoCloseable {

        private final Connection connection;
        private final long id;
        private final long claim;

        private Lease(Connection connection, long id, long claim) {
            this.connection = connection;
            this.id = id;
            this.claim = claim;
        }

        public Connection connection() {
            return connection;
        }

        public long claim() {
            return claim;
        }

        public Split split() throws SQLException {
            return find(connection, id);
        }

        public boolean hasMove() throws SQLException {
            return Sql.isTrue(connection, "SELECT EXISTS (SELECT FROM shardflake_catalog.move WHERE id = ?)", id);
        }

        public void standbySlot(String slot) throws SQLException {
            change("standby_slot = " + Sql.quote(slot));
        }

        public void promoting(SplitPosition position) throws SQLException {
            change("phase = 'promoting', position = %s, next_xid = %s, standby_started = %s"
                    .formatted(position.lsn(), position.nextXid(), Sql.quote(position.started())));
        }

        private void change(String assignments) throws SQLException {
            if (Sql.update(
                            connection,
                            "UPDATE shardflake_catalog.split SET %s WHERE move = ? AND claim = ?"
                                    .formatted(assignments),
                            id,
                            claim)
                    != 1) {
                throw superseded();
            }
        }

        private static MoveException superseded() {
            return new MoveException("another command has taken over the split; check whether it continues");
        }

        /** Records the move; its claim counter continues from the split's. */
        public void recordMove() throws SQLException {
            Split split = split();
            Sql.inTransaction(connection, () -> {
                Sql.call(connection, "SELECT 1 FROM shardflake_catalog.installation FOR UPDATE");
                if (Sql.update(connection, INSERT_MOVE, id, claim) != 1) {
                    throw superseded();
                }
                MoveCatalog.placeInMove(connection, id, split.source(), split.shards());
                change("phase = 'moving'");
                MoveCatalog.recordChange(connection, id, "move started");
                return true;
            });
        }

        /** Removes the split from the catalog. */
        public void end() throws SQLException {
            if (Sql.update(connection, "DELETE FROM shardflake_catalog.split WHERE move = ? AND claim = ?", id, claim)
                    != 1) {
                throw superseded();
            }
        }

        @Override
        public void close() {
            Sql.close(connection);
        }
    }
}
