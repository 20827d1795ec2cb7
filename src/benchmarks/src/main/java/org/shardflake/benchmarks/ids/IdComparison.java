/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.shardflake.benchmarks.ids.IdCandidate.DatabaseCandidate;
import org.shardflake.benchmarks.ids.IdCandidate.JavaCandidate;
import org.shardflake.benchmarks.ids.IdCandidate.Tables;
import org.shardflake.benchmarks.ids.Results.Goals;
import org.shardflake.benchmarks.report.Machine;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Sizing;
import org.shardflake.jdbc.Sql;
import org.shardflake.scheme.IdGenerator;
import org.shardflake.scheme.LongIdGenerator;

/** Measures all candidates on the same servers, in interleaved rounds. */
public final class IdComparison implements AutoCloseable {

    /** The divisor of all amounts in the warm-up round. */
    private static final int WARM_UP = 10;

    private final Servers servers;
    private final Connection connection;
    private final IdSizes sizes;
    private final List<IdCandidate> candidates = Candidates.all();
    private final Map<String, IdGenerator> generators = new LinkedHashMap<>();
    private final Results results = new Results(candidates);

    private IdComparison(Servers servers, IdSizes sizes) throws SQLException {
        this.servers = servers;
        this.sizes = sizes;
        this.connection = servers.connect();
    }

    /** One turn of one candidate. */
    @FunctionalInterface
    private interface Turn {
        void take(IdCandidate candidate) throws Exception;
    }

    /** Measures, prints the goals and writes {@code ids.md}. */
    public static void run() throws Exception {
        Sizing sizing = new Sizing("src/benchmarks", "IdSchemes", "ids.");
        IdSizes sizes = IdSizes.of(sizing);
        try (Servers servers = Servers.start();
                IdComparison comparison = new IdComparison(servers, sizes);
                Connection connection = servers.connect()) {
            String machine = Machine.describe(connection);
            Results results = comparison.measure();
            Goals.of(results).forEach(System.out::println);
            IdPage.of(results, sizes, machine, sizing).write(Report.directory(), "ids");
        }
    }

    private Results measure() throws Exception {
        for (IdCandidate candidate : candidates) {
            Tables.create(connection, candidate);
            if (candidate instanceof JavaCandidate java) {
                generators.put(java.name(), java.generator(servers.settings(java)));
            }
        }
        // A statement that draws from a sequence ends with a commit, which would wait for the disk.
        Sql.execute(connection, "SET synchronous_commit TO off");
        // Apart, here and for single inserts: while Java still compiles the loop of one, the database would run on half
        // a core.
        inRounds("time per id, in the database", sizes.fastRounds(), inDatabase(true), this::timeIds);
        inRounds("time per id, in Java", sizes.fastRounds(), inDatabase(false), this::timeIds);
        Sql.execute(connection, "RESET synchronous_commit");
        inRounds("bulk insert", sizes.rounds(), candidates, this::insertInBulk);
        once("size", this::measureSize);
        inRounds("single inserts, ids of the database", sizes.fastRounds(), inDatabase(true), this::insertSingly);
        inRounds("single inserts, ids of Java", sizes.fastRounds(), inDatabase(false), this::insertSingly);
        once("order", this::measureOrder);
        once("duplicates", this::countDuplicates);
        try (ClockTrials trials = ClockTrials.start(sizes.clockMillis())) {
            once(
                    "clock",
                    candidate ->
                            results.clocks.put(candidate.name(), trials.run(candidate, servers.settings(candidate))));
        }
        return results;
    }

    private @Nullable IdGenerator generator(IdCandidate candidate) {
        return generators.get(candidate.name());
    }

    private Inserts inserts(IdCandidate candidate) {
        return new Inserts(servers, candidate, generator(candidate));
    }

    private List<IdCandidate> inDatabase(boolean wanted) {
        return candidates.stream()
                .filter(candidate -> candidate instanceof DatabaseCandidate == wanted)
                .toList();
    }

    private static void inRounds(String what, int rounds, List<IdCandidate> all, Turn turn) throws Exception {
        for (int round = 0; round < rounds; round++) {
            say("%s, round %d of %d".formatted(what, round + 1, rounds));
            for (IdCandidate candidate : Rounds.order(all, round)) {
                turn.take(candidate);
            }
        }
    }

    private void once(String what, Turn turn) throws Exception {
        say(what);
        for (IdCandidate candidate : candidates) {
            turn.take(candidate);
        }
    }

    private static void say(String what) {
        System.err.println("ids: " + what);
    }

    private void timeIds(IdCandidate candidate) throws SQLException {
        int ids = candidate.limit(sizes).ids();
        microsPerId(candidate, Math.max(1, ids / WARM_UP));
        results.microsPerId.add(candidate.name(), microsPerId(candidate, ids));
    }

