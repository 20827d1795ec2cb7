/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.shardflake.benchmarks.ids.IdCandidate.DatabaseCandidate;
import org.shardflake.benchmarks.ids.IdCandidate.JavaCandidate;
import org.shardflake.benchmarks.ids.IdCandidate.Tables;
import org.shardflake.benchmarks.ids.TrialClock.DatabaseTrialClock;
import org.shardflake.benchmarks.ids.TrialClock.JavaTrialClock;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.jdbc.Sql;
import org.shardflake.scheme.GeneratorSettings;
import org.shardflake.scheme.IdGenerator;
import org.shardflake.scheme.Schemes;

/** Trials of each scheme with a clock that steps back and one that stands still. Databases have a server of their own. */
final class ClockTrials implements AutoCloseable {

    /** Both outcomes, and the clock that was used. */
    record Outcomes(ClockTrial.Outcome stepBack, ClockTrial.Outcome stand, String clock) {}

    private final int millis;
    private final PostgresCluster cluster;
    private final DatabaseTrialClock clock;

    private ClockTrials(int millis, PostgresCluster cluster, DatabaseTrialClock clock) {
        this.millis = millis;
        this.cluster = cluster;
        this.clock = clock;
    }

    /** Starts the server. */
    static ClockTrials start(int millis) throws SQLException {
        PostgresCluster cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(1)
                .setting("max_connections", "100") // PostgreSQL's default
                .start();
        try {
            Connection connection = cluster.server(0).connect();
            Servers.prepare(connection);
            return new ClockTrials(millis, cluster, DatabaseTrialClock.create(connection));
        } catch (SQLException | RuntimeException e) {
            cluster.close();
            throw e;
        }
    }

    Outcomes run(IdCandidate candidate, GeneratorSettings settings) throws Exception {
        JavaTrialClock javaClock = new JavaTrialClock();
        GeneratorSettings withClock = settings.withClock(javaClock);
        if (candidate instanceof JavaCandidate java) {
            return inJava(javaClock, java.generator(withClock));
        }
        // Its clock is compiled into the server: the same rule is tried in Java.
        if (candidate.name().equals(Candidates.UUIDV7)) {
            return inJava(javaClock, Schemes.named(Candidates.UUIDV7).generator(withClock));
        }
        return inDatabase((DatabaseCandidate) candidate);
    }

    private Outcomes inJava(JavaTrialClock javaClock, IdGenerator generator) throws Exception {
        try (generator) {
            ClockTrial trial = new ClockTrial(javaClock, (count, into) -> draw(generator, count, into), millis);
            return new Outcomes(trial.stepBack(), trial.stand(), "the generator's, in Java");
        }
    }

    private static void draw(IdGenerator generator, int count, Consumer<Comparable<?>> into) throws Exception {
        for (int i = 0; i < count; i++) {
            into.accept(Duplicates.next(generator));
        }
    }

    private Outcomes inDatabase(DatabaseCandidate candidate) throws Exception {
        try (Connection session = cluster.server(0).connect()) {
            Tables.create(session, candidate);
            DatabaseTrialClock.use(session);
            try (PreparedStatement statement = session.prepareStatement(
                    "SELECT %s FROM generate_series(1, ?)".formatted(candidate.expression()))) {
                ClockTrial trial = new ClockTrial(clock, (count, into) -> draw(statement, count, into), millis);
                return new Outcomes(trial.stepBack(), trial.stand(), "the function's hook");
            }
        }
    }

    private static void draw(PreparedStatement statement, int count, Consumer<Comparable<?>> into) throws SQLException {
        statement.setInt(1, count);
        try (ResultSet rows = statement.executeQuery()) {
            while (rows.next()) {
                into.accept(rows.getString(1));
            }
        }
    }

    @Override
    public void close() throws SQLException {
        try {
            clock.connection().close();
        } finally {
            cluster.close();
        }
    }

    /**
     * One generator that is asked for 100 ids each millisecond, while its clock is sane, steps back by a second or stands for one,
     * and is sane again. Another thread moves the clock, so that a generator which waits for it is not waited for.
     */
    static final class ClockTrial {

        private static final int IDS_A_MILLISECOND = 100;
        private static final long MILLI = 1_000_000;
        private static final long DELAY = 20 * MILLI;
        private static final Duration SPELL = Duration.ofSeconds(1);

        /** Makes so many ids and hands each over at once; those made before a failure count too. */
        @FunctionalInterface
        interface Draw {
            void some(int count, Consumer<Comparable<?>> into) throws Exception;
        }

        /**
         * The outcome of a trial.
         *
         * @param ids made
         * @param duplicates ids that had been made before
         * @param failures calls that made no ids but an error
         * @param longestGapMillis the longest time without an id
         */
        record Outcome(long ids, long duplicates, long failures, long longestGapMillis) {}

        private final TrialClock clock;
        private final Draw draw;
        private final int millis;

        /** A trial with this much time before the clock misbehaves, and after it is right again. */
        ClockTrial(TrialClock clock, Draw draw, int millis) {
            this.clock = clock;
            this.draw = draw;
            this.millis = millis;
        }

        /** Has the clock show the last second once more, and then the right time. */
        Outcome stepBack() throws Exception {
            return run(() -> clock.run(SPELL));
        }

        /** Has the clock stand for a second, and then show the right time. */
        Outcome stand() throws Exception {
            return run(clock::stand);
        }

        private Outcome run(Sql.Action<RuntimeException> event) throws Exception {
            AtomicBoolean over = new AtomicBoolean();
            ExecutorService thread = Executors.newSingleThreadExecutor();
            try {
                Future<Outcome> drawn = thread.submit(() -> drawUntil(over));
                Thread.sleep(millis);
                event.run();
                Thread.sleep(SPELL.toMillis());
                clock.run(Duration.ZERO);
                Thread.sleep(millis);
                over.set(true);
                return drawn.get();
            } finally {
                over.set(true);
                clock.run(Duration.ZERO);
                thread.shutdown();
            }
        }

        private Outcome drawUntil(AtomicBoolean over) {
            Drawn drawn = new Drawn();
            long failures = 0;
            long due = System.nanoTime();
            while (!over.get()) {
                try {
                    draw.some(IDS_A_MILLISECOND, drawn);
                } catch (Exception e) {
                    failures++;
                }
                // Makes up for what a busy machine delays, but not for a generator that waited.
                due = Math.max(due + MILLI, System.nanoTime() - DELAY);
                LockSupport.parkNanos(due - System.nanoTime());
            }
            return new Outcome(drawn.ids.size(), Duplicates.count(drawn.ids), failures, drawn.longestGap() / MILLI);
        }

        /** Keeps ids, and the longest time between two. */
        private static final class Drawn implements Consumer<Comparable<?>> {

            private final List<Comparable<?>> ids = new ArrayList<>();
            private long last = System.nanoTime();
            private long longestGap;

            @Override
            public void accept(Comparable<?> id) {
                ids.add(id);
                longestGap = longestGap();
                last = System.nanoTime();
            }

            long longestGap() {
                return Math.max(longestGap, System.nanoTime() - last);
            }
        }
    }
}
