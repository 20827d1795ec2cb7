/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.doctor;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongPredicate;
import org.shardflake.doctor.ServerFacts.Remnant;
import org.shardflake.doctor.ServerFacts.Remnant.Kind;
import org.shardflake.doctor.Verdict.Doubtful;
import org.shardflake.move.Move;
import org.shardflake.move.MovePhase;
import org.shardflake.move.RestoredCatalog.Reached;

/**
 * Moves that have progressed or ended since the moment to which the catalog was restored.
 *
 * <p>Three things show it, each of which a live catalog has before the servers do: an epoch of one of the move's shards, the claim that
 * the servers obey, and the phase in which the servers have the move's objects at all.
 */
final class StaleMoves {

    /** A move for which the catalog has an earlier state, with the state on the servers and the evidence for it. */
    record Stale(Reached reached, String why) {}

    private StaleMoves() {}

    /** @param isTakenUp whether someone works on a move, by its number */
    static List<Stale> of(ObservedState observed, ShardVerdicts verdicts, LongPredicate isTakenUp) {
        List<Stale> stale = new ArrayList<>();
        for (Move move : observed.moves()) {
            Optional<String> why = why(observed, move);
            boolean isDecided = move.shardSet().stream().noneMatch(shard -> verdicts.of(shard) instanceof Doubtful);
            if (why.isPresent() && isDecided && !hasLostItsSource(observed, move) && !isTakenUp.test(move.id())) {
                stale.add(new Stale(
                        new Reached(move, observed.claimOnServers(move.tag()), phase(observed, verdicts, move)),
                        why.get()));
            }
        }
        return stale;
    }

    private static Optional<String> why(ObservedState observed, Move move) {
        if (!observed.facts().keySet().containsAll(List.of(move.source(), move.target()))
                || !observed.counted().containsKey(move.tag())) {
            return Optional.empty();
        }
        List<Integer> newer = move.shardSet().stream()
                .filter(shard -> observed.isNewerOnServers(move, shard))
                .boxed()
                .toList();
        if (!newer.isEmpty()) {
            int shard = newer.get(0);
            return Optional.of("the servers count epoch %s of shard %s, and the catalog %s"
                    .formatted(
                            observed.lastEpoch(shard),
                            shard,
                            observed.map().placement(shard).epoch()));
        }
        long claim = observed.claimOnServers(move.tag());
        if (claim > observed.counted().get(move.tag()).claim()) {
            return Optional.of("the servers counted %s claims of it, and the catalog %s"
                    .formatted(claim, observed.counted().get(move.tag()).claim()));
        }
        return claim == 0 && observed.isPrepared(move)
                ? Optional.of("the servers have no trace of it")
                : Optional.empty();
    }

    /**
     * Whether the source was restored as well, or failed over, and lost its slot: the target's copies may then have rows that the source lacks.
     * The end of a move drops what goes back before what goes forward.
     */
    private static boolean hasLostItsSource(ObservedState observed, Move move) {
        return has(observed, move.target(), move, Kind.SLOT, "reverse")
                && has(observed, move.target(), move, Kind.SUBSCRIPTION, "forward")
                && !has(observed, move.source(), move, Kind.SLOT, "forward");
    }

    private static boolean has(ObservedState observed, String server, Move move, Kind kind, String direction) {
        ServerFacts facts = observed.facts().get(server);
        return facts != null
                && facts.remnants()
                        .contains(new Remnant(kind, "shardflake_%s_%s".formatted(move.tag(), direction), move.tag()));
    }

    /**
     * The phase that a move has reached; empty if no trace of it is left. What is left of a part of its objects is the middle of its end, or of
     * its beginning.
     */
    private static Optional<MovePhase> phase(ObservedState observed, ShardVerdicts verdicts, Move move) {
        if (observed.isIntact(move)) {
            return Optional.of(MovePhase.FOLLOWING);
        }
        if (observed.claimOnServers(move.tag()) == 0) {
            return Optional.empty();
        }
        Set<String> owners = new HashSet<>();
        move.shardSet().stream().forEach(shard -> owners.add(verdicts.server(shard)));
        return Optional.of(owners.equals(Set.of(move.target())) ? MovePhase.COMPLETING : MovePhase.CANCELLING);
    }
}
