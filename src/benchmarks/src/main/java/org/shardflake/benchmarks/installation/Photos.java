/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.installation;

import java.sql.Connection;
import java.sql.SQLException;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Sql;

/** The application of the measurements: photos and their tags. */
public final class Photos {

    /** Two tables with an index and a foreign key. */
    public static final String CHANGELOG = """
            databaseChangeLog:
              - changeSet:
                  id: photo
                  author: ann
                  changes:
                    - createTable:
                        tableName: photo
                        columns:
                          - column: {name: id, type: bigint, constraints: {primaryKey: true}}
                          - column: {name: uid, type: bigint, constraints: {nullable: false}}
                          - column: {name: title, type: text}
                    - createIndex: {indexName: photo_uid, tableName: photo, columns: [{column: {name: uid}}]}
              - changeSet:
                  id: tag
                  author: ann
                  changes:
                    - createTable:
                        tableName: tag
                        columns:
                          - column: {name: id, type: bigint, constraints: {primaryKey: true}}
                          - column:
                              name: photo_id
                              type: bigint
                              constraints: {nullable: false, foreignKeyName: tag_photo, references: photo(id)}
            """;

    /** The same, and one {@code ALTER TABLE}. */
    public static final String ALTERED = CHANGELOG + """
              - changeSet:
                  id: place
                  author: ann
                  changes:
                    - addColumn: {tableName: photo, columns: [{column: {name: place, type: text}}]}
            """;

    /** The approximate size of a photo and its tag in the tables' files, as {@link #fill} makes them. */
    private static final int BYTES_OF_A_PAIR = 360;

    private Photos() {}

    /** The number of photos, with a tag each, that make about this many MiB of tables. */
    public static int rows(double mebibytes) {
        return Math.max(1, (int) (mebibytes * (1 << 20) / BYTES_OF_A_PAIR));
    }

    /** Gives each of these shards so many photos with a tag each. */
    public static void fill(BenchmarkInstallation installation, String server, ShardSet shards, int rowsAShard)
            throws SQLException {
        try (Connection connection = installation.connect(server)) {
            Sql.execute(connection, "SET synchronous_commit = off");
            for (int shard : shards.stream().toArray()) {
                Sql.execute(connection, """
                        WITH photos AS (
                            INSERT INTO shard_%1$04d.photo (uid, title)
                            SELECT %1$d + %2$d::bigint * n, repeat(md5(n::text), 8) FROM generate_series(1, %3$d) n
                            RETURNING id)
                        INSERT INTO shard_%1$04d.tag (photo_id) SELECT id FROM photos
                        """.formatted(shard, installation.shards(), rowsAShard));
                Sql.execute(connection, "VACUUM ANALYZE shard_%1$04d.photo, shard_%1$04d.tag".formatted(shard));
            }
        }
    }

    /** The size of the tables of these shards in bytes, without their indexes. */
    public static long bytes(BenchmarkInstallation installation, String server, ShardSet shards) throws SQLException {
        long bytes = 0;
        try (Connection connection = installation.connect(server)) {
            for (int shard : shards.stream().toArray()) {
                bytes += Sql.number(
                        connection,
                        "SELECT pg_table_size('shard_%1$04d.photo') + pg_table_size('shard_%1$04d.tag')"
                                .formatted(shard));
            }
        }
        return bytes;
    }

    /** The number of photos in a shard. */
    public static long count(BenchmarkInstallation installation, String server, int shard) throws SQLException {
        try (Connection connection = installation.connect(server)) {
            return Sql.number(connection, "SELECT count(*) FROM shard_%04d.photo".formatted(shard));
        }
    }
}
