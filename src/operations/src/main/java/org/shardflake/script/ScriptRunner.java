/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.script;

import java.io.Serial;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntConsumer;
import java.util.function.ObjIntConsumer;
import org.shardflake.ShardKey;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.install.Installation;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardQuery;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;
import org.shardflake.router.exception.CommitOutcomeUnknownException;

/**
 * Runs statements in many shards, each time in a transaction that also records the run there. So a run that was interrupted is gone on with by
 * the same call, and nothing is run twice, whatever was killed and wherever shards have moved. Not thread-safe.
 */
public final class ScriptRunner {

    /** The maximum number of tries; each first asks the shard whether the previous one was committed. */
    private static final int MAX_TRIES = 5;

    private static final long BEFORE = -1;

    private final Installation installation;
    private final ShardRouter router;
    private final ShardScript script;
    private final ScriptSettings settings;
    private final String run;

    /** The number of shards without the table; negative until the servers have been asked. */
    private int lackingTable = -1;

    /** @param router a router of the installation; the caller closes it */
    public ScriptRunner(Installation installation, ShardRouter router, ShardScript script, ScriptSettings settings) {
        this.installation = installation;
        this.router = router;
        this.script = script;
        this.settings = settings;
        this.run = settings.run().isEmpty() ? script.digest() : settings.run();
    }

    /** The run's name. */
    public String run() {
        return run;
    }

    /**
     * The shards in which the statements have not run yet. Changes nothing.
     *
     * @throws ShardflakeException if other statements have been run under this name
     */
    public ShardSet left(ShardSet shards) throws InterruptedException {
        return lackingTable() > 0 ? shards : notNoted(shards);
    }

    /**
     * The number of shards in the whole installation in which {@link #run} first creates the table {@value RunTable#NAME}, where a shard
     * records runs. Changes nothing.
     */
    public int lackingTable() throws InterruptedException {
        if (lackingTable < 0) {
            lackingTable = RunTable.lacking(
                    installation.targets(router.map()), router.map().layout());
        }
        return lackingTable;
    }

    private ShardSet notNoted(ShardSet shards) {
        ShardQuery<String> done = ShardQuery.of(
                        "SELECT digest FROM ${shard.schema}." + RunTable.NAME + " WHERE run OPERATOR(pg_catalog.=) ?",
                        row -> row.getString(1))
                .bind(run)
                .over(shards);
        Map<Integer, String> digests = new HashMap<>();
        router.forEachRow(done, (digest, shard) -> digests.put(shard, digest));
        digests.forEach(this::requireSame);
        return ShardSet.of(
                shards.stream().filter(shard -> !digests.containsKey(shard)).toArray());
    }

