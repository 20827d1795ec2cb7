/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.shardflake.Server;

/**
 * Starts one candidate in a separate process, and prints its time to the first row and its heap.
 *
 * <p>Arguments are the candidate, the number of shards, connections per server and the servers' URLs; the ids to select, one
 * of each shard, come from standard input.
 */
public final class PeerStart {

    /** The prefix of the line with figures: milliseconds to the first row, and bytes of heap then and after all shards were used. */
    static final String RESULT = "result ";

    private PeerStart() {}

    public static void main(String[] arguments) throws Exception {
        List<Long> ids = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))
                .lines()
                .map(Long::valueOf)
                .toList();
        List<String> urls = Arrays.asList(arguments).subList(3, arguments.length);
        Layout layout = new Layout(
                IntStream.range(0, urls.size())
                        .mapToObj(server -> new Server("db" + (server + 1), urls.get(server)))
                        .toList(),
                Integer.parseInt(arguments[1]),
                Integer.parseInt(arguments[2]));
        long start = System.nanoTime();
        try (Peer peer = RouterCandidate.valueOf(arguments[0]).open(layout)) {
            select(peer, ids.get(0));
            double millis = (System.nanoTime() - start) / 1e6;
            long first = heap();
            for (long id : ids) {
                select(peer, id);
            }
            System.out.println(RESULT + millis + " " + first + " " + heap());
        }
    }

    private static void select(Peer peer, long id) throws Exception {
        if (peer.select(id).id() != id) {
            throw new IllegalStateException("a wrong row");
        }
    }

    /** The heap in use after garbage collection. */
    private static long heap() throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(100);
        }
        return ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    }
}
