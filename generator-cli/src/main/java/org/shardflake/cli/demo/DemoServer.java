/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.demo;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.server.ServerUrl;

/** A server, with the demo's database and shards on it. */
record DemoServer(PostgresServer server, String database, List<Integer> shards) {

    String name() {
        return server.name();
    }

    ServerUrl url() {
        return ServerUrl.parse(server.uri(database));
    }

    Connection connect() throws SQLException {
        return server.connect(database);
    }
}
