/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Picks ports for servers.
 *
 * <p>They lie below the range that operating systems use for outgoing connections. Within it, a client that keeps
 * trying to reach a stopped server would now and then get the server's port as its own, and the server could not start
 * again.
 */
final class Ports {
    private static final int FIRST = 15_000;
    private static final int LAST = 32_000;

    private Ports() {}

    static int free() {
        for (int attempt = 0; attempt < 100; attempt++) {
            int port = ThreadLocalRandom.current().nextInt(FIRST, LAST);
            try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
                return socket.getLocalPort();
            } catch (IOException e) {
                // Taken: try another.
            }
        }
        throw new PostgresClusterException("found no free port in " + FIRST + ".." + LAST);
    }
}
