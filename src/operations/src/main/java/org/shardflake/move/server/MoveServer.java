/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.server;

import java.sql.Connection;
import java.sql.SQLException;
import org.shardflake.server.ServerUrl;

/**
 * One of the two servers of a move.
 *
 * @param name its name in the shard map
 * @param url its URL, including what is needed to log in
 */
public record MoveServer(String name, ServerUrl url) {

    /** Names the URL, so that messages about sessions have the server's name. */
    public MoveServer {
        url = url.named(name);
    }

    public Connection connect(String application) throws SQLException {
        return url.connect(application);
    }
}
