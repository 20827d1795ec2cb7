/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.watch;

import java.time.Instant;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.adopt.AdoptionStatus;
import org.shardflake.adopt.Slices;
import org.shardflake.move.Move;
import org.shardflake.move.MovePhase;
import org.shardflake.move.MoveStatus;
import org.shardflake.move.StreamStatus;

/**
 * A snapshot of the installation: what the catalog and the servers reported at one time.
 *
 * @param catalogAnswers whether the catalog did; if not, map, moves and restore point are what it reported last
 * @param catalogIsStandby whether only a standby of the catalog did, which may be behind
 * @param moves in progress
 * @param adoptions that are not done
 * @param moving shards that are in a move, were so at the look before, or have been placed anew since
 * @param restorePoint when the newest complete restore point was begun
 * @param servers those that answered, by name
 */
public record InstallationSnapshot(
        Instant at,
        boolean catalogAnswers,
        boolean catalogIsStandby,
        ShardMap map,
        List<Move> moves,
        List<AdoptionStatus> adoptions,
        ShardSet moving,
        Optional<Instant> restorePoint,
        Map<String, ServerSnapshot> servers) {

    /** The number of a server's shards in each state; a misplaced shard is counted on the server that accepts its writes. */
    public Map<PlacementState, Integer> shards(Server server) {
        Map<PlacementState, Integer> counts = new EnumMap<>(PlacementState.class);
        for (PlacementState state : PlacementState.values()) {
            counts.put(state, 0);
        }
        map.shards(server).stream().forEach(shard -> counts.merge(state(shard), 1, Integer::sum));
        counts.put(PlacementState.MISPLACED, misplaced(server).size());
        return counts;
    }

    /** The shards that accept writes on a server although the map gives them to others. */
    public ShardSet misplaced(Server server) {
        ServerSnapshot seen = servers.get(server.name());
        if (seen == null) {
            return ShardSet.of();
        }
        return ShardSet.of(seen.shards().keySet().stream()
                .filter(shard -> isMisplaced(seen, shard, server))
                .toList());
    }

    private boolean isMisplaced(ServerSnapshot seen, int shard, Server server) {
        ServerSnapshot.Shard found = seen.shards().get(shard);
        return found != null
                && found.state().takesWrites()
                && shard < map.sharding().shardCount()
                && !map.server(shard).equals(server)
                && !moving.contains(shard);
    }

    /** The state of a shard on the server that has it in the map. */
    public PlacementState state(int shard) {
        ServerSnapshot seen = servers.get(map.server(shard).name());
        if (seen == null) {
            return PlacementState.UNKNOWN;
        }
        if (moving.contains(shard)) {
            return PlacementState.MOVING;
        }
        ServerSnapshot.Shard found = seen.shards().get(shard);
        if (found == null) {
            return PlacementState.MISSING;
        }
        if (!found.state().refusesWrites()) {
            return PlacementState.OPEN;
        }
        return isBack(shard) ? PlacementState.BACK : PlacementState.CLOSED;
    }

    /** The shards that have not left an old database, as it reports, or have come back to it. */
    public ShardSet inOldDatabase() {
        return ShardSet.of(adoptions.stream()
                .flatMap(adoption -> adoption.progress().stream())
                .flatMap(progress -> progress.slices().stream())
                .map(Slices::remaining)
                .distinct() // All tables of a database have the same.
                .flatMapToInt(ShardSet::stream)
                .toArray());
    }

    /** Whether an old database reports that a shard has come back to it. */
    private boolean isBack(int shard) {
        return adoptions.stream()
                .flatMap(adoption -> adoption.progress().stream())
                .flatMap(progress -> progress.slices().stream())
                .anyMatch(slices -> slices.back().contains(shard));
    }

    /**
     * Whether the copies of a move are being compared for the last time. They do not follow meanwhile, and the move says so as its
     * problem, for whoever finds it if that is interrupted.
     */
    public boolean isComparing(Move move) {
        ServerSnapshot source = servers.get(move.source());
        return move.phase() == MovePhase.FOLLOWING
                && source != null
                && move.shardSet().stream().anyMatch(source.sealed()::contains);
    }

    /** The time that a move's subscriber took for the last change it confirmed; empty if unknown. */
    public OptionalLong lagMillis(Move move, String direction) {
        ServerSnapshot publisher = servers.get(direction.equals("forward") ? move.source() : move.target());
        String slot = "shardflake_%s_%s".formatted(move.tag(), direction);
        return publisher == null
                ? OptionalLong.empty()
                : publisher.slots().stream()
                        .filter(each -> each.name().equals(slot))
                        .findFirst()
                        .map(ServerSnapshot.Slot::lagMillis)
                        .orElse(OptionalLong.empty());
    }

    /** The status of a move; empty unless both of its servers answered. */
    public Optional<MoveStatus> status(Move move) {
        ServerSnapshot source = servers.get(move.source());
        ServerSnapshot target = servers.get(move.target());
        if (source == null || target == null) {
            return Optional.empty();
        }
        Map<Integer, Long> bytes = new HashMap<>();
        move.shardSet().stream().forEach(shard -> {
            ServerSnapshot.Shard found = source.shards().get(shard);
            if (found != null) {
                found.load().tableBytes().ifPresent(size -> bytes.put(shard, size));
            }
        });
        String stream = "shardflake_" + move.tag();
        return Optional.of(new MoveStatus(
                move, bytes, status(stream + "_forward", source, target), status(stream + "_reverse", target, source)));
    }

    private static StreamStatus status(String stream, ServerSnapshot publisher, ServerSnapshot subscriber) {
        long errors = subscriber.applyErrors().getOrDefault(stream, 0L);
        return publisher.slots().stream()
                .filter(slot -> slot.name().equals(stream))
                .findFirst()
                .map(slot -> new StreamStatus(
                        slot.isActive(),
                        slot.lagBytes(),
                        slot.lagMillis().orElse(0),
                        errors,
                        slot.isLost() ? "slot %s is lost".formatted(stream) : ""))
                .orElse(new StreamStatus(false, 0, 0, errors, ""));
    }
}
