/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * Picks ports for servers.
 *
 * <p>They lie below the range that operating systems use for outgoing connections. Within it, a client that keeps
 * trying to reach a stopped server would now and then get the server's port as its own, and the server could not start
 * again.
 *
 * <p>A port belongs to this process until it ends, also while its server is stopped or has not started yet: the byte at
 * its number in a file is locked, so that other processes that start servers pick other ports.
 */
final class Ports {
    private static final int FIRST = 15_000;
    private static final int LAST = 32_000;

    private static @Nullable FileChannel reservations;

    private Ports() {}

    static synchronized int free() {
        for (int attempt = 0; attempt < 100; attempt++) {
            int port = ThreadLocalRandom.current().nextInt(FIRST, LAST);
            if (reserve(port) && isUnused(port)) {
                return port;
            }
        }
        throw new PostgresClusterException("found no free port in " + FIRST + ".." + LAST);
    }

    // The lock is to last as long as the process.
    @SuppressWarnings("resource")
    private static boolean reserve(int port) {
        try {
            if (reservations == null) {
                Files.createDirectories(EmbeddedBinaries.cache());
                reservations =
                        FileChannel.open(reservationsFile(), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            }
            return reservations.tryLock(port, 1, false) != null;
        } catch (OverlappingFileLockException e) {
            return false;
        } catch (IOException e) {
            throw new PostgresClusterException("cannot reserve ports in " + reservationsFile() + ": " + e, e);
        }
    }

    private static Path reservationsFile() {
        return EmbeddedBinaries.cache().resolve("ports.lock");
    }

    private static boolean isUnused(int port) {
        try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return socket.isBound();
        } catch (IOException e) {
            return false;
        }
    }
}
