/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import org.shardflake.ShardSet;
import org.shardflake.server.ServerUrl;

/**
 * A server and the shards on it to deploy to.
 *
 * @param server its name in the shard map
 * @param url its URL, including what is needed to log in
 */
public record DeployTarget(String server, ServerUrl url, ShardSet shards) {

    Connection connect() throws SQLException {
        return url.connect("shardflake schema deploy");
    }
}
