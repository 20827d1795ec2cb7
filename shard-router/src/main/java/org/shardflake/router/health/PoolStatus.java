/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.health;

/**
 * The state of the pool of a server's primary.
 *
 * @param server the server's name
 * @param active connections in use
 * @param idle connections waiting for use
 * @param waiting threads waiting for a connection
 * @param size the maximum number of connections
 */
public record PoolStatus(String server, int active, int idle, int waiting, int size) {}
