/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;
import org.shardflake.ShardPlacement;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.catalog.ShardCatalog;

/**
 * Moves a small shard the simple way: fence it, copy its rows, change the map, open the copy.
 *
 * <p>It keeps to the order that any move must keep to; its write pause is as long as the copy.
 */
final class PhotoMover {

    private static final String LOCK_NOT_AVAILABLE = "55P03";

    private final PhotoShards shards;
    private final ShardCatalog catalog;

    PhotoMover(PhotoShards shards, ShardCatalog catalog) {
        this.shards = shards;
        this.catalog = catalog;
    }

    /** Moves a shard to the server at a position, and empties the copy it leaves behind, which stays fenced. */
    void move(int shard, int to) throws SQLException {
        move(shard, to, true);
    }

    /** Moves a shard to the server at a position; the copy it leaves behind stays fenced. */
    void move(int shard, int to, boolean emptiesSource) throws SQLException {
        ShardPlacement placement = catalog.load().placement(shard);
        int from = position(placement.server().name());
        fence(from, shard);
        copy(shard, from, to);
        catalog.place(
                shard,
                placement.epoch(),
                PhotoShards.server(shards.database(to)).name(),
                "a test move");
        shards.execute(to, "SELECT shardflake.unfence_shard(%s)".formatted(shard));
        if (!emptiesSource) {
            return;
        }
        shards.execute(
                from, "SET session_replication_role = replica; DELETE FROM %s.photo".formatted(Sharding.schema(shard)));
    }

    void fence(int server, int shard) throws SQLException {
        for (int attempt = 1; ; attempt++) {
            try {
                // Within bounds, or writers would queue behind a fence that waits for a long transaction.
                shards.execute(server, "SET lock_timeout = '30ms'; SELECT shardflake.fence_shard(%s)".formatted(shard));
                return;
            } catch (SQLException e) {
                if (attempt == 1000 || !LOCK_NOT_AVAILABLE.equals(e.getSQLState())) {
                    throw e;
                }
            }
        }
    }

    private void copy(int shard, int from, int to) throws SQLException {
        String schema = Sharding.schema(shard);
        if (shards.number(to, "SELECT count(*) FROM pg_namespace WHERE nspname = '%s'".formatted(schema)) == 0) {
            PhotoShards.createShards(shards.database(to), ShardSet.of(shard));
        }
        shards.execute(to, "SELECT shardflake.fence_shard(%s)".formatted(shard));
        try (Connection source = shards.database(from).connect();
                Connection target = shards.database(to).connect();
                Statement statement = target.createStatement()) {
            statement.execute("SET session_replication_role = replica");
            CopyManager rows = target.unwrap(PGConnection.class).getCopyAPI();
            StringWriter copied = new StringWriter();
            source.unwrap(PGConnection.class).getCopyAPI().copyOut("COPY %s.photo TO STDOUT".formatted(schema), copied);
            rows.copyIn("COPY %s.photo FROM STDIN".formatted(schema), new StringReader(copied.toString()));
            continueSequences(source, target, shard);
        } catch (IOException e) {
            throw new IllegalStateException("memory does not fail", e);
        }
    }

    private static void continueSequences(Connection source, Connection target, int shard) throws SQLException {
        try (Statement statement = source.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT array_agg(sequence_name), array_agg(last_value) FROM shardflake.sequence_positions(%s)"
                                .formatted(shard));
                PreparedStatement set = target.prepareStatement("SELECT shardflake.set_sequence_positions(?, ?, ?)")) {
            row.next();
            set.setInt(1, shard);
            set.setArray(2, row.getArray(1));
            set.setArray(3, row.getArray(2));
            set.execute();
        }
    }

    private int position(String server) {
        for (int i = 0; ; i++) {
            if (PhotoShards.server(shards.database(i)).name().equals(server)) {
                return i;
            }
        }
    }
}
