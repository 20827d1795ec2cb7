/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.scheme.GeneratorSettings;
import org.shardflake.scheme.IdGenerator;
import org.shardflake.scheme.Schemes;

/**
 * What becomes of each scheme when the clock it reads steps back and when it stands. Databases have a server of their own, whose
 * clock libfaketime moves if it is there; else each scheme's hook does.
 */
final class ClockTrials implements AutoCloseable {

    /** Both outcomes, and whose clock it was. */
    record Outcome(ClockTrial.Outcome stepBack, ClockTrial.Outcome stand, String clock) {}

    private final int millis;
    private final PostgresCluster cluster;
    private final @Nullable FakeTime fakeTime;
    private final TrialClock clock;

    private ClockTrials(int millis, PostgresCluster cluster, @Nullable FakeTime fakeTime, TrialClock clock) {
        this.millis = millis;
        this.cluster = cluster;
        this.fakeTime = fakeTime;
        this.clock = clock;
    }

    /** Starts the server. */
    static ClockTrials start(int millis) throws SQLException {
        Optional<FakeTime> fakeTime = FakeTime.find();
        PostgresCluster.Builder builder =
                PostgresCluster.builder().provider(PostgresProvider.EMBEDDED).servers(1);
        fakeTime.ifPresent(time -> time.environment().forEach(builder::environment));
        PostgresCluster cluster = builder.start();
        try {
            Connection connection = cluster.server(0).connect();
            Servers.prepare(connection);
            if (fakeTime.isPresent()) {
                connection.close();
                return new ClockTrials(millis, cluster, fakeTime.get(), fakeTime.get());
            }
            return new ClockTrials(millis, cluster, null, new DatabaseTrialClock(connection));
        } catch (SQLException | RuntimeException e) {
            cluster.close();
            throw e;
        }
    }

    /** Whether PostgreSQL's own functions see the clock move. */
    boolean movesTheServersClock() {
        return fakeTime != null;
    }

    Outcome run(Candidate candidate, GeneratorSettings settings) throws Exception {
        if (candidate instanceof JavaCandidate java) {
            return inJava(settings, java::generator);
        }
        // Its clock is compiled into the server: without libfaketime the same rule is tried in Java.
        if (candidate.name().equals(Candidates.UUIDV7) && !movesTheServersClock()) {
            return inJava(settings, Schemes.named(Candidates.UUIDV7)::generator);
        }
        return inDatabase((DatabaseCandidate) candidate);
    }

    /** Makes a generator. */
    @FunctionalInterface
    private interface Maker {
        IdGenerator make(GeneratorSettings settings) throws SQLException;
    }

    private Outcome inJava(GeneratorSettings settings, Maker maker) throws Exception {
        JavaTrialClock javaClock = new JavaTrialClock();
        try (IdGenerator generator = maker.make(settings.withClock(javaClock))) {
            ClockTrial trial = new ClockTrial(javaClock, (count, into) -> draw(generator, count, into), millis);
            return new Outcome(trial.stepBack(), trial.stand(), "the generator's, in Java");
        }
    }

    private static void draw(IdGenerator generator, int count, Consumer<Comparable<?>> into) throws Exception {
        for (int i = 0; i < count; i++) {
            into.accept(Duplicates.next(generator));
        }
    }

    private Outcome inDatabase(DatabaseCandidate candidate) throws Exception {
        try (Connection session = cluster.server(0).connect()) {
            Tables.create(session, candidate);
            if (!movesTheServersClock()) {
                DatabaseTrialClock.use(session);
            }
            try (PreparedStatement statement = session.prepareStatement(
                    "SELECT %s FROM generate_series(1, ?)".formatted(candidate.expression()))) {
                ClockTrial trial = new ClockTrial(clock, (count, into) -> draw(statement, count, into), millis);
                return new Outcome(
                        trial.stepBack(),
                        trial.stand(),
                        movesTheServersClock() ? "the server's, by libfaketime" : "the function's hook");
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
}
