/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.gateway;

import java.time.Instant;
import java.util.Optional;

/**
 * A gateway, as the catalog describes it.
 *
 * @param name its name, which its schemas on the servers have too
 * @param url its database, without a password
 * @param schema the schema there that has the tables
 * @param reader the role that it logs in with to the servers
 * @param mapVersion the version of the shard map that it was last brought to; 0 if it never was
 * @param refreshedAt when
 * @param isBehind whether a shard has moved since
 * @param problem why it could not be brought further, if that failed
 */
public record Gateway(
        String name,
        String url,
        String schema,
        String reader,
        long mapVersion,
        Optional<Instant> refreshedAt,
        boolean isBehind,
        Optional<String> problem) {

    /** The schema on each server that has the views which the gateway reads. */
    String remoteSchema() {
        return "shardflake_gateway_" + name;
    }

    /** The gateway's schema for the parts of its tables. */
    String partsSchema() {
        return schema + "_parts";
    }
}
