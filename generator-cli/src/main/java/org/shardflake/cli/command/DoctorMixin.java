/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.shardflake.ShardMap;
import org.shardflake.doctor.Doctor;
import org.shardflake.move.MoveListener;
import org.shardflake.server.ServerUrl;

/** Whom to examine. */
final class DoctorMixin extends MoveMixin {

    Doctor doctor() {
        return doctor(Set.of());
    }

    /**
     * @param forgotten moves that are over, though the catalog does not know them
     */
    Doctor doctor(Set<String> forgotten) {
        ShardMap map = map();
        Map<String, ServerUrl> urls = new LinkedHashMap<>();
        map.servers().forEach(server -> urls.put(server.name(), parse(server.url())));
        return new Doctor(url(), urls, mover(settings(), MoveListener.NONE), forgotten);
    }

    /** How many servers and shards that is. */
    String extent() {
        ShardMap map = map();
        return "%d servers with %,d shards"
                .formatted(map.servers().size(), map.sharding().shardCount());
    }
}
