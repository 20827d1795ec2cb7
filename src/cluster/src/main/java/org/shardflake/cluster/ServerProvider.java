/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

/** Makes the servers of one cluster and, once they are closed, removes what they shared. */
interface ServerProvider extends AutoCloseable {
    /** A server that has not been started yet, so that it can be registered for cleaning up first. */
    ClusterServer newServer(String name);

    @Override
    void close();
}
