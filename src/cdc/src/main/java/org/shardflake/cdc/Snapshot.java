/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import java.util.Arrays;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The transactions and log position that a snapshot of a shard's rows includes. The order in which transactions become visible is not that of
 * their commits in the log, so it is told by their numbers.
 *
 * @param end the position in the log when it was taken: what is committed there or later is not included
 */
record Snapshot(long end, Xids xids) {

    /**
     * The transactions that a snapshot includes, as reported by pg_current_snapshot.
     *
     * @param xmin all below have ended
     * @param xmax this one and all above had not begun
     * @param running those in between that had not ended
     */
    record Xids(long xmin, long xmax, Set<Long> running) {

        Xids {
            running = Set.copyOf(running);
        }

        static Xids parse(String text) {
            String[] parts = text.split(":", -1);
            return new Xids(
                    Long.parseLong(parts[0]),
                    Long.parseLong(parts[1]),
                    Arrays.stream(parts[2].split(",", -1))
                            .filter(part -> !part.isEmpty())
                            .map(Long::valueOf)
                            .collect(Collectors.toSet()));
        }

        /** Whether the snapshot includes a committed transaction, given the lower half of its number. */
        boolean includes(int xid) {
            long full = (xmax & ~0xFFFFFFFFL) | (xid & 0xFFFFFFFFL);
            // The number of a transaction that can still be seen is within half of the range.
            if (full - xmax > Integer.MAX_VALUE) {
                full -= 1L << 32;
            } else if (xmax - full > Integer.MAX_VALUE) {
                full += 1L << 32;
            }
            return full < xmin || (full < xmax && !running.contains(full));
        }

        @Override
        public String toString() {
            return "%s:%s:%s"
                    .formatted(
                            xmin,
                            xmax,
                            running.stream().sorted().map(String::valueOf).collect(Collectors.joining(",")));
        }
    }
}
