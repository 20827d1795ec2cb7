/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

/**
 * A server of a {@link LocalCluster}.
 *
 * @param name the name, such as db1
 * @param port the port on localhost, which the server keeps
 * @param isRunning whether the server was running when it was listed
 */
public record LocalServer(String name, int port, boolean isRunning) {

    /** The libpq URL of a database on the server, whose superuser needs no password. */
    public String uri(String database) {
        return "postgresql://postgres@localhost:%s/%s".formatted(port, database);
    }
}
