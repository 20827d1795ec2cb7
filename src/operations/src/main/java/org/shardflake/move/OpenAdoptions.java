/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.preflight.PreflightCheck;
import org.shardflake.server.ServerUrl;

/**
 * The adoptions on record in the catalog, from their first run to their last. They exclude moves: an adoption changes a shard's schema and rows
 * on the server that has it, which a move would carry in part.
 */
public final class OpenAdoptions {

    private static final String IS_KEPT = "SELECT to_regclass('shardflake_catalog.adoption') IS NOT NULL";

    private static final String LIST =
            "SELECT id, source, database, target, begun_at FROM shardflake_catalog.adoption ORDER BY begun_at";

    private static final String INSERT = """
            INSERT INTO shardflake_catalog.adoption (id, source, database, target) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING
            """;

    private final ServerUrl catalog;

    public OpenAdoptions(ServerUrl catalog) {
        this.catalog = catalog;
    }

    /**
     * An adoption on record.
     *
     * @param id the same in the old database
     * @param table the old table
     * @param database the old database, without a password
     * @param into the table in the shards
     */
    public record OpenAdoption(UUID id, String table, String database, String into, Instant begunAt) {

        /** A command that takes a plan, for this table in its place. */
        public CliCommand command(CliCommand ofPlan) {
            return ofPlan.ofTable(table).withOption("from", database);
        }

        @Override
        public String toString() {
            return "%s of %s is being adopted into %s".formatted(table, database, into);
        }
    }

    /** All adoptions, oldest first. */
    public List<OpenAdoption> list() {
        return Sql.translating(() -> Sql.with(connect(), OpenAdoptions::list));
    }

    private static List<OpenAdoption> list(Connection connection) throws SQLException {
        if (!Sql.isTrue(connection, IS_KEPT)) {
            return List.of();
        }
        return Sql.list(
                connection,
                LIST,
                row -> new OpenAdoption(
                        row.getObject(1, UUID.class),
                        row.getString(2),
                        row.getString(3),
                        row.getString(4),
                        row.getObject(5, OffsetDateTime.class).toInstant()));
    }

    /**
     * Records an adoption, unless it is on record already.
     *
     * @throws ShardflakeException if a move or a split is not done
     */
    public void begin(OpenAdoption adoption) {
        Sql.translating(() -> Sql.with(connect(), connection -> {
            if (!Sql.isTrue(connection, IS_KEPT)) {
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "the catalog is of an older version, which keeps no adoptions",
                        Advice.of("bring it up to date with %s", CliCommand.UPGRADE),
                        null);
            }
            return Sql.inTransaction(connection, () -> {
                // First, so that a move that begins concurrently sees it, or is seen here.
                Sql.update(connection, INSERT, adoption.id(), adoption.table(), adoption.database(), adoption.into());
                refuseMoves(connection, adoption.table());
                return true;
            });
        }));
    }

    /** Checks that no move or split prevents an adoption. */
    public void check(String table) {
        Sql.translating(() -> Sql.with(connect(), connection -> {
            refuseMoves(connection, table);
            return true;
        }));
    }

    private static void refuseMoves(Connection connection, String table) throws SQLException {
        List<String> moves = Sql.list(
                connection,
                "SELECT format('move %s from %s to %s', id, source, target) FROM shardflake_catalog.move ORDER BY id",
                row -> row.getString(1));
        for (Split split : SplitCatalog.listed(connection)) {
            if (split.phase() != SplitPhase.MOVING) {
                moves.add("the split of " + split.source());
            }
        }
        if (!moves.isEmpty()) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "%s cannot be adopted during a move: %s is not done, and would carry a part of it only"
                            .formatted(table, moves.get(0)),
                    Advice.of("complete it or cancel it, then run the same command again: %s", CliCommand.MOVE_STATUS),
                    null);
        }
    }

    /** Removes an adoption that is done or cancelled. */
    public void end(UUID id) {
        Sql.translating(() -> Sql.with(connect(), connection -> {
            if (Sql.isTrue(connection, IS_KEPT)) {
                Sql.update(connection, "DELETE FROM shardflake_catalog.adoption WHERE id = ?", id);
            }
            return true;
        }));
    }

    /**
     * Refuses a move while an adoption is on record, and keeps adoptions from beginning until the transaction ends.
     *
     * @throws MoveRefusedException if there is an adoption
     */
    static void refuseUnderWay(Connection connection) throws SQLException {
        if (Sql.isTrue(connection, IS_KEPT)) {
            Sql.execute(connection, "LOCK TABLE shardflake_catalog.adoption IN SHARE MODE");
        }
        refuseAny(connection);
    }

    static void refuseAny(Connection connection) throws SQLException {
        Optional<PreflightCheck> failed = inTheWay(connection);
        if (failed.isPresent()) {
            throw new MoveRefusedException(failed.get().found(), failed.get().remedy());
        }
    }

    /** A failed check of a move if any adoption is on record. */
    public static Optional<PreflightCheck> inTheWay(Connection connection) throws SQLException {
        return list(connection).stream()
                .findFirst()
                .map(adoption -> new PreflightCheck(
                        "adoptions",
                        PreflightCheck.Outcome.FAILED,
                        "%s, and a move would carry a part of it only".formatted(adoption),
                        Advice.of(
                                "end it first: %s, or %s; if it was begun with a plan, with the same options of %s",
                                adoption.command(CliCommand.ADOPT_RUN_FINISH),
                                adoption.command(CliCommand.ADOPT_RUN_CANCEL),
                                CliCommand.ADOPT_RUN)));
    }

    private Connection connect() throws SQLException {
        return catalog.connect("shardflake adopt");
    }
}
