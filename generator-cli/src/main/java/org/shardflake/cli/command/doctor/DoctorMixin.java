/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.doctor;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.cli.command.move.MoveMixin;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.doctor.Doctor;
import org.shardflake.jdbc.Plural;
import org.shardflake.move.MoveListener;
import org.shardflake.move.Mover;
import org.shardflake.server.ServerUrl;

/** The options that choose the servers to examine. */
public final class DoctorMixin extends MoveMixin {

    Doctor doctor() {
        return doctor(Set.of());
    }

    /**
     * @param forgotten moves that have ended although the catalog does not know them
     */
    Doctor doctor(Set<String> forgotten) {
        return doctor(this, mover(MoveListener.NONE), forgotten);
    }

    /** Creates the doctor for any command that has a catalog. */
    public static Doctor doctor(CatalogMixin catalog, Mover mover, Set<String> forgotten) {
        ShardMap map = catalog.catalog().load();
        Map<String, ServerUrl> applicationUrls = new LinkedHashMap<>();
        for (Server server : map.servers()) {
            server.applicationUrl().ifPresent(url -> applicationUrls.put(server.name(), catalog.parse(url)));
        }
        return new Doctor(
                catalog.url(), catalog.installation().urls(map), applicationUrls, mover, forgotten, catalog::parse);
    }

    /** The numbers of examined servers and shards, in words. */
    String extent() {
        ShardMap map = map();
        return "%s with %s"
                .formatted(
                        Plural.of(map.servers().size(), "server"),
                        Plural.of(map.sharding().shardCount(), "shard"));
    }
}
