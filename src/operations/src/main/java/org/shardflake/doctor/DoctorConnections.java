/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.shardflake.ShardSet;
import org.shardflake.adopt.AdoptionStatus;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.OpenAdoptions;
import org.shardflake.server.ServerUrl;

/** The connections of checks and fixes to the catalog and the servers. */
final class DoctorConnections {

    private static final String APPLICATION = "shardflake doctor";

    /** Limits a fix's wait for locks, since the application waits behind the fix. */
    private static final String PATIENCE = "SET lock_timeout = '5s'";

    private final ServerUrl catalog;
    private final Map<String, ServerUrl> servers;
    private final Function<String, ServerUrl> oldDatabases;

    /** @param oldDatabases how to reach a database that is being adopted, by its URL without a password */
    DoctorConnections(ServerUrl catalog, Map<String, ServerUrl> servers, Function<String, ServerUrl> oldDatabases) {
        this.catalog = catalog;
        this.servers = servers;
        this.oldDatabases = oldDatabases;
    }

    @FunctionalInterface
    interface Work {
        void run(Connection connection) throws SQLException;
    }

    /** The unfinished adoptions, as their old databases describe them. */
    List<AdoptionStatus> adoptions() {
        return AdoptionStatus.of(new OpenAdoptions(catalog).list(), oldDatabases);
    }

    /** The text for a message about when shards were given to a server or taken from it. */
    String placedAt(String server, ShardSet shards) {
        return PlacementTimes.read(catalog, server, shards).inText();
    }

    void onServer(String name, Work work) throws SQLException {
        ServerUrl url = servers.get(name);
        if (url == null) {
            throw new IllegalArgumentException("no server " + name);
        }
        try (Connection connection = url.connect(APPLICATION)) {
            Sql.execute(connection, PATIENCE);
            work.run(connection);
        }
    }

    /**
     * Runs work on shards while the catalog keeps them where they are and out of moves.
     *
     * @param isOwner whether the shards must be on the server, or else on others
     * @throws DoctorException if they are not
     */
    void whilePlaced(String server, boolean isOwner, ShardSet shards, Work work) throws SQLException {
        try (Connection connection = catalog.connect(APPLICATION)) {
            connection.setAutoCommit(false);
            long placed = Sql.list(
                            connection,
                            "SELECT server FROM shardflake_catalog.shard WHERE format('shard_%s', lpad(shard::text, 4, '0')) = ANY (?) ORDER BY shard FOR SHARE",
                            row -> row.getString(1),
                            shards)
                    .stream()
                    .filter(owner -> owner.equals(server) == isOwner)
                    .count();
            long moving = Sql.number(
                    connection,
                    "SELECT count(*) FROM shardflake_catalog.move_shard WHERE format('shard_%s', lpad(shard::text, 4, '0')) = ANY (?)",
                    shards);
            if (placed != shards.size() || moving > 0) {
                throw new DoctorException(
                        "%s been placed or moved since; look again".formatted(Plural.shards(shards, "has", "have")));
            }
            onServer(server, work);
            connection.rollback();
        }
    }

    /** Runs work on a server unless the catalog has a move with this tag. */
    void unlessMoving(String tag, String server, Work work) throws SQLException {
        try (Connection connection = catalog.connect(APPLICATION)) {
            if (Sql.isTrue(connection, "SELECT EXISTS (SELECT FROM shardflake_catalog.move WHERE tag = ?)", tag)) {
                throw new DoctorException("there is a move %s now; look again".formatted(tag));
            }
        }
        onServer(server, work);
    }
}
