/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.shardflake.ShardSet;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Sql;

/**
 * Guards copies on the target that may be newer than the shards on the source: after a restore of the source, or a failover to a
 * standby that was behind. Slots do not survive either, so a source that still has the move's slot is what it was.
 */
final class NewerCopies {

    private NewerCopies() {}

    /**
     * Lets pass what has a slot, and copies that have nothing which the source lacks.
     *
     * @throws CopiesDifferException if the target has rows that the source lacks or has with other values
     */
    static void refuse(MoveSession session) throws SQLException {
        if (session.forward().hasSlot()) {
            return;
        }
        ShardSet shards = ShardSet.of(session.move().shards().stream()
                .filter(shard -> shard.phase() != ShardPhase.SWITCHED)
                .map(MoveShard::shard)
                .toList());
        Map<Integer, List<TableDifference>> newer = find(session, shards);
        if (!newer.isEmpty()) {
            throw new CopiesDifferException(
                    "%s has lost the slot of move %d, as after a restore or a failover, and the copies of shards %s on %s have rows that it lacks or has with other values; nothing was removed. Write those rows to %s by hand; then, or if they are just older, run move cancel --uncompared"
                            .formatted(
                                    session.source().name(),
                                    session.taken().id(),
                                    ShardSet.of(newer.keySet()),
                                    session.target().name(),
                                    session.source().name()),
                    newer);
        }
    }

    private static Map<Integer, List<TableDifference>> find(MoveSession session, ShardSet shards) throws SQLException {
        Map<Integer, List<String>> copies = session.target().tables(shards);
        Map<Integer, List<String>> originals = session.source().tables(shards);
        Map<Integer, List<TableDifference>> found = new TreeMap<>();
        try (ComparisonSessions sessions = ComparisonSessions.open(session.source(), session.target())) {
            for (int shard : shards.stream().toArray()) {
                List<String> copied = copies.getOrDefault(shard, List.of());
                if (isEmpty(session.target(), copied)) {
                    continue;
                }
                List<String> there = originals.getOrDefault(shard, List.of());
                List<TableDifference> differences =
                        new ArrayList<>(TableDifference.onlyOn(sessions.second(), copied, there));
                for (String table : copied) {
                    if (there.contains(table)) {
                        TableDifference.find(
                                        sessions.first(),
                                        sessions.second(),
                                        Rows.of(sessions.first(), sessions.second(), table))
                                .flatMap(TableDifference::ofFollower)
                                .ifPresent(differences::add);
                    }
                }
                if (!differences.isEmpty()) {
                    found.put(shard, differences);
                }
                sessions.reset();
            }
        }
        return found;
    }

    private static boolean isEmpty(MoveSide side, List<String> tables) throws SQLException {
        return tables.isEmpty()
                || !Sql.isTrue(
                        side.control(),
                        tables.stream()
                                .map("EXISTS (SELECT FROM %s)"::formatted)
                                .collect(Collectors.joining(" OR ", "SELECT ", "")));
    }
}
