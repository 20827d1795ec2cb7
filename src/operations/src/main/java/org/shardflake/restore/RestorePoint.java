/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.restore;

import java.time.Instant;
import java.util.List;

/**
 * A restore point of all servers and the catalog.
 *
 * @param name its name in the write-ahead log of every server, for {@code recovery_target_name}
 * @param isComplete whether every server and the catalog have it; in a catalog that was restored to the point, whether every server has
 * @param mapVersion the version of the shard map at the point
 * @param placements a digest of which server had which shard, with which epoch
 * @param places where it is: on each server, and in the catalog last
 */
public record RestorePoint(
        String name, boolean isComplete, Instant begunAt, long mapVersion, String placements, List<Place> places) {

    /** The catalog's name among the servers. */
    public static final String CATALOG = "catalog";

    public RestorePoint {
        places = List.copyOf(places);
    }

    /**
     * A restore point's position in the write-ahead log of one server.
     *
     * @param server its name in the shard map, or {@link #CATALOG}
     * @param identity the system identifier of its database cluster; empty if not known
     * @param lsn where in the log
     * @param walFile the file of the log that has it
     */
    public record Place(String server, boolean isCatalog, String identity, String lsn, String walFile, Instant madeAt) {

        /** The timeline, a number that each promotion increases. */
        public long timeline() {
            return Timeline.ofWalFile(walFile);
        }
    }
}
