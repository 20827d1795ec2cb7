/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.util.Set;
import org.shardflake.ShardMap;
import org.shardflake.doctor.Doctor;
import org.shardflake.move.MoveListener;

/** The servers to examine. */
final class DoctorMixin extends MoveMixin {

    Doctor doctor() {
        return doctor(Set.of());
    }

    /**
     * @param forgotten moves that have ended although the catalog does not know them
     */
    Doctor doctor(Set<String> forgotten) {
        return new Doctor(url(), installation().urls(map()), mover(settings(), MoveListener.NONE), forgotten);
    }

    /** The number of servers and shards, in words. */
    String extent() {
        ShardMap map = map();
        return "%d servers with %,d shards"
                .formatted(map.servers().size(), map.sharding().shardCount());
    }
}
