/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.parallel;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * Decides which of several moves may run concurrently: as many as wanted, and on each server as many as it has room for. Those of servers that do
 * little come first, so that moves between other servers do not wait for each other. Not thread-safe.
 *
 * @param <T> what stands for a move
 */
final class MoveSchedule<T> {

    private final List<T> waiting;
    private final List<T> running = new ArrayList<>();
    private final Function<T, MoveRequest> requests;
    private final int parallel;
    private final Map<String, Integer> room;

    /**
     * @param moves in the order in which they begin, if all servers do the same
     * @param room how many moves a server has room for; no limit if it is not there
     */
    MoveSchedule(List<T> moves, Function<T, MoveRequest> requests, int parallel, Map<String, Integer> room) {
        this.waiting = new ArrayList<>(moves);
        this.requests = requests;
        this.parallel = parallel;
        this.room = Map.copyOf(room);
    }

    /** The next move to start now; empty if it has to wait for another one to end. */
    Optional<T> begin() {
        if (running.size() >= parallel) {
            return Optional.empty();
        }
        Optional<T> next = waiting.stream().filter(this::hasRoom).min(Comparator.comparingLong(this::busiest));
        next.ifPresent(move -> {
            waiting.remove(move);
            running.add(move);
        });
        return next;
    }

    void ended(T move) {
        running.remove(move);
    }

    int waiting() {
        return waiting.size();
    }

    private boolean hasRoom(T move) {
        MoveRequest request = requests.apply(move);
        return hasRoom(request.source()) && hasRoom(request.target());
    }

    private boolean hasRoom(String server) {
        return uses(server) < room.getOrDefault(server, Integer.MAX_VALUE);
    }

    private long busiest(T move) {
        MoveRequest request = requests.apply(move);
        return Math.max(uses(request.source()), uses(request.target()));
    }

    private long uses(String server) {
        return running.stream()
                .filter(move -> requests.apply(move).uses(server))
                .count();
    }
}
