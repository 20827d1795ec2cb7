/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.shardflake.ShardKey;

/** Threads that insert photos of random users through a router, and keep a journal of what was acknowledged. */
final class PhotoLoad implements AutoCloseable {

    /** An acknowledged photo. */
    record Photo(long id, long uid) {}

    /** Work that failed, and the shard it was for. */
    record Failure(int shard, Exception cause) {}

    private final ShardRouter router;
    private final ExecutorService threads;
    private final List<Future<?>> running = new ArrayList<>();
    private final Queue<Photo> photos = new ConcurrentLinkedQueue<>();
    private final Queue<Failure> failures = new ConcurrentLinkedQueue<>();
    private volatile boolean stopped;

    private PhotoLoad(ShardRouter router, int threads) {
        this.router = router;
        this.threads = Executors.newFixedThreadPool(threads);
    }

    static PhotoLoad start(ShardRouter router, int threads) {
        PhotoLoad load = new PhotoLoad(router, threads);
        for (int i = 0; i < threads; i++) {
            load.running.add(load.threads.submit(load::insert));
        }
        return load;
    }

    private void insert() {
        while (!stopped) {
            long uid = ThreadLocalRandom.current().nextLong();
            try {
                long id = router.write(uid, tx -> Photos.insert(tx, uid, "under load"));
                photos.add(new Photo(id, uid));
                // The servers, the load and the test share a machine: leave some of it to the others.
                Thread.sleep(5);
            } catch (Exception e) {
                failures.add(new Failure(router.map().shard(ShardKey.uid(uid)), e));
            }
        }
    }

    /** How many photos were acknowledged so far. */
    int written() {
        return photos.size();
    }

    /** Waits until so many more were acknowledged than now. */
    void awaitMore(int more) throws InterruptedException {
        int enough = written() + more;
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (written() < enough) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError(
                        "no %s photos in a minute; first failure: %s".formatted(more, failures.peek()));
            }
            Thread.sleep(5);
        }
    }

    Collection<Photo> photos() {
        return photos;
    }

    Collection<Failure> failures() {
        return failures;
    }

    /** Stops the threads; all acknowledged photos are known then. */
    @Override
    public void close() {
        stopped = true;
        threads.shutdown();
        try {
            for (Future<?> thread : running) {
                thread.get(60, TimeUnit.SECONDS);
            }
        } catch (Exception e) {
            throw new AssertionError("a writer did not end", e);
        }
    }
}
