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
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardSet;
import org.shardflake.compare.Rows;
import org.shardflake.compare.SnapshotPair;
import org.shardflake.compare.TableDifference;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.CopiesDifferException;
import org.shardflake.move.internal.copy.DeferredIndexes;
import org.shardflake.move.internal.session.MoveServerSession;

/**
 * Protects copies that may be newer than the shards themselves: after a restore of the shards' server, or a failover to a standby
 * that was behind. A server that still has the move's slot, and not from its former primary, has lost nothing.
 */
final class NewerCopyGuard {

    private NewerCopyGuard() {}

    /**
     * Refuses copies that may be newer than the shards; accepts an unbroken stream, copies without rows that the shards lack, and copies in
     * unfinished parts, which are never the only copy.
     *
     * @param stream the stream from the shards to their copies
     * @throws CopiesDifferException if the copies have rows that the shards lack or have with other values
     */
    static void refuse(MoveSession session, Stream stream, MoveListener listener) throws SQLException {
        List<Integer> carried = session.move().shards().stream()
                .filter(shard -> session.carrying(shard) == stream)
                .map(MoveShard::shard)
                .toList();
        if (carried.isEmpty() || stream.isUnbroken()) {
            return;
        }
        ShardSet unfinished = DeferredIndexes.lacking(
                session.source().control(),
                session.target().control(),
                session.move().shardSet(ShardPhase.WAITING));
        ShardSet shards = ShardSet.of(
                carried.stream().filter(shard -> !unfinished.contains(shard)).toList());
        Map<Integer, List<TableDifference>> newer = find(stream, shards, listener);
        if (!newer.isEmpty()) {
            throw new CopiesDifferException(
                    "%s has %s, and the copies of %s on %s have %s that it lacks or has with other values; nothing was removed"
                            .formatted(
                                    stream.publisher().name(),
                                    stream.hasSlot()
                                            ? "the slot of move %s from another primary, after a failover"
                                                    .formatted(session.taken().id())
                                            : "lost the slot of move %s, as after a restore or a failover"
                                                    .formatted(session.taken().id()),
                                    Plural.shards(ShardSet.of(newer.keySet())),
                                    stream.subscriber().name(),
                                    TableDifference.count(newer.values())),
                    Advice.of(
                            "%s lists them. Write those rows to %s by hand; then, or if they are just older, run %s",
                            CliCommand.MOVE_VERIFY_JSON.with(session.taken().id()),
                            stream.publisher().name(),
                            session.move().cancelUncomparedCommand()),
                    newer);
        }
    }

    /**
     * Refuses copies on the source that may be newer; accepts sealed ones without rows that the shards on the target lack, for shards that were
     * not found equal since their cutover and whose copies can no longer follow.
     *
     * @throws CopiesDifferException if the copies have rows that the shards lack or have with other values
     */
    static void refuseOnSource(MoveSession session, ShardSet shards, MoveListener listener) throws SQLException {
        if (shards.isEmpty()) {
            return;
        }
        Map<Integer, List<TableDifference>> newer = find(session.reverse(), shards, listener);
        if (!newer.isEmpty()) {
            throw new CopiesDifferException(
                    "copies of %1$s on %2$s were not found equal since their cutover, cannot follow any more, and have rows that %3$s lacks or has with other values; nothing was removed. Write the rows that %3$s should have there by hand; then, on %2$s, SELECT shardflake.drop_shard(shard, force => true) FROM unnest('{%4$s}'::integer[]) shard, and run the same command again"
                            .formatted(
                                    Plural.shards(ShardSet.of(newer.keySet())),
                                    session.source().name(),
                                    session.target().name(),
                                    newer.keySet().stream().map(String::valueOf).collect(Collectors.joining(","))),
                    newer);
        }
    }

    /** All rows that copies have and their shards lack or have with other values, for shards whose copies can no longer follow. */
    static Map<Integer, List<TableDifference>> list(MoveSession session, ShardSet shards, MoveListener listener)
            throws SQLException {
        Map<Integer, List<TableDifference>> all = new TreeMap<>();
        for (Stream stream : List.of(session.forward(), session.reverse())) {
            List<Integer> its = session.move().shards().stream()
                    .filter(shard -> shards.contains(shard.shard()) && session.carrying(shard) == stream)
                    .map(MoveShard::shard)
                    .toList();
            all.putAll(find(stream, ShardSet.of(its), listener));
        }
        return all;
    }

    private static Map<Integer, List<TableDifference>> find(Stream stream, ShardSet shards, MoveListener listener)
            throws SQLException {
        MoveServerSession owner = stream.publisher();
        MoveServerSession other = stream.subscriber();
        Map<Integer, List<String>> copies = other.tables(shards);
        Map<Integer, List<String>> originals = owner.tables(shards);
        Map<Integer, List<TableDifference>> found = new TreeMap<>();
        TableDifference.Names names = new TableDifference.Names();
        try (SnapshotPair sessions = SnapshotPair.open(owner::connect, other::connect)) {
            for (int shard : shards.stream().toArray()) {
                List<String> copied = copies.getOrDefault(shard, List.of());
                if (isEmpty(other, copied)) {
                    continue;
                }
                List<String> there = originals.getOrDefault(shard, List.of());
                List<TableDifference> differences =
                        new ArrayList<>(TableDifference.onlyOn(sessions.second(), copied, there, names));
                for (String table : copied) {
                    if (there.contains(table)) {
                        TableDifference.findCounting(
                                        sessions.first(),
                                        sessions.second(),
                                        Rows.of(sessions.first(), sessions.second(), table),
                                        names,
                                        TableDifference.Filter.OF_FOLLOWER,
                                        () -> {})
                                .ifPresent(differences::add);
                    }
                }
                if (!differences.isEmpty()) {
                    found.put(shard, differences);
                }
                sessions.reset();
            }
        }
        found.forEach(listener::compared);
        return found;
    }

    private static boolean isEmpty(MoveServerSession side, List<String> tables) throws SQLException {
        return tables.isEmpty()
                || !Sql.isTrue(
                        side.control(),
                        tables.stream()
                                .map("EXISTS (SELECT FROM %s)"::formatted)
                                .collect(Collectors.joining(" OR ", "SELECT ", "")));
    }
}
