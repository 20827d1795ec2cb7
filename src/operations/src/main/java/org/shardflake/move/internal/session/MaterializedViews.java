/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.session;

import java.sql.SQLException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveException;

/** The materialized views of moving shards, whose rows replication does not carry. */
public final class MaterializedViews {

    /** Finds materialized views, older ones first, since newer ones may read them. */
    private static final String FIND = """
            SELECT n.nspname, format('%%I.%%I', n.nspname, c.relname)
              FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE c.relkind = 'm' AND (c.relispopulated OR NOT %s) AND n.nspname = ANY (?) ORDER BY c.oid
            """;

    private MaterializedViews() {}

    private record View(String schema, String name) {}

    private static List<View> find(MoveServerSession side, ShardSet shards, boolean onlyPopulated) throws SQLException {
        return Sql.list(
                side.control(),
                FIND.formatted(onlyPopulated),
                row -> new View(row.getString(1), row.getString(2)),
                shards);
    }

    /** Fills the target's views that have rows on the source, as their owner; the others were never filled, and cannot be queried. */
    public static void populate(MoveServerSession source, MoveServerSession target, ShardSet shards)
            throws SQLException {
        Set<View> wanted = new HashSet<>(find(source, shards, true));
        for (View view : find(target, shards, false)) {
            if (wanted.contains(view)) {
                refresh(target, view);
            }
        }
    }

    private static void refresh(MoveServerSession target, View view) throws SQLException {
        try {
            Sql.inTransaction(target.control(), () -> {
                Sql.execute(
                        target.control(),
                        target.checkClaim()
                                + "SET LOCAL search_path = %s, public; REFRESH MATERIALIZED VIEW %s"
                                        .formatted(view.schema(), view.name()));
                return true;
            });
        } catch (SQLException e) {
            if (Sql.isOutage(e) || Sql.isInTheWay(e)) {
                throw e;
            }
            throw new MoveException(
                    "%s cannot be refreshed on %s: %s. Fix or drop the view on both servers, and run the same command again"
                            .formatted(view.name(), target.name(), Sql.message(e)),
                    e);
        }
    }
}
