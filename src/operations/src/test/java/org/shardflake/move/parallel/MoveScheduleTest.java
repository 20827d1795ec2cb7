/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.parallel;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import org.shardflake.ShardSet;

class MoveScheduleTest {

    private static final int SERVERS = 64;
    private static final int SHARDS = 8192;
    private static final double FLEET_BYTES = 128e12;
    private static final double BYTES_PER_SECOND = 61.4e6;

    private static MoveRequest move(String source, String target) {
        return new MoveRequest(source, target, ShardSet.of(1));
    }

    private static List<String> begun(MoveSchedule<MoveRequest> schedule) {
        List<String> begun = new ArrayList<>();
        for (Optional<MoveRequest> next = schedule.begin(); next.isPresent(); next = schedule.begin()) {
            begun.add(next.get().source() + next.get().target());
        }
        return begun;
    }

    private static MoveSchedule<MoveRequest> schedule(int parallel, Map<String, Integer> room, MoveRequest... moves) {
        return new MoveSchedule<>(List.of(moves), Function.identity(), parallel, room);
    }

    @Test
    void movesBetweenServersThatDoNothingElseComeFirst() {
        MoveRequest[] moves = {move("a", "b"), move("a", "c"), move("d", "e"), move("d", "f")};

        assertThat(begun(schedule(2, Map.of(), moves))).containsExactly("ab", "de");
        assertThat(begun(schedule(9, Map.of(), moves))).containsExactly("ab", "de", "ac", "df");
    }

    @Test
    void aServerTakesPartInNoMoreThanItHasRoomFor() {
        MoveRequest first = move("a", "b");
        MoveSchedule<MoveRequest> schedule =
                schedule(9, Map.of("a", 2), first, move("a", "c"), move("d", "a"), move("d", "e"));

        assertThat(begun(schedule)).containsExactly("ab", "de", "ac");
        assertThat(schedule.waiting()).isOne();
        schedule.ended(first);
        assertThat(begun(schedule)).containsExactly("da");
    }

    /**
     * The clock of the page about a simulated fleet, with the moves of its plan for servers that are all alike: each of the 64 servers
     * gives 58 of its 128 shards to a new one.
     */
    @Test
    void aFleetThatDoublesTakesHoursInsteadOfDays() {
        List<MoveRequest> plan = new ArrayList<>();
        for (int server = 0; server < SERVERS; server++) {
            int first = server * (SHARDS / SERVERS);
            plan.add(new MoveRequest("old" + server, "new" + server, ShardSet.range(first, first + 57)));
        }

        assertThat(hours(plan, 1) / 24).isBetween(10.9, 10.95);
        assertThat(hours(plan, 4) / 24).isBetween(2.72, 2.74);
        assertThat(hours(plan, SERVERS)).isBetween(4.09, 4.11);
    }

    private static double hours(List<MoveRequest> plan, int parallel) {
        MoveSchedule<MoveRequest> schedule = new MoveSchedule<>(plan, Function.identity(), parallel, Map.of());
        record Running(MoveRequest move, double end) {}
        PriorityQueue<Running> running = new PriorityQueue<>(Comparator.comparingDouble(Running::end));
        double now = 0;
        while (true) {
            for (Optional<MoveRequest> next = schedule.begin(); next.isPresent(); next = schedule.begin()) {
                running.add(new Running(next.get(), now + seconds(next.get())));
            }
            Running first = running.poll();
            if (first == null) {
                return now / 3600;
            }
            now = first.end();
            schedule.ended(first.move());
        }
    }

    /** The formula of the page. */
    private static double seconds(MoveRequest move) {
        int shards = move.shards().size();
        return 2 + FLEET_BYTES / SHARDS * shards / BYTES_PER_SECOND + 0.016 * shards;
    }
}
