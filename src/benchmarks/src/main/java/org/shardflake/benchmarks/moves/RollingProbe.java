/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.shardflake.benchmarks.moves.RollingProbe.Probe.Pause;
import org.shardflake.benchmarks.report.Distribution;

/**
 * Probes the shards that are cut over next; probing all of them at the same time would be a load of its own. A shard is probed before the cutovers of
 * the {@value #AHEAD} shards in front of it, and until the first write after its own. Not thread-safe.
 */
final class RollingProbe implements AutoCloseable {

    /** The number of shards probed at a time. */
    static final int AHEAD = 3;

    private final Writes writes;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final Map<Integer, Probe> probes = new LinkedHashMap<>();
    private final List<Pause> pauses = new ArrayList<>();
    private int next;
    private int end;

    RollingProbe(Writes writes) {
        this.writes = writes;
    }

    /** Begins to probe the first of the shards from 0 to this one, without it. */
    void begin(int shards) {
        next = 0;
        end = shards;
        while (next < end && probes.size() < AHEAD) {
            probeNext();
        }
    }

    private void probeNext() {
        probes.put(next, new Probe(writes, next, threads));
        next++;
    }

    /**
     * Ends the probe of a shard, which was just cut over, and begins with another one. Shards come in ascending order; those that were
     * passed over without a word are not counted.
     *
     * @throws IllegalStateException if the shard was not probed
     */
    void ended(int shard) throws InterruptedException {
        for (int passedOver :
                probes.keySet().stream().filter(probed -> probed < shard).toList()) {
            replace(passedOver);
        }
        pauses.add(replace(shard));
    }

    private Pause replace(int shard) throws InterruptedException {
        Probe probe = probes.remove(shard);
        if (probe == null) {
            throw new IllegalStateException(
                    "shard %d was cut over, but probed were %s".formatted(shard, probes.keySet()));
        }
        Pause pause = probe.stop();
        if (next < end) {
            probeNext();
        }
        return pause;
    }

    /** Ends the probes that are left: of shards about whose cutovers nothing was said. */
    void end() throws InterruptedException {
        end = next;
        for (Probe probe : probes.values()) {
            probe.stop();
        }
        probes.clear();
    }

    /** The measured pauses, in the order of the cutovers. */
    List<Pause> pauses() {
        return List.copyOf(pauses);
    }

    /** Probes for as long as each of these was, as many at a time, while nothing is cut over. */
    List<Pause> withoutCutovers(List<Pause> like) throws InterruptedException {
        List<Pause> measured = new ArrayList<>();
        for (int first = 0; first < like.size(); first += AHEAD) {
            List<Pause> group = like.subList(first, Math.min(first + AHEAD, like.size()));
            List<Probe> running = new ArrayList<>();
            for (int i = 0; i < group.size(); i++) {
                running.add(new Probe(writes, i, threads));
            }
            double waited = 0;
            for (int i = 0; i < group.size(); i++) {
                double seconds = group.get(i).seconds();
                TimeUnit.MILLISECONDS.sleep((long) (1e3 * Math.max(0, seconds - waited)));
                waited = Math.max(waited, seconds);
                measured.add(running.get(i).stop());
            }
        }
        return measured;
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }

    /** Writes to one shard, a millisecond after each acknowledgement, and measures the longest time between two of them. */
    static final class Probe {

        private final Writes writes;
        private final int shard;
        private final Future<Double> longest;
        private final long start = System.nanoTime();
        private volatile boolean stopped;

        /**
         * The pause that writers of a shard noticed.
         *
         * @param longestMillis between two acknowledged writes
         * @param seconds that it was probed
         */
        record Pause(double longestMillis, double seconds) {

            /** The longest times of these pauses. */
            static Distribution millis(List<Pause> pauses) {
                return Distribution.of(pauses.stream().map(Pause::longestMillis).toList());
            }
        }

        /** Begins to write in a thread of this executor. */
        Probe(Writes writes, int shard, ExecutorService threads) {
            this.writes = writes;
            this.shard = shard;
            this.longest = threads.submit(this::longestMillis);
        }

        private double longestMillis() throws InterruptedException {
            long longestNanos = 0;
            long writesSeen = 0;
            long last = 0;
            // Two at least: there is no time between fewer.
            while (!stopped || writesSeen < 2) {
                if (writes.insert(shard)) {
                    long now = System.nanoTime();
                    longestNanos = writesSeen == 0 ? 0 : Math.max(longestNanos, now - last);
                    last = now;
                    writesSeen++;
                }
                TimeUnit.MILLISECONDS.sleep(1);
            }
            return longestNanos / 1e6;
        }

        /** Waits for the write in progress, and tells what was measured. */
        Pause stop() throws InterruptedException {
            stopped = true;
            try {
                double millis = longest.get();
                return new Pause(millis, (System.nanoTime() - start) / 1e9);
            } catch (ExecutionException e) {
                throw new IllegalStateException("shard %d could not be probed".formatted(shard), e);
            }
        }
    }
}
