/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Sql;

/**
 * The deployment state of the shards of some servers.
 *
 * @param groups shards with the same history, by server; the largest group of a server first
 * @param drifts shards whose actual schema differs from most others', if requested
 */
public record SchemaStatus(List<Group> groups, List<ShardDrift> drifts) {

    /**
     * Shards of a server with the same deployed changesets.
     *
     * @param changeSets how many changesets they have had; 0 also for shards missing from the server
     * @param last the last of them, as path, id and author, or what is missing
     * @param digest the same for shards with the same history, also on other servers
     */
    public record Group(String server, ShardSet shards, int changeSets, String last, String digest) {}

    private static final String HISTORY = """
            SELECT n.shard, count(h.id), COALESCE(
                       (array_agg(substr(h.filename, 12) || '::' || h.id || '::' || h.author ORDER BY h.orderexecuted DESC) FILTER (WHERE h.id IS NOT NULL))[1],
                       CASE WHEN to_regnamespace(n.schema) IS NULL THEN 'not on this server' ELSE 'nothing deployed' END),
                   md5(COALESCE(string_agg(substr(h.filename, 12) || '::' || h.id || '::' || h.author || (h.exectype = 'MARK_RAN')::text, ',' ORDER BY h.filename, h.id, h.author), ''))
              FROM (SELECT shard, 'shard_' || lpad(shard::text, 4, '0') AS schema FROM unnest(?::integer[]) AS shard) AS n
              LEFT JOIN @ AS h ON left(h.filename, 11) = n.schema || '/'
             GROUP BY n.shard, n.schema
            """;
    /** The query for servers on which nothing was ever deployed, and so no history exists to join. */
    private static final String NO_HISTORY =
            "(SELECT NULL::text AS id, NULL::text AS author, NULL::text AS filename, NULL::text AS exectype, 0 AS orderexecuted WHERE false)";

    /**
     * Reads the history on every server, and with {@code drift} the actual schemas too.
     */
    public static SchemaStatus read(List<DeployTarget> targets, boolean drift) {
        return Sql.translating(() -> readAll(targets, drift));
    }

    private static SchemaStatus readAll(List<DeployTarget> targets, boolean drift) throws SQLException {
        List<Group> groups = new ArrayList<>();
        DriftSearch search = new DriftSearch();
        for (DeployTarget target : targets) {
            try (Connection connection = target.connect()) {
                groups.addAll(groups(target, connection));
                if (drift) {
                    search.add(target, connection);
                }
            } catch (SQLException e) {
                throw new SQLException("server %s: %s".formatted(target.server(), e.getMessage()), e.getSQLState(), e);
            }
        }
        return new SchemaStatus(groups, search.find());
    }

    private record State(int changeSets, String last, String digest) {}

    private static List<Group> groups(DeployTarget target, Connection connection) throws SQLException {
        Map<State, List<Integer>> shardsByState = new TreeMap<>(Comparator.comparingInt(State::changeSets)
                .thenComparing(State::last)
                .thenComparing(State::digest));
        String table = ShardHistory.exists(connection) ? ShardHistory.TABLE : NO_HISTORY;
        try (var statement = connection.prepareStatement(HISTORY.replace("@", table))) {
            statement.setArray(
                    1,
                    connection.createArrayOf(
                            "int4", target.shards().stream().boxed().toArray()));
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    shardsByState
                            .computeIfAbsent(
                                    new State(row.getInt(2), row.getString(3), row.getString(4)),
                                    state -> new ArrayList<>())
                            .add(row.getInt(1));
                }
            }
        }
        return shardsByState.entrySet().stream()
                .map(entry -> new Group(
                        target.server(),
                        ShardSet.of(entry.getValue()),
                        entry.getKey().changeSets(),
                        entry.getKey().last(),
                        entry.getKey().digest()))
                .sorted(Comparator.comparingInt((Group group) -> group.shards().size())
                        .reversed())
                .toList();
    }
}
