/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.stream.Collectors;
import org.shardflake.jdbc.Sql;

/**
 * The SQL of every changeset deployed to a server's shards, in {@code shardflake_deploy.changeset}, so that a shard can be recreated
 * on another server without its changelog.
 */
final class DeployedSql {

    static final String TABLE = ShardHistory.SCHEMA + ".changeset";

    private DeployedSql() {}

    static void create(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("""
                    CREATE TABLE IF NOT EXISTS %s (
                        filename text, id text, author text, md5sum text, sql text[] NOT NULL,
                        PRIMARY KEY (filename, id, author, md5sum))
                    """.formatted(TABLE));
        }
    }

    /** Whether some shard of a server has had, or was about to get, a changeset of a file. */
    static boolean knows(Connection connection, String file) throws SQLException {
        return Sql.isTrue(connection, "SELECT to_regclass('%s') IS NOT NULL".formatted(TABLE))
                && Sql.isTrue(connection, "SELECT EXISTS (SELECT FROM %s WHERE filename = ?)".formatted(TABLE), file);
    }

    /** SQL that records a changeset in the transaction of a shard that gets it. */
    static String recordSql(ShardChangeSet changeSet) {
        return "INSERT INTO %s VALUES (%s, %s, %s, %s, ARRAY[%s]::text[]) ON CONFLICT DO NOTHING"
                .formatted(
                        TABLE,
                        Sql.quote(changeSet.path()),
                        Sql.quote(changeSet.id()),
                        Sql.quote(changeSet.author()),
                        Sql.quote(changeSet.checksum()),
                        changeSet.sql().stream().map(Sql::quote).collect(Collectors.joining(", ")));
    }

    /**
     * Records changesets before any shard has them, unless their SQL is {@link LaterSql still to be made} or is unknown, in which case no
     * further shard can get them.
     */
    static void record(Connection connection, List<ShardChangeSet> changeSets) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement(
                "INSERT INTO %s VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING".formatted(TABLE))) {
            for (ShardChangeSet changeSet : changeSets) {
                if (!changeSet.isMade() || changeSet.refusal().isPresent()) {
                    continue;
                }
                insert.setString(1, changeSet.path());
                insert.setString(2, changeSet.id());
                insert.setString(3, changeSet.author());
                insert.setString(4, changeSet.checksum());
                insert.setArray(
                        5, connection.createArrayOf("text", changeSet.sql().toArray()));
                insert.addBatch();
            }
            insert.executeBatch();
        }
    }
}
