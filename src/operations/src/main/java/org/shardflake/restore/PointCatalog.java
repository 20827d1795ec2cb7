/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.restore;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Optional;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Sql;
import org.shardflake.restore.RestorePoint.Place;

/** The restore points that the catalog has recorded. */
final class PointCatalog {

    /** Reads the restore points as complete, even in a restored catalog, whose record is as of right before the catalog's own point. */
    private static final String POINTS = """
            SELECT p.name, p.phase = 'complete' OR p.phase = 'on all servers' AND CASE
                       WHEN pg_is_in_recovery() THEN false
                       ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) > left(s.wal_file, 8) END,
                   p.begun_at, p.map_version, p.placements
              FROM shardflake_catalog.restore_point p
              LEFT JOIN shardflake_catalog.restore_point_server s ON s.point = p.name AND s.server = ''
            """;

    private static final String PLACES = """
            SELECT server, identity, lsn, wal_file, made_at FROM shardflake_catalog.restore_point_server
             WHERE point = ? ORDER BY server = '', server
            """;

    private static final String MAY_READ = """
            SELECT count(*) = 2 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = 'shardflake_catalog' AND c.relname IN ('restore_point', 'restore_point_server') AND has_table_privilege(c.oid, 'SELECT')
            """;

    static final String PLACEMENTS = """
            SELECT md5(string_agg(format('%s %s %s', shard, server, epoch), ',' ORDER BY shard)) FROM shardflake_catalog.shard
            """;

    private PointCatalog() {}

    /** @throws ShardflakeException if the catalog is older than restore points */
    static void require(Connection connection) throws SQLException {
        if (!Sql.isTrue(connection, "SELECT to_regclass('shardflake_catalog.restore_point') IS NOT NULL")) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "the catalog is missing, or of a version without restore points",
                    Advice.of("bring it up to date with %s", CliCommand.UPGRADE),
                    null);
        }
    }

    /** The newest complete point; empty also if points are unsupported or hidden from the role. */
    static Optional<RestorePoint> newest(Connection connection) throws SQLException {
        return Sql.isTrue(connection, MAY_READ)
                ? read(connection, POINTS + " WHERE p.phase = 'complete' ORDER BY p.begun_at DESC LIMIT 1").stream()
                        .findFirst()
                : Optional.empty();
    }

    static List<RestorePoint> list(Connection connection) throws SQLException {
        require(connection);
        return read(connection, POINTS + " ORDER BY p.begun_at DESC, p.name");
    }

    static Optional<RestorePoint> find(Connection connection, String name) throws SQLException {
        require(connection);
        return read(connection, POINTS + " WHERE p.name = ?", name).stream().findFirst();
    }

    private static List<RestorePoint> read(Connection connection, String sql, Object... parameters)
            throws SQLException {
        return Sql.list(
                connection,
                sql,
                row -> new RestorePoint(
                        row.getString(1),
                        row.getBoolean(2),
                        row.getObject(3, OffsetDateTime.class).toInstant(),
                        row.getLong(4),
                        row.getString(5),
                        places(connection, row.getString(1))),
                parameters);
    }

    private static List<Place> places(Connection connection, String name) throws SQLException {
        return Sql.list(
                connection,
                PLACES,
                row -> new Place(
                        row.getString(1).isEmpty() ? RestorePoint.CATALOG : row.getString(1),
                        row.getString(1).isEmpty(),
                        row.getString(2),
                        row.getString(3),
                        row.getString(4),
                        row.getObject(5, OffsetDateTime.class).toInstant()),
                name);
    }

    /** Reserves the name before any server has the point, since recovery stops at the first point with a name. */
    static void begin(Connection connection, String name, long mapVersion, String placements) throws SQLException {
        Sql.update(
                connection,
                "INSERT INTO shardflake_catalog.restore_point (name, map_version, placements) VALUES (?, ?, ?)",
                name,
                mapVersion,
                placements);
    }

    /** Records the position of the point on a server, known or expected. */
    static void record(Connection connection, String name, Place place) throws SQLException {
        Sql.update(
                connection,
                """
                INSERT INTO shardflake_catalog.restore_point_server (point, server, identity, lsn, wal_file, made_at)
                VALUES (?, ?, ?, ?::text::pg_lsn, ?, ?) ON CONFLICT (point, server)
                DO UPDATE SET lsn = EXCLUDED.lsn, wal_file = EXCLUDED.wal_file, made_at = EXCLUDED.made_at
                """,
                name,
                place.isCatalog() ? "" : place.server(),
                place.identity(),
                place.lsn(),
                place.walFile(),
                place.madeAt().atOffset(ZoneOffset.UTC));
    }

    static void enter(Connection connection, String name, String phase) throws SQLException {
        Sql.update(connection, "UPDATE shardflake_catalog.restore_point SET phase = ? WHERE name = ?", phase, name);
    }
}
