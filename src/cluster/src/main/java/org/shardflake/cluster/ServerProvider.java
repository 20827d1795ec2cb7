/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

/** Creates the servers of one cluster and, after they are closed, removes what they shared. */
interface ServerProvider extends AutoCloseable {
    /** Creates a server without starting it, so that it can be registered for cleanup first. */
    ClusterServer newServer(String name);

    @Override
    void close();
}
