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
import org.shardflake.benchmarks.ids.Candidate.DatabaseCandidate;
import org.shardflake.benchmarks.ids.Candidate.JavaCandidate;
import org.shardflake.benchmarks.ids.Candidate.Tables;
import org.shardflake.benchmarks.ids.TrialClock.DatabaseTrialClock;
import org.shardflake.benchmarks.ids.TrialClock.JavaTrialClock;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.scheme.GeneratorSettings;
import org.shardflake.scheme.IdGenerator;
import org.shardflake.scheme.Schemes;

/** What becomes of each scheme when the clock it reads steps back and when it stands. Databases have a server of their own. */
final class ClockTrials implements AutoCloseable {

    /** Both outcomes, and whose clock it was. */
    record Outcomes(ClockTrial.Outcome stepBack, ClockTrial.Outcome stand, String clock) {}

    private final int millis;
    private final PostgresCluster cluster;
    private final TrialClock clock;

    private ClockTrials(int millis, PostgresCluster cluster, TrialClock clock) {
        this.millis = millis;
        this.cluster = cluster;
        this.clock = clock;
    }

    /** Starts the server. */
    static ClockTrials start(int millis) throws SQLException {
        PostgresCluster cluster = IdCost.startServer();
        try {
            Connection connection = cluster.server(0).connect();
            Servers.prepare(connection);
            return new ClockTrials(millis, cluster, new DatabaseTrialClock(connection));
        } catch (SQLException | RuntimeException e) {
            cluster.close();
            throw e;
        }
    }

    Outcomes run(Candidate candidate, GeneratorSettings settings) throws Exception {
        if (candidate instanceof JavaCandidate java) {
            return inJava(settings, java::generator);
        }
        // Its clock is compiled into the server: the same rule is tried in Java.
        if (candidate.name().equals(Candidates.UUIDV7)) {
            return inJava(settings, Schemes.named(Candidates.UUIDV7)::generator);
        }
        return inDatabase((DatabaseCandidate) candidate);
    }

    /** Makes a generator. */
    @FunctionalInterface
    private interface Maker {
        IdGenerator make(GeneratorSettings settings) throws SQLException;
    }

    private Outcomes inJava(GeneratorSettings settings, Maker maker) throws Exception {
        JavaTrialClock javaClock = new JavaTrialClock();
        try (IdGenerator generator = maker.make(settings.withClock(javaClock))) {
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
            clock.close();
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
         * What came of it.
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

        /** With so much time before the clock misbehaves, and after it has been mended. */
        ClockTrial(TrialClock clock, Draw draw, int millis) {
            this.clock = clock;
            this.draw = draw;
            this.millis = millis;
        }

        /** Has the clock show the last second once more, and then the right time. */
        Outcome stepBack() throws Exception {
            return run(() -> clock.stepBack(SPELL));
        }

        /** Has the clock stand for a second, and then show the right time. */
        Outcome stand() throws Exception {
            return run(clock::stand);
        }

        /** What befalls the clock. */
        @FunctionalInterface
        private interface Event {
            void happen() throws Exception;
        }

        private Outcome run(Event event) throws Exception {
            AtomicBoolean over = new AtomicBoolean();
            ExecutorService thread = Executors.newSingleThreadExecutor();
            try {
                Future<Outcome> drawn = thread.submit(() -> drawUntil(over));
                Thread.sleep(millis);
                event.happen();
                Thread.sleep(SPELL.toMillis());
                clock.mend();
                Thread.sleep(millis);
                over.set(true);
                return drawn.get();
            } finally {
                over.set(true);
                clock.mend();
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
