/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.util.Map;
import java.util.Set;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.shardflake.ShardflakeException;
import org.shardflake.router.exception.AuthenticationFailedException;
import org.shardflake.router.exception.InterruptedWorkException;
import org.shardflake.router.exception.ScatterException;
import org.shardflake.router.exception.ServerUnavailableException;
import org.shardflake.router.internal.pool.Access;
import org.shardflake.router.internal.session.RunningReads;

/** A read over many shards: workers that take shards from a queue, and a stream that hands out the results. */
final class ScatterRun<T, X extends Exception> extends Spliterators.AbstractSpliterator<ShardResult<T>> {

    private final ShardExecutor executor;
    private final Scatter scatter;
    private final ShardWork<T, X> work;
    private final WaitingShards waiting;
    /** Shards whose result has not been handed out; used only by the thread that reads the stream. */
    private final Set<Integer> outstanding;

    private final BlockingQueue<ShardResult<T>> results = new LinkedBlockingQueue<>();
    /** Permits for results, so that workers wait for a slow reader instead of filling the memory. */
    private final Semaphore room;
    /** The thread that reads the results. An executor may run a worker on it, which must then not wait for the reader. */
    private final Thread starter = Thread.currentThread();

    /** Servers that could not be reached: waiting for them again would cost the others' time. */
    private final Map<String, ShardflakeException> unavailable = new ConcurrentHashMap<>();

    private final RunningReads running = new RunningReads();
    private final long end;

    ScatterRun(ShardExecutor executor, Scatter scatter, ShardWork<T, X> work) {
        super(Long.MAX_VALUE, Spliterator.NONNULL);
        this.executor = executor;
        this.scatter = scatter;
        this.work = work;
        this.waiting = new WaitingShards(executor.map(), scatter.shards());
        this.outstanding = waiting.all();
        this.room = new Semaphore(2 * scatter.parallelism());
        this.end = System.nanoTime() + scatter.deadline().toNanos();
    }

    Stream<ShardResult<T>> start(ExecutorService threads) {
        for (int i = 0; i < Math.min(scatter.parallelism(), outstanding.size()); i++) {
            executor.enter();
            try {
                threads.execute(this::readShards);
            } catch (RuntimeException e) {
                executor.leave();
                throw e;
            }
        }
        return StreamSupport.stream(this, false).onClose(running::cancel);
    }

    private void readShards() {
        try {
            WaitingShards.Taken taken = waiting.take();
            while (taken != null && !running.isCancelled()) {
                ShardResult<T> result = read(taken.shard());
                while (Thread.currentThread() != starter
                        && !running.isCancelled()
                        && !room.tryAcquire(100, TimeUnit.MILLISECONDS)) {
                    // The reader is slow or has gone; the deadline ends the wait in any case.
                    if (System.nanoTime() - end > 0) {
                        return;
                    }
                }
                results.add(result);
                waiting.done(taken);
                taken = waiting.take();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            executor.leave();
        }
    }

    private ShardResult<T> read(int shard) {
        ShardflakeException down = unavailable.get(server(shard));
        if (down != null) {
            return new ShardResult.Failure<>(shard, ScatterException.ofShard(shard, server(shard), down));
        }
        try {
            T value = executor.inTransaction(shard, Access.READ, tx -> running.run(tx::cancel, () -> work.run(tx)));
            return new ShardResult.Value<>(shard, value);
        } catch (Throwable e) {
            if (e instanceof ServerUnavailableException gone) {
                unavailable.put(gone.server(), gone);
            } else if (e instanceof AuthenticationFailedException refused) {
                unavailable.put(refused.server(), refused);
            }
            return new ShardResult.Failure<>(shard, ScatterException.ofShard(shard, server(shard), e));
        }
    }

    private String server(int shard) {
        return executor.map().server(shard).name();
    }

    @Override
    public boolean tryAdvance(Consumer<? super ShardResult<T>> action) {
        if (outstanding.isEmpty()) {
            return false;
        }
        ShardResult<T> result = next();
        while (!outstanding.remove(result.shard())) {
            result = next(); // This shard was given up as late, but its result came in after all.
        }
        if (result instanceof ShardResult.Failure<T> failure && !scatter.collectsFailures()) {
            running.cancel();
            throw failure.cause();
        }
        action.accept(result);
        return true;
    }

    private ShardResult<T> next() {
        try {
            ShardResult<T> result = results.poll(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
            if (result == null) {
                return late();
            }
            room.release();
            return result;
        } catch (InterruptedException e) {
            running.cancel();
            throw new InterruptedWorkException("a read over many shards", e);
        }
    }

    private ShardResult<T> late() {
        running.cancel();
        int shard = outstanding.iterator().next();
        return new ShardResult.Failure<>(
                shard, ScatterException.late("shard " + shard, server(shard), scatter.deadline()));
    }
}