    private double microsPerId(IdCandidate candidate, int ids) throws SQLException {
        IdGenerator generator = generator(candidate);
        if (!(candidate instanceof DatabaseCandidate database)) {
            return microsPerId(Objects.requireNonNull(generator), ids);
        }
        long start = System.nanoTime();
        Sql.execute(connection, "SELECT count(%s) FROM generate_series(1, %d)".formatted(database.expression(), ids));
        return (System.nanoTime() - start) / 1e3 / ids;
    }

    private static double microsPerId(IdGenerator generator, int ids) throws SQLException {
        long used = 0;
        long start = System.nanoTime();
        if (generator instanceof LongIdGenerator numbers) {
            for (int i = 0; i < ids; i++) {
                used += numbers.nextLong();
            }
        } else {
            for (int i = 0; i < ids; i++) {
                used += generator.next().length();
            }
        }
        double micros = (System.nanoTime() - start) / 1e3 / ids;
        if (used == 0) {
            throw new IllegalStateException("ids that add up to nothing");
        }
        return micros;
    }

    private void insertInBulk(IdCandidate candidate) throws SQLException {
        Tables.create(connection, candidate);
        Inserts.Bulk bulk =
                inserts(candidate).inBulk(connection, candidate.limit(sizes).rows());
        results.bulkMicrosPerRow.add(candidate.name(), bulk.microsPerRow());
        results.bulkWalPerRow.add(candidate.name(), bulk.walBytesPerRow());
        results.idsMadeAgain.add(candidate.name(), bulk.madeAgain());
    }

    private void measureSize(IdCandidate candidate) throws SQLException {
        int rows = candidate.limit(sizes).rows();
        int bytesOfId = Tables.bytesOfId(connection, candidate);
        double table = Sql.number(connection, "SELECT pg_relation_size('%s')".formatted(candidate.table()));
        double index = Sql.number(connection, "SELECT pg_relation_size('%s')".formatted(candidate.index()));
        double density = fraction("SELECT avg_leaf_density FROM pgstatindex('%s')".formatted(candidate.index()));
        Inserts.Bulk later = inserts(candidate).inBulk(connection, rows / IdSizes.LATER);
        results.sizes.put(
                candidate.name(),
                new Results.Size(
                        rows,
                        bytesOfId,
                        table,
                        index,
                        density,
                        later.rows(),
                        pagesWritten(candidate, later.from()),
                        later.walBytesPerRow()));
    }

    /** Pages of the index that the log has records of, each counted once. */
    private double pagesWritten(IdCandidate candidate, String since) throws SQLException {
        return Sql.number(connection, """
                SELECT count(DISTINCT relblocknumber)
                  FROM pg_get_wal_block_info('%s', pg_current_wal_flush_lsn(), false)
                 WHERE relfilenode = pg_relation_filenode('%s') AND relforknumber = 0""".formatted(since, candidate.index()));
    }

    private void insertSingly(IdCandidate candidate) throws Exception {
        Inserts.Turn one = inserts(candidate).singly(connection, 1, sizes.turnMillis());
        Inserts.Turn eight = inserts(candidate).singly(connection, 8, sizes.turnMillis());
        results.rowsPerSecondByOne.add(candidate.name(), one.rowsPerSecond());
        results.rowsPerSecondByEight.add(candidate.name(), eight.rowsPerSecond());
        results.singleWalPerRow.add(candidate.name(), one.walBytesPerRow());
    }

    private void measureOrder(IdCandidate candidate) throws SQLException {
        results.orders.put(candidate.name(), new Results.Order(shareInOrder(candidate, 1), shareInOrder(candidate, 8)));
    }

    /**
     * The share of rows whose id is greater than that of the row inserted just before, among those that came over so many
     * connections.
     */
    private double shareInOrder(IdCandidate candidate, int connections) throws SQLException {
        return fraction("""
                SELECT avg((id > before)::integer)
                  FROM (SELECT id, lag(id) OVER (ORDER BY created_at) AS before FROM %s WHERE uid = %d) AS pairs
                 WHERE before IS NOT NULL""".formatted(candidate.table(), connections));
    }

    private double fraction(String sql) throws SQLException {
        return Double.parseDouble(Sql.text(connection, sql));
    }

    private void countDuplicates(IdCandidate candidate) throws Exception {
        int ids = candidate.limit(sizes).drawn();
        if (candidate instanceof JavaCandidate java) {
            results.duplicates.put(java.name(), Duplicates.inJava(java, servers.settings(java), ids));
            if (java.numberedByHardware()) {
                results.duplicatesNumbered.put(
                        java.name(), Duplicates.inJavaNumbered(java, servers.settings(java), ids));
            }
        } else if (candidate instanceof DatabaseCandidate database) {
            results.duplicates.put(database.name(), Duplicates.inDatabase(servers, database, ids));
        }
    }

    @Override
    public void close() throws SQLException {
        for (IdGenerator generator : generators.values()) {
            generator.close();
        }
        connection.close();
    }
}
