/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.shardflake.Sharding;
import org.shardflake.router.DarkRead.Outcome;
import org.shardflake.router.internal.pool.RoutedPools;
import org.shardflake.router.internal.pool.Routes;
import org.shardflake.router.internal.pool.ServerPool;
import org.shardflake.router.internal.session.LeasedConnection;
import org.shardflake.router.internal.session.ReadSamples;
import org.shardflake.router.internal.session.RouterLog;
import org.shardflake.router.internal.sqltext.SqlEffects;
import org.shardflake.server.internal.sqltext.SqlTokens;
import org.shardflake.server.internal.sqltext.SqlTokens.Token;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs reads that the old database has answered again, there and in the shard's server, and compares the rows. Thread-safe.
 *
 * <p>The application has its answer by then: nothing here is waited for, and nothing fails but a comparison. One thread does it, with connections that
 * no work of the application waits for, in transactions that can only read and lock no shard.
 */
final class DarkReads implements ReadSamples, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(RouterLog.NAME);

    /** The number of transactions that wait for their comparison, or to be looked at again. */
    private static final int MOST_WAITING = 64;

    private static final int MOST_ROWS = 1_000;
    private static final Duration LONGEST = Duration.ofSeconds(5);

    /** Matches functions that take locks which other transactions of the application may wait for. */
    private static final Pattern LOCKING = Pattern.compile("advisory_", Pattern.CASE_INSENSITIVE);

    /** Matches SQL that may change the limits, which the application sets for its own time. */
    private static final Pattern LIMITING = Pattern.compile("timeout", Pattern.CASE_INSENSITIVE);

    /** The SQLSTATEs of SQL that a limit has ended: of a statement, a lock, an idle transaction, a transaction. */
    private static final Set<String> TOO_LONG = Set.of("57014", "55P03", "25P03", "25P04");

    private static final String LIMITS =
            "SET LOCAL statement_timeout = %s; SET LOCAL lock_timeout = 1000".formatted(LONGEST.toMillis());

    /** Begins the transaction. One of SERIALIZABLE, which may be the default, could make transactions of the application fail. */
    private static final String BEGIN = """
            BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; %s;
            SELECT pg_catalog.set_config('search_path', pg_catalog.rtrim('%s, ' OPERATOR(pg_catalog.||) pg_catalog.current_setting('search_path'), ', '), true)
            """;

    private final double share;
    private final Duration lag;
    private final RouterListener listener;
    private final Semaphore waiting = new Semaphore(MOST_WAITING);
    private final ScheduledExecutorService thread = Executors.newSingleThreadScheduledExecutor(DarkReads::daemon);
    private volatile @Nullable RoutedPools pools;

    /**
     * @param share of the transactions that only read
     * @param lag after which rows that differ are looked at again
     */
    DarkReads(double share, Duration lag, RouterListener listener) {
        this.share = share;
        this.lag = lag;
        this.listener = listener;
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "shardflake-dark-reads");
        thread.setDaemon(true);
        return thread;
    }

    void begin(RoutedPools its) {
        pools = its;
    }

    @Override
    public boolean next() {
        return ThreadLocalRandom.current().nextDouble() < share;
    }

    @Override
    public void ended(int shard, List<Executed> statements) {
        if (!waiting.tryAcquire()) {
            skipped(shard, "too many reads wait for their comparison");
            return;
        }
        try {
            thread.execute(() -> look(shard, statements, false));
        } catch (RejectedExecutionException closed) {
            waiting.release();
        }
    }

    private Routes routes() {
        return Objects.requireNonNull(pools).routes();
    }

    private void look(int shard, List<Executed> statements, boolean isLast) {
        boolean isOver = true;
        try {
            isOver = isOver(shard, statements, isLast);
            if (!isOver) {
                var unused =
                        thread.schedule(() -> look(shard, statements, true), lag.toMillis(), TimeUnit.MILLISECONDS);
            }
        } catch (SQLException | RuntimeException e) {
            isOver = true;
            LOG.debug("a dark read of shard {} could not be compared", shard, e);
            skipped(shard, "it could not be run again: " + why(e));
        } finally {
            if (isOver) {
                waiting.release();
            }
        }
    }

    /** Whether this comparison was the last, and was told of. */
    private boolean isOver(int shard, List<Executed> statements, boolean isLast) throws SQLException {
        if (statements.stream().anyMatch(its -> isRisky(its.sql()))) {
            skipped(shard, "it takes advisory locks, or ends its transaction");
            return true;
        }
        Routes routes = routes();
        ServerPool old = routes.pool(shard);
        if (!old.isOld()) {
            skipped(shard, "the shard has left the old database");
            return true;
        }
        ServerPool server = routes.serverPool(shard);
        List<Answer> wanted = new ArrayList<>();
        List<Answer> found = new ArrayList<>();
        String schema = old.schema(shard);
        ask(old, shard, schema, statements.stream().map(Executed::text).toList(), wanted);
        SQLException failure = null;
        try {
            List<String> texts = statements.stream()
                    .map(its -> moved(its.text(), schema, Sharding.schema(shard)))
                    .toList();
            ask(server, shard, Sharding.schema(shard), texts, found);
        } catch (SQLException e) {
            failure = e;
        }
        if (!routes().pool(shard).isOld()) {
            skipped(shard, "the shard has left the old database");
            return true;
        }
        List<DarkRead> reads = new ArrayList<>();
        for (int i = 0; i < Math.min(wanted.size(), found.size()); i++) {
            Answer one = wanted.get(i);
            Answer other = found.get(i);
            boolean isCut = one.isCut() || other.isCut();
            String difference = isCut ? "more than %s rows".formatted(MOST_ROWS) : one.difference(other);
            Outcome outcome = isCut
                    ? Outcome.SKIPPED
                    : difference.isEmpty() ? (isLast ? Outcome.LATE : Outcome.SAME) : Outcome.DIFFERENT;
            reads.add(new DarkRead(
                    shard, server.server(), statements.get(i).sql(), outcome, one.took(), other.took(), difference));
        }
        if (failure != null && found.size() < statements.size()) {
            reads.add(new DarkRead(
                    shard,
                    server.server(),
                    statements.get(found.size()).sql(),
                    TOO_LONG.contains(String.valueOf(failure.getSQLState())) ? Outcome.SKIPPED : Outcome.FAILED,
                    Duration.ZERO,
                    Duration.ZERO,
                    why(failure)));
        }
        if (!isLast && reads.stream().anyMatch(read -> read.outcome() == Outcome.DIFFERENT)) {
            return false;
        }
        reads.forEach(this::tell);
        return true;
    }

    /** Whether SQL could do more than read if it is run again, or make the application wait. */
    private static boolean isRisky(String sql) {
        return LOCKING.matcher(sql).find() || SqlEffects.facts(sql, null).end() != null;
    }

    private void skipped(int shard, String why) {
        tell(new DarkRead(
                shard, routes().serverPool(shard).server(), "", Outcome.SKIPPED, Duration.ZERO, Duration.ZERO, why));
    }

    /** The reason of a failure. Messages about data have values, which are not told. */
    private static String why(Exception e) {
        String state = e instanceof SQLException failed ? String.valueOf(failed.getSQLState()) : "";
        return state.startsWith("22") ? "SQLSTATE " + state : String.valueOf(e.getMessage());
    }

    private void tell(DarkRead read) {
        if (read.outcome() == Outcome.DIFFERENT || read.outcome() == Outcome.FAILED) {
            LOG.warn(
                    "a read of shard {} has another answer on {}: {}: {}",
                    read.shard(),
                    read.server().name(),
                    read.difference(),
                    read.sql());
        }
        listener.darkReadEnded(read);
    }

    /**
     * Runs statements in one transaction, for as long as there is time.
     *
     * @param answers receives those of the statements that have ended
     */
    private static void ask(ServerPool pool, int shard, String schema, List<String> texts, List<Answer> answers)
            throws SQLException {
        long begun = System.nanoTime();
        // In auto-commit mode for the router, so the old database is not asked to keep the shard there. The pool rolls
        // back what is given back.
        try (LeasedConnection connection = pool.sideConnection(shard);
                Statement statement = connection.createStatement()) {
            statement.execute(BEGIN.formatted(LIMITS, schema));
            statement.setMaxRows(MOST_ROWS + 1);
            for (String text : texts) {
                if (System.nanoTime() - begun > LONGEST.toNanos()) {
                    return;
                }
                long start = System.nanoTime();
                boolean hasRows = statement.execute(text);
                try (ResultSet rows = hasRows ? statement.getResultSet() : null) {
                    answers.add(Answer.of(rows, start));
                }
                if (LIMITING.matcher(text).find()) {
                    statement.execute(LIMITS);
                }
            }
        }
    }

    /** A text that names the tables of one schema, for another. */
    static String moved(String sql, String from, String to) {
        List<Token> tokens = SqlTokens.of(sql);
        StringBuilder text = new StringBuilder();
        int copied = 0;
        for (int i = 0; i < tokens.size(); i++) {
            Token token = tokens.get(i);
            if (token.isIdentifier()
                    && token.text().equals(from)
                    && SqlTokens.is(tokens, i + 1, ".")
                    && !SqlTokens.is(tokens, i - 1, ".")) {
                text.append(sql, copied, token.start()).append(to);
                copied = token.end();
            }
        }
        return text.append(sql.substring(copied)).toString();
    }

    /**
     * The rows that a statement has given, as texts; their order does not count.
     *
     * @param isCut whether there were more
     */
    private record Answer(List<String> columns, List<List<@Nullable String>> rows, boolean isCut, Duration took) {

        static Answer of(@Nullable ResultSet result, long start) throws SQLException {
            List<String> columns = new ArrayList<>();
            List<List<@Nullable String>> rows = new ArrayList<>();
            if (result != null) {
                ResultSetMetaData data = result.getMetaData();
                for (int i = 1; i <= data.getColumnCount(); i++) {
                    columns.add(data.getColumnLabel(i));
                }
                while (result.next()) {
                    List<@Nullable String> row = new ArrayList<>();
                    for (int i = 1; i <= columns.size(); i++) {
                        row.add(result.getString(i));
                    }
                    rows.add(row);
                }
            }
            return new Answer(columns, rows, rows.size() > MOST_ROWS, Duration.ofNanos(System.nanoTime() - start));
        }

        /** The first column of a name that is not taken, as joined tables may have columns of the same name; negative if there is none. */
        private int place(String column, List<Integer> taken) {
            for (int i = 0; i < columns.size(); i++) {
                if (columns.get(i).equals(column) && !taken.contains(i)) {
                    return i;
                }
            }
            return -1;
        }

        /** Describes how another answer differs; empty if it does not. Columns that only the other one has are ignored, since shards' tables may have the key in addition. */
        String difference(Answer other) {
            List<Integer> places = new ArrayList<>();
            for (int i = 0; i < columns.size(); i++) {
                int place = columns.equals(other.columns) ? i : other.place(columns.get(i), places);
                if (place < 0) {
                    return "the shard's rows have no column " + columns.get(i);
                }
                places.add(place);
            }
            Map<List<@Nullable String>, Integer> counts = new HashMap<>();
            rows.forEach(row -> counts.merge(row, 1, Integer::sum));
            for (List<@Nullable String> row : other.rows) {
                List<@Nullable String> its = new ArrayList<>();
                places.forEach(place -> its.add(row.get(place)));
                counts.merge(its, -1, Integer::sum);
            }
            int missing = counts.values().stream()
                    .mapToInt(count -> Math.max(count, 0))
                    .sum();
            int more = counts.values().stream()
                    .mapToInt(count -> Math.max(-count, 0))
                    .sum();
            return missing == 0 && more == 0
                    ? ""
                    : "of %s rows the shard has %s others, and lacks %s".formatted(rows.size(), more, missing);
        }
    }

    @Override
    public void close() {
        thread.shutdownNow();
    }
}
