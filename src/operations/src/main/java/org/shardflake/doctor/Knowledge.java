/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.doctor.ServerFacts.Remnant;
import org.shardflake.move.Move;
import org.shardflake.move.MovePhase;
import org.shardflake.move.Split;

/**
 * The state reported by the catalog and the servers. The catalog was read before the servers and again after them, so that changes in
 * between are not mistaken for faults.
 *
 * @param before the shard map before the servers were read
 * @param map the shard map after it
 * @param moves the moves that either reading had
 * @param following the tags of moves that were following at both readings, since the same time
 * @param splits the servers that were being split by a standby at the later reading
 * @param endedMoves the tags, or their part before the underscore, of moves known to have ended
 * @param facts by server name, for servers that could be read
 */
record Knowledge(
        ShardMap before,
        ShardMap map,
        List<Move> moves,
        Set<String> following,
        List<Split> splits,
        Set<String> endedMoves,
        Map<String, ServerFacts> facts) {

    static List<Move> union(List<Move> before, List<Move> after) {
        Map<String, Move> byTag = new LinkedHashMap<>();
        before.forEach(move -> byTag.put(move.tag(), move));
        after.forEach(move -> byTag.put(move.tag(), move));
        return List.copyOf(byTag.values());
    }

    static Set<String> following(List<Move> before, List<Move> after) {
        return after.stream()
                .filter(move -> move.phase() == MovePhase.FOLLOWING)
                .filter(move -> before.stream()
                        .anyMatch(earlier -> earlier.tag().equals(move.tag())
                                && earlier.phase() == MovePhase.FOLLOWING
                                && earlier.phaseSince().equals(move.phaseSince())))
                .map(Move::tag)
                .collect(Collectors.toUnmodifiableSet());
    }

    /**
     * Whether a shard's place is known and nobody is about to change it. Its epoch tells that it did not leave and come back while the
     * servers were read.
     */
    boolean isSettled(int shard) {
        return shard < map.sharding().shardCount()
                && before.placement(shard).equals(map.placement(shard))
                && !isMoving(shard);
    }

    /** Moves that servers have parts of but the catalog never had, so it may be older than they are. */
    Set<String> unknownMoves() {
        Set<String> unknown = new TreeSet<>();
        facts.values()
                .forEach(server -> server.remnants().stream()
                        .map(Remnant::tag)
                        .filter(tag -> !hasMove(tag) && !isOver(tag))
                        .forEach(unknown::add));
        return unknown;
    }

    /** Whether the catalog had a move that has ended. */
    boolean isOver(String tag) {
        return endedMoves.contains(tag) || endedMoves.contains(tag.replaceFirst("_.*", ""));
    }

    boolean isMoving(int shard) {
        return moves.stream().anyMatch(move -> move.shardSet().contains(shard));
    }

    /** The servers that could not be read, for messages; empty if all could. */
    String silent() {
        return map.servers().stream()
                .map(Server::name)
                .filter(name -> !facts.containsKey(name))
                .collect(Collectors.joining(", "));
    }

    /** Whether a server would remember a move. */
    boolean remembers(String server) {
        ServerFacts its = facts.get(server);
        return its != null && its.remembers();
    }

    /** Shards whose history a server has, but not the schema. */
    ShardSet historyOfGone(String server) {
        ServerFacts its = facts.get(server);
        return its == null ? ShardSet.of() : its.historyOfGone();
    }

    boolean takesWrites(String server, int shard) {
        ServerFacts its = facts.get(server);
        ShardState state = its == null ? null : its.shards().get(shard);
        return state != null && state.takesWrites();
    }

    /** Also a move that a split is about to begin. */
    boolean hasMove(String tag) {
        return moves.stream().anyMatch(move -> move.tag().equals(tag))
                || splits.stream().anyMatch(split -> split.tag().equals(tag));
    }

    String owner(int shard) {
        return map.server(shard).name();
    }

    ShardSet shardsOf(String server) {
        return map.shards(map.server(server));
    }
}
