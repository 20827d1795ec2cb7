/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.watch;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.shardflake.doctor.ShardState;
import org.shardflake.load.MachineMemory;
import org.shardflake.load.RowCounts;
import org.shardflake.load.SessionMemory;

/**
 * A snapshot of one server, as it reported it.
 *
 * @param took how long it took
 * @param clockMillis its clock minus ours; wrong by at most half of what the look took
 * @param version its major version
 * @param libraryVersion the version of the function library; 0 without one
 * @param connections to any database
 * @param sessions what they may come to keep in memory
 * @param memory of its machine
 * @param shards all that it has, by number
 * @param sealed shards whose copies a move is about to remove, and compares for the last time
 * @param applyErrors how often it failed to apply a change, by subscription of a move
 * @param sequencesAhead how many sequences of ids are more than a second ahead of its clock
 * @param aheadMillis how far the first of those is
 */
public record ServerSnapshot(
        Duration took,
        double clockMillis,
        int version,
        int libraryVersion,
        int connections,
        int maxConnections,
        SessionMemory sessions,
        MachineMemory memory,
        Map<Integer, Shard> shards,
        Set<Integer> sealed,
        List<Slot> slots,
        Map<String, Long> applyErrors,
        List<Standby> standbys,
        int sequencesAhead,
        long aheadMillis) {

    /** A shard that the server has, whether or not the map agrees. */
    public record Shard(ShardState state, Load load) {}

    /**
     * The size and use of a shard. Sizes may be some looks old.
     *
     * @param tableBytes of its tables with TOAST; empty if not read yet, as while one of them is locked against everything
     * @param indexBytes of their indexes; empty likewise
     * @param live rows, as estimated by PostgreSQL
     * @param rows counters of its tables
     */
    public record Load(OptionalLong tableBytes, OptionalLong indexBytes, long live, RowCounts rows) {

        /** The size of tables and indexes; 0 if unknown. */
        public long bytes() {
            return tableBytes.orElse(0) + indexBytes.orElse(0);
        }
    }

    /**
     * A replication slot.
     *
     * @param retainedBytes write-ahead log that the server keeps for it
     * @param lagBytes write-ahead log that its subscriber has not confirmed
     * @param lagMillis how long the subscriber took for the last change it confirmed; empty if nobody receives, or the role may not see it
     * @param isLost whether log that it needs is gone
     */
    public record Slot(
            String name, boolean isActive, long retainedBytes, long lagBytes, OptionalLong lagMillis, boolean isLost) {}

    /**
     * A standby, or several with the same name and address.
     *
     * @param lagBytes write-ahead log that it has not replayed
     * @param lagMillis how long it took for the last of what it replayed
     */
    public record Standby(String name, String address, long lagBytes, long lagMillis) {}
}
