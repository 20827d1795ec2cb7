/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

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

    /** Messages about sessions of the server have its name. */
    public MoveServer {
        url = url.named(name);
    }

    /** Where to look for its sessions, and its subscriptions, that have the mark in their names. */
    LockWatch.Place watched(String mark) {
        return new LockWatch.Place(name, url, mark, false);
    }

    Connection connect(String application) throws SQLException {
        return url.connect(application);
    }
}
