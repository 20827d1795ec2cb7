/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.shardflake.benchmarks.report.Rounds;

/** Operations a second of all candidates, in interleaved rounds, with their results checked after each. */
final class Throughput {

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int ALLOCATING_OPERATIONS = 200;

    private final PhotoServers servers;
    private final Map<Candidate, Peer> peers;
    private final Sizes sizes;

    Throughput(PhotoServers servers, Map<Candidate, Peer> peers, Sizes sizes) {
        this.servers = servers;
        this.peers = new EnumMap<>(peers);
        this.sizes = sizes;
    }

    /** Operations a second by {@link Candidate#label()}. */
    Rounds measure(Operation operation, int threads) throws Exception {
        Map<String, Rounds.Measurement<Exception>> candidates = new LinkedHashMap<>();
        peers.forEach((candidate, peer) -> candidates.put(candidate.label(), () -> {
            double rate = rate(operation, peer, threads);
            operation.check(candidate, peer, servers);
            return rate;
        }));
        return Rounds.run(sizes.warmUps(), sizes.rounds(), candidates);
    }

    /** Lets every candidate read for a while, so that none is measured while the code that they share is still compiled. */
    void warmUp(int threads) throws Exception {
        for (Operation operation : Operation.values()) {
            if (!operation.inserts()) {
                for (Peer peer : peers.values()) {
                    rate(operation, peer, threads);
                }
            }
        }
    }

    private double rate(Operation operation, Peer peer, int threads) throws Exception {
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        try {
            long start = System.nanoTime();
            long nanos = sizes.millis() * 1_000_000L;
            Callable<Long> loop = () -> {
                long done = 0;
                while (System.nanoTime() - start < nanos) {
                    operation.run(peer, servers);
                    done++;
                }
                return done;
            };
            List<Future<Long>> running = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                running.add(executor.submit(loop));
            }
            long sum = 0;
            for (Future<Long> one : running) {
                sum += one.get();
            }
            return sum * 1e9 / (System.nanoTime() - start);
        } finally {
            executor.shutdownNow();
        }
    }

    /** Bytes that the calling thread allocates for an operation, by {@link Candidate#label()}, after all the others. */
    Rounds allocation(Operation operation) throws Exception {
        Map<String, Rounds.Measurement<Exception>> candidates = new LinkedHashMap<>();
        peers.forEach((candidate, peer) -> candidates.put(candidate.label(), () -> {
            long before = THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
            for (int i = 0; i < ALLOCATING_OPERATIONS; i++) {
                operation.run(peer, servers);
            }
            return (THREADS.getThreadAllocatedBytes(Thread.currentThread().getId()) - before)
                    / (double) ALLOCATING_OPERATIONS;
        }));
        return Rounds.run(0, sizes.rounds(), candidates);
    }
}
