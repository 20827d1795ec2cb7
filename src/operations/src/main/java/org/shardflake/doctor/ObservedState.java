/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.doctor.ServerFacts.Remnant;
import org.shardflake.move.Move;
import org.shardflake.move.MovePhase;
import org.shardflake.move.RestoredCatalog.Counted;
import org.shardflake.move.ShardPhase;
import org.shardflake.move.Split;

/**
 * The state reported by the catalog and the servers. The catalog was read before the servers and again after them, so that changes in
 * between are not mistaken for faults.
 *
 * @param before the shard map before the servers were read
 * @param map the shard map after it
 * @param moves the moves that either reading had
 * @param following the tags of moves that were following at both readings, since the same time
 * @param countedBefore what the catalog had counted of moves at the earlier reading, by tag
 * @param counted the same at the later reading
 * @param splits the servers that were being split by a standby at the later reading
 * @param endedMoves the tags, or their part before the underscore, of moves known to have ended
 * @param facts by server name, for servers that could be read
 */
record ObservedState(
        ShardMap before,
        ShardMap map,
        List<Move> moves,
        Set<String> following,
        Map<String, Counted> countedBefore,
        Map<String, Counted> counted,
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
     * Whether a shard's place is known and no command is about to change it. Its epoch tells that it did not leave and come back while the servers
     * were read.
     */
    boolean isSettled(int shard) {
        return shard < map.sharding().shardCount()
                && before.placement(shard).equals(map.placement(shard))
                && !isMoving(shard);
    }

    /** Moves that servers know and the catalog never had, which suggests that the catalog is older. */
    Set<String> unknownMoves() {
        Set<String> unknown = new TreeSet<>();
        facts.values()
                .forEach(server -> server.remnants().stream()
                        .map(Remnant::tag)
                        .filter(tag -> !hasMove(tag) && !isOver(tag))
                        .forEach(unknown::add));
        return unknown;
    }

    /** Whether the catalog once had this move, which has ended. */
    boolean isOver(String tag) {
        return endedMoves.contains(tag) || endedMoves.contains(tag.replaceFirst("_.*", ""));
    }

    boolean isMoving(int shard) {
        return moves.stream().anyMatch(move -> move.shardSet().contains(shard));
    }

    /** The highest claim that a server accepts for a move; 0 if none knows the move. */
    long claimOnServers(String tag) {
        return facts.values().stream()
                .mapToLong(server -> server.claims().getOrDefault(tag, 0L))
                .max()
                .orElse(0);
    }

    /** Whether both servers have been claimed for a move, according to the catalog. */
    boolean isPrepared(Move move) {
        Counted before = countedBefore.get(move.tag());
        return before != null && before.claim() > 0 && move.phase() != MovePhase.PREPARING;
    }

    /** The latest epoch of a shard that a server remembers; 0 if none does. */
    long lastEpoch(int shard) {
        return facts.values().stream()
                .map(server -> server.placements().get(shard))
                .filter(Objects::nonNull)
                .mapToLong(Placement::epoch)
                .max()
                .orElse(0);
    }

    /**
     * Whether a server has received or given up a shard of a move with an epoch that the catalog cannot know yet. A shard is given up during an
     * attempt, which the catalog counts before and after.
     */
    boolean isNewerOnServers(Move move, int shard) {
        long counts = map.placement(shard).epoch();
        return facts.values().stream()
                .map(server -> server.placements().get(shard))
                .filter(Objects::nonNull)
                .filter(placement -> placement.epoch() > counts)
                .anyMatch(placement -> placement.here() || !isCuttingOver(move, shard));
    }

    private boolean isCuttingOver(Move move, int shard) {
        Counted before = countedBefore.get(move.tag());
        Counted after = counted.get(move.tag());
        return before == null
                || after == null
                || !Objects.equals(
                        before.attempts().get(shard), after.attempts().get(shard))
                || move.shardSet(ShardPhase.CUTTING_OVER).contains(shard);
    }

    /** Whether both servers still have everything that they need to follow each other, which a restored server never has. */
    boolean isIntact(Move move) {
        return missingParts(move, move.source(), "forward", "reverse").isEmpty()
                && missingParts(move, move.target(), "reverse", "forward").isEmpty();
    }

    /** The objects that a server lacks for a following move. */
    List<Remnant> missingParts(Move move, String server, String out, String in) {
        String stream = "shardflake_" + move.tag() + "_";
        List<Remnant> missing = new ArrayList<>(List.of(
                new Remnant(Remnant.Kind.SUBSCRIPTION, stream + in, move.tag()),
                new Remnant(Remnant.Kind.SLOT, stream + out, move.tag()),
                new Remnant(Remnant.Kind.PUBLICATION, stream + out, move.tag()),
                new Remnant(Remnant.Kind.CLAIM, move.tag(), move.tag())));
        ServerFacts its = facts.get(server);
        missing.removeAll(its == null ? List.of() : its.remnants());
        return missing;
    }

    /** The servers that could not be read, for messages; empty if all could. */
    String silent() {
        return map.servers().stream()
                .map(Server::name)
                .filter(name -> !facts.containsKey(name))
                .collect(Collectors.joining(", "));
    }

    /** Whether a server would remember moves. */
    boolean remembers(String server) {
        ServerFacts its = facts.get(server);
        return its != null && its.remembers();
    }

    /** Shards that are in a server's history although their schema is missing. */
    ShardSet historyOfGone(String server) {
        ServerFacts its = facts.get(server);
        return its == null ? ShardSet.of() : its.historyOfGone();
    }

    boolean takesWrites(String server, int shard) {
        ServerFacts its = facts.get(server);
        ShardState state = its == null ? null : its.shards().get(shard);
        return state != null && state.takesWrites();
    }

    /** Whether the move exists or a split is about to create it. */
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
