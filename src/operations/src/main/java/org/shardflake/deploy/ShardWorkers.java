/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.function.IntConsumer;
import java.util.function.Predicate;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;

/**
 * Works on the shards of one server over several connections, until all are done or a failure stops the rest. For one piece of work.
 *
 * <p>A connection pauses after each shard that may be in use. Besides processor time, a changed table costs every session that has used
 * it: the session reads the table's definition again, and plans its statements again.
 */
final class ShardWorkers {

    private static final long LONGEST_REST_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final DeployTarget target;
    private final DeploySettings settings;
    private final Function<Connection, ShardRun> runs;
    private final IntConsumer done;
    private final AtomicBoolean stop;
    private final Queue<ShardFailure> failures = new ConcurrentLinkedQueue<>();
    private volatile boolean together = true;

    /**
     * Prepares workers without starting them.
     *
     * @param runs creates what works over a connection
     * @param done receives the number of shards done since its last call
     * @param stop set when no further shard is to be started, by a failure here or elsewhere
     */
    ShardWorkers(
            DeployTarget target,
            DeploySettings settings,
            Function<Connection, ShardRun> runs,
            IntConsumer done,
            AtomicBoolean stop) {
        this.target = target;
        this.settings = settings;
        this.runs = runs;
        this.done = done;
        this.stop = stop;
    }

    /** Work on one shard, independent of the others. */
    @FunctionalInterface
    interface ShardTask<S> {
        Optional<ShardFailure> run(ShardRun run, S shard) throws SQLException, InterruptedException;
    }

    /** Work on several shards together. Returns whether it was done; if not, they are taken one by one. */
    @FunctionalInterface
    private interface BatchTask<S> {
        boolean run(ShardRun run, List<S> shards) throws SQLException, InterruptedException;
    }

    /** Deploys the pending changesets of shards. */
    Collection<ShardFailure> deploy(List<ShardPlan> plans) throws InterruptedException {
        return inParallel(
                ShardPlan.batches(plans, settings.connections()),
                this::createTogether,
                resting(ShardRun::deploy, plan -> !plan.create()));
    }

    /** Creates shards together; gives up after one failure, which is likely to recur. */
    private boolean createTogether(ShardRun run, List<ShardPlan> batch) throws SQLException, InterruptedException {
        if (batch.size() == 1 || !together) {
            return false;
        }
        boolean created = run.createTogether(batch);
        if (!created) {
            together = false;
        }
        return created;
    }

    /** Runs a task for each shard; the shards may be in use. */
    <S> Collection<ShardFailure> each(List<S> shards, ShardTask<S> task) throws InterruptedException {
        return inParallel(shards.stream().map(List::of).toList(), (run, batch) -> false, resting(task, shard -> true));
    }

    /** Pauses after work on a shard that began at the given {@link System#nanoTime}. */
    static void rest(DeploySettings settings, long start) throws InterruptedException {
        double rest = (double) (System.nanoTime() - start) * settings.rest();
        TimeUnit.NANOSECONDS.sleep((long) Math.min(rest, (double) LONGEST_REST_NANOS));
    }

    private <S> ShardTask<S> resting(ShardTask<S> task, Predicate<S> isUsed) {
        return (run, shard) -> {
            long start = System.nanoTime();
            Optional<ShardFailure> failure = task.run(run, shard);
            if (failure.isEmpty() && isUsed.test(shard) && !isStopped()) {
                rest(settings, start);
            }
            return failure;
        };
    }

    private <S> Collection<ShardFailure> inParallel(List<List<S>> batches, BatchTask<S> batchTask, ShardTask<S> task)
            throws InterruptedException {
        Queue<List<S>> waiting = new ConcurrentLinkedQueue<>(batches);
        Callable<Boolean> work = () -> {
            work(waiting, batchTask, task);
            return true;
        };
        ExecutorService threads = Executors.newFixedThreadPool(settings.connections());
        try {
            // Returns when all have ended, even after a failure: the server's deploy lock is released next.
            List<Future<Boolean>> workers =
                    threads.invokeAll(Collections.nCopies(Math.min(settings.connections(), batches.size()), work));
            for (Future<Boolean> worker : workers) {
                await(worker);
            }
        } finally {
            threads.shutdownNow();
        }
        return failures;
    }

    private <S> void work(Queue<List<S>> waiting, BatchTask<S> batchTask, ShardTask<S> task)
            throws InterruptedException {
        try {
            while (!waiting.isEmpty() && !isStopped()) {
                try (Connection connection = target.connect()) {
                    work(runs.apply(connection), waiting, batchTask, task);
                }
            }
        } catch (SQLException e) {
            throw new DeployException(
                    ShardflakeException.Kind.FAILURE,
                    "the deployment on server %s ended early: %s".formatted(target.server(), e.getMessage()),
                    Advice.of("%s shows what its shards have", CliCommand.SCHEMA_STATUS),
                    e);
        } finally {
            waiting.clear(); // Lets the other workers end as well if this one has failed.
        }
    }

    private <S> void work(ShardRun run, Queue<List<S>> waiting, BatchTask<S> batchTask, ShardTask<S> task)
            throws SQLException, InterruptedException {
        while (!run.leftSomething() && !isStopped()) {
            List<S> batch = waiting.poll();
            if (batch == null) {
                return;
            }
            if (batchTask.run(run, batch)) {
                done.accept(batch.size());
            } else {
                oneByOne(run, batch, task);
            }
        }
    }

    private <S> void oneByOne(ShardRun run, List<S> shards, ShardTask<S> task)
            throws SQLException, InterruptedException {
        for (S shard : shards) {
            if (isStopped()) {
                return;
            }
            Optional<ShardFailure> failure = task.run(run, shard);
            failure.ifPresent(failures::add);
            if (failure.isPresent() && settings.stopAtFailure()) {
                stop.set(true);
            }
            done.accept(1);
        }
    }

    private boolean isStopped() {
        return stop.get() || Thread.currentThread().isInterrupted();
    }

    private static void await(Future<?> worker) throws InterruptedException {
        try {
            worker.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof DeployException failure) {
                throw failure;
            }
            throw new IllegalStateException("a deployment failed", e.getCause());
        }
    }
}
