/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

/**
 * What the pool of a server's primary is doing.
 *
 * @param server the server's name
 * @param active connections in use
 * @param idle connections waiting for use
 * @param waiting threads waiting for a connection
 * @param size how many connections there may be
 */
public record PoolStatus(String server, int active, int idle, int waiting, int size) {}