    private void requireSame(int shard, String digest) {
        if (!digest.equals(script.digest())) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "run %s was done in shard %s with other statements".formatted(run, shard),
                    "give the run of these another name",
                    null);
        }
    }

    /**
     * Runs the statements in one shard and rolls them back; returns how many rows they would change.
     *
     * @throws ShardflakeException if they fail
     */
    public long rehearse(int shard) {
        try {
            return router.<Long, Exception>write(ShardKey.shard(shard), tx -> {
                throw new RolledBackException(execute(tx));
            });
        } catch (RolledBackException e) {
            return e.rows;
        } catch (Exception e) {
            throw new ShardflakeException("the statements fail in shard %s: %s".formatted(shard, message(e)), e);
        }
    }

    private static final class RolledBackException extends RuntimeException {

        @Serial
        private static final long serialVersionUID = 1L;

        private final long rows;

        RolledBackException(long rows) {
            this.rows = rows;
        }
    }

    /**
     * Runs the statements in the given shards, except where they have run already.
     *
     * @param shardDone told of each shard that a task is done with, and of how many there are; called from several threads
     * @throws ShardflakeException if a shard is being moved and the table that notes what was done has yet to be made
     */
    public ScriptReport run(ShardSet shards, ObjIntConsumer<String> shardDone) throws InterruptedException {
        RunTable.create(
                installation, installation.targets(router.map()), router.map().layout(), shardDone);
        ShardSet left = notNoted(shards);
        Execution execution = new Execution(left, done -> {
            for (int i = 0; i < done; i++) {
                shardDone.accept("writing", left.size());
            }
        });
        execution.run();
        return execution.report(
                shards.stream().filter(shard -> !left.contains(shard)).boxed().toList());
    }

    /** One pass over shards, with several workers. */
    private final class Execution {

        private final Queue<Integer> waiting;
        private final IntConsumer listener;
        private final Set<Integer> done = new ConcurrentSkipListSet<>();
        /** The shards that another command has done in the meantime. */
        private final Set<Integer> doneBefore = new ConcurrentSkipListSet<>();

        private final LongAdder rows = new LongAdder();
        private final Queue<ScriptReport.Failure> failures = new ConcurrentLinkedQueue<>();
        private final AtomicBoolean stopped = new AtomicBoolean();

        Execution(ShardSet shards, IntConsumer listener) {
            this.waiting = new ConcurrentLinkedQueue<>(inTurn(shards));
            this.listener = listener;
        }

        /** The shards in an order that alternates between servers, so that all servers have work. */
        private List<Integer> inTurn(ShardSet shards) {
            ShardMap map = router.map();
            Map<String, Integer> counts = new HashMap<>();
            Map<Integer, Integer> places = new HashMap<>();
            shards.stream()
                    .forEach(shard ->
                            places.put(shard, counts.merge(map.server(shard).name(), 1, Integer::sum)));
            return places.entrySet().stream()
                    .sorted(Map.Entry.<Integer, Integer>comparingByValue().thenComparing(Map.Entry.comparingByKey()))
                    .map(Map.Entry::getKey)
                    .toList();
        }

        void run() throws InterruptedException {
            List<Thread> workers = new ArrayList<>();
            for (int i = 0; i < settings.parallelism(); i++) {
                Thread worker = new Thread(this::work, "shardflake-run-" + i);
                worker.setDaemon(true);
                worker.start();
                workers.add(worker);
            }
            try {
                for (Thread worker : workers) {
                    worker.join();
                }
            } finally {
                stopped.set(true);
            }
        }

        private void work() {
            Integer shard = stopped.get() ? null : waiting.poll();
            while (shard != null) {
                try {
                    long changed = runOnce(shard);
                    if (changed == BEFORE) {
                        doneBefore.add(shard);
                    } else {
                        done.add(shard);
                        rows.add(changed);
                    }
                    listener.accept(1);
                } catch (Throwable e) { // Also OutOfMemoryError: this shard has failed.
                    failures.add(new ScriptReport.Failure(
                            shard, router.map().server(shard).name(), message(e)));
                    stopped.compareAndSet(false, !settings.keepsGoing());
                }
                if (!stopped.get() && !settings.pause().isZero()) {
                    sleep();
                }
                shard = stopped.get() ? null : waiting.poll();
            }
        }

        private void sleep() {
            try {
                Thread.sleep(settings.pause().toMillis());
            } catch (InterruptedException e) {
                stopped.set(true);
            }
        }

        /** Runs the statements once; returns the number of changed rows, or {@link #BEFORE} if they had run already. */
        private long runOnce(int shard) throws Exception {
            boolean mayBeOurs = false;
            for (int tried = 1; ; tried++) {
                boolean isOurs = mayBeOurs;
                try {
                    return router.<Long, Exception>write(ShardKey.shard(shard), tx -> runOnce(tx, isOurs));
                } catch (CommitOutcomeUnknownException e) {
                    if (tried == MAX_TRIES) {
                        throw e;
                    }
                    mayBeOurs = true;
                }
            }
        }

        private long runOnce(ShardTransaction tx, boolean mayBeOurs) throws SQLException {
            String table = tx.schema() + "." + RunTable.NAME;
            Connection connection = tx.connection();
            int noted = Sql.update(
                    connection,
                    "INSERT INTO " + table + " (run, digest) VALUES (?, ?) ON CONFLICT (run) DO NOTHING",
                    run,
                    script.digest());
            if (noted == 0) {
                requireSame(
                        tx.shard(),
                        Sql.text(
                                connection,
                                "SELECT digest FROM " + table + " WHERE run OPERATOR(pg_catalog.=) ?",
                                run));
                return mayBeOurs
                        ? Sql.number(
                                connection, "SELECT rows FROM " + table + " WHERE run OPERATOR(pg_catalog.=) ?", run)
                        : BEFORE;
            }
            long changed = execute(tx);
            Sql.update(
                    connection,
                    "UPDATE " + table
                            + " SET rows = ?, done_at = pg_catalog.clock_timestamp() WHERE run OPERATOR(pg_catalog.=) ?",
                    changed,
                    run);
            return changed;
        }

        ScriptReport report(List<Integer> before) {
            doneBefore.addAll(before);
            return new ScriptReport(
                    run,
                    ShardSet.of(done),
                    ShardSet.of(doneBefore),
                    rows.sum(),
                    failures.stream()
                            .sorted(Comparator.comparingInt(ScriptReport.Failure::shard))
                            .toList(),
                    ShardSet.of(waiting));
        }
    }

    private long execute(ShardTransaction tx) throws SQLException {
        Sql.call(
                tx.connection(),
                "SELECT pg_catalog.set_config('search_path', ?, true)",
                tx.schema() + ", public"); // as changesets have it
        long changed = 0;
        try (Statement statement = tx.connection().createStatement()) {
            statement.setEscapeProcessing(false);
            for (String sql : script.statements()) {
                boolean isRows = statement.execute(tx.sql(sql));
                changed += isRows ? 0 : Math.max(0, statement.getLargeUpdateCount());
            }
        }
        return changed;
    }

    private static String message(Throwable e) {
        return e instanceof SQLException sql ? Sql.message(sql) : String.valueOf(e.getMessage());
    }
}
