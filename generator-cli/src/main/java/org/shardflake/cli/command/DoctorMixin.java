/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.shardflake.ShardMap;
import org.shardflake.doctor.Doctor;
import org.shardflake.move.MoveListener;
import org.shardflake.server.ServerUrl;

/** Whom to examine. */
final class DoctorMixin extends MoveMixin {

    Doctor doctor() throws SQLException {
        ShardMap map = map();
        Map<String, ServerUrl> urls = new LinkedHashMap<>();
        map.servers().forEach(server -> urls.put(server.name(), parse(server.url())));
        return new Doctor(url(), urls, mover(settings(), MoveListener.NONE));
    }

    /** How many servers and shards that is. */
    String extent() {
        ShardMap map = map();
        return "%d servers with %,d shards"
                .formatted(map.servers().size(), map.sharding().shardCount());
    }
}
