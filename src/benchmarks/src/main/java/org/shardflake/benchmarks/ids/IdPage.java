/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import org.shardflake.benchmarks.ids.ClockTrials.ClockTrial;
import org.shardflake.benchmarks.ids.IdCandidate.DatabaseCandidate;
import org.shardflake.benchmarks.ids.Results.Goals;
import org.shardflake.benchmarks.report.BarChart;
import org.shardflake.benchmarks.report.Figures;
import org.shardflake.benchmarks.report.Interval;
import org.shardflake.benchmarks.report.Report;
import org.shardflake.benchmarks.report.Rounds;
import org.shardflake.benchmarks.report.Sizing;

/** The page about ids. */
final class IdPage {

    private static final long GAP_WORTH_MENTIONING = 200;

    private final Results results;
    private final IdSizes sizes;

    private final Column duplicates;
    private final Column stepBack;
    private final Column stand;

    private IdPage(Results results, IdSizes sizes) {
        this.results = results;
        this.sizes = sizes;
        duplicates =
                new Column("Duplicates, 16 sessions", candidate -> duplicates(results.duplicates, candidate.name()));
        stepBack = new Column(
                "Clock steps back 1 s", candidate -> outcome(clock(candidate).stepBack()));
        stand = new Column(
                "Clock stands 1 s", candidate -> outcome(clock(candidate).stand()));
    }

    static Report of(Results results, IdSizes sizes, String machine, Sizing sizing) {
        return new IdPage(results, sizes).write(machine, sizing);
    }

    private Report write(String machine, Sizing sizing) {
        Report report = new Report("Ids: every scheme that people come from");
        report.paragraph("""
                Each scheme fills a table of its own on one server, in one run, in interleaved rounds that each begin with
                another scheme: %d of bulk inserts, %d of single inserts and of making ids. Of the latter, schemes whose ids the
                database makes have rounds of their own, since Java compiles its loops while they run and would take the database a
                core. Figures are medians, with the least and the greatest in parentheses. What each scheme is and needs is in [Ids of other schemes](../guide/schemes.md). The server has
                `wal_level` logical, as moves need it, and neither autovacuum nor timed checkpoints.
                """.formatted(sizes.rounds(), sizes.fastRounds()));
        report.made(sizing, machine + ".");
        goals(report);
        glance(report);
        making(report);
        inserting(report);
        storing(report);
        repeating(report);
        caveats(report);
        return report;
    }

    private void goals(Report report) {
        report.section("Goals")
                .paragraph("Ratios are Shardflake's figure divided by the other's, round by round.")
                .targets(Goals.of(results));
    }

    /** One column of a table: what it says about a candidate. */
    private record Column(String header, Function<IdCandidate, String> cell) {}

    private void table(Report report, Column... columns) {
        List<String> headers = new ArrayList<>(List.of("Scheme"));
        List.of(columns).forEach(column -> headers.add(column.header()));
        List<List<String>> rows = new ArrayList<>();
        for (IdCandidate candidate : results.candidates()) {
            List<String> row = new ArrayList<>(List.of(label(candidate)));
            List.of(columns).forEach(column -> row.add(column.cell().apply(candidate)));
            rows.add(row);
        }
        report.table(headers, rows);
    }

    private static String label(IdCandidate candidate) {
        return isOurs(candidate) ? "**" + candidate.name() + "**" : candidate.name();
    }

    private static boolean isOurs(IdCandidate candidate) {
        return candidate.name().equals(Candidates.SHARDFLAKE);
    }

    private static Column median(String header, Rounds rounds) {
        return new Column(
                header, candidate -> Figures.number(rounds.of(candidate.name()).median()));
    }

    private static Column spread(String header, Rounds rounds) {
        return new Column(header, candidate -> rounds.of(candidate.name()).toString());
    }

    private Column size(String header, ToDoubleFunction<Results.Size> figure) {
        return new Column(header, candidate -> Figures.number(figure.applyAsDouble(size(candidate))));
    }

    private Results.Size size(IdCandidate candidate) {
        return Results.get(results.sizes, candidate.name());
    }

    private void glance(Report report) {
        report.section("All at a glance").paragraph("""
                        *In order* is the share of rows, among those inserted row by row, whose id is greater than that of the row
                        inserted just before, by a column whose `DEFAULT` is `clock_timestamp()`.
                        """);
        table(
                report,
                size("Bytes of an id", Results.Size::bytesOfId),
                median("Time per id, µs", results.microsPerId),
                median("Inserts/s, 1 connection", results.rowsPerSecondByOne),
                median("Inserts/s, 8 connections", results.rowsPerSecondByEight),
                median("Bulk insert, µs a row", results.bulkMicrosPerRow),
                size("Table, bytes a row", size -> size.tableBytes() / size.rows()),
                size("Index, bytes a row", Results.Size::indexBytesPerRow),
                size("Index pages written for 1 % more rows", Results.Size::laterPages),
                median("WAL, bytes a row, bulk", results.bulkWalPerRow),
                duplicates,
                stepBack,
                stand,
                new Column(
                        "In order, 1 connection",
                        candidate -> percent(order(candidate).one())),
                new Column(
                        "In order, 8 connections",
                        candidate -> percent(order(candidate).eight())));
    }

    private void making(Report report) {
        report.section("Time per id").paragraph("""
                        Ids made one after the other: in one SQL statement by schemes that live in the database, whose commit does
                        not wait for the disk here, and by a loop in Java by the others, each kind in rounds of its own. The latter's figures leave out the trip
                        to the database, and include writing the id as text where the scheme has no other form. The ticket servers' include the trip to them and a commit
                        there. Those of `snowflake` and `uniqueid` are the limits of their layouts, 4096 and 64 ids in a
                        millisecond.
                        """);
        table(
                report,
                new Column("Made in", candidate -> candidate instanceof DatabaseCandidate ? "the database" : "Java"),
                new Column(
                        "Ids in a round",
                        candidate -> Figures.number(candidate.limit(sizes).ids())),
                spread("µs", results.microsPerId),
                new Column(
                        "Shardflake's as a part of it",
                        candidate -> results.microsPerId
                                .ratio(Candidates.SHARDFLAKE, candidate.name())
                                .toString()));
        BarChart chart = new BarChart("Time per id", "microseconds, less is better");
        results.candidates().stream()
                .filter(candidate -> candidate.limit(sizes).equals(sizes))
                .forEach(candidate ->
                        chart.bar(candidate.name(), results.microsPerId.of(candidate.name()), isOurs(candidate)));
        report.chart("ids-time.svg", chart)
                .paragraph("The chart leaves out `tickets` and `uniqueid`, beside which the others would not be seen.");
    }

    private BarChart chart(String title, String unit, Rounds rounds) {
        BarChart chart = new BarChart(title, unit);
        for (IdCandidate candidate : results.candidates()) {
            chart.bar(candidate.name(), rounds.of(candidate.name()), isOurs(candidate));
        }
        return chart;
    }

    private BarChart chart(BarChart chart, ToDoubleFunction<IdCandidate> figure) {
        for (IdCandidate candidate : results.candidates()) {
            double value = figure.applyAsDouble(candidate);
            chart.bar(candidate.name(), new Interval(value, value, value), isOurs(candidate));
        }
        return chart;
    }

    private void inserting(Report report) {
        report.section("Inserts").paragraph("""
                        Row by row: a prepared `INSERT` for each row, committed by itself, with fsync, into the table that the
                        bulk insert has filled, %d ms a turn. Ids of the database come from the column's `DEFAULT` and back with
                        `RETURNING`; those made in Java are sent along. All connections of a scheme share one generator. A
                        checkpoint goes before each turn; WAL is counted over 1 connection and includes the pages that go to
                        the log whole after it.
                        """.formatted(sizes.turnMillis()));
        table(
                report,
                spread("Rows/s, 1 connection", results.rowsPerSecondByOne),
                spread("Rows/s, 8 connections", results.rowsPerSecondByEight),
                spread("WAL, bytes a row", results.singleWalPerRow),
                new Column(
                        "Shardflake's rate as a part of it, 8 connections",
                        candidate -> results.rowsPerSecondByEight
                                .ratio(Candidates.SHARDFLAKE, candidate.name())
                                .toString()));
        report.chart(
                "ids-inserts.svg",
                chart(
                        "Single-row inserts over 8 connections",
                        "rows a second, more is better",
                        results.rowsPerSecondByEight));
        report.paragraph("""
                In bulk: one transaction, right after a checkpoint, into an empty table with its primary key. One
                `INSERT` from `generate_series` where the database makes the ids; where Java does, an `INSERT` of 10,000 rows from
                an array for each 10,000 ids, made meanwhile. (`COPY` is not used: it packs rows in the log, so that bytes would not compare.)
                *Made again* is how many ids of a round were there already and had to be replaced.
                """);
        table(
                report,
                size("Rows", Results.Size::rows),
                spread("µs a row", results.bulkMicrosPerRow),
                spread("WAL, bytes a row", results.bulkWalPerRow),
                spread("Made again", results.idsMadeAgain));
    }

    private void storing(Report report) {
        report.section("Size").paragraph("""
                        After the bulk insert: `pg_relation_size` of the table and of its primary key, and from `pgstatindex` how
                        full the key's leaves are. A row has an id, a `bigint`, a short text and a time. Then 1 % more rows in
                        one transaction after a checkpoint: *pages written* counts the different pages of the index that the log
                        has records of (`pg_get_wal_block_info`), so it is exact, and what the next checkpoint writes to disk.
                        """);
        table(
                report,
                new Column("Type", candidate -> "`" + candidate.type().column() + "`"),
                size("Bytes of an id", Results.Size::bytesOfId),
                size("Rows", Results.Size::rows),
                size("Table, MB", size -> size.tableBytes() / 1e6),
                size("Index, MB", size -> size.indexBytes() / 1e6),
                size("Index, bytes a row", Results.Size::indexBytesPerRow),
                size("Leaves full, %", Results.Size::leafDensity),
                size("Rows added", Results.Size::laterRows),
                size("Index pages written", Results.Size::laterPages),
                size("WAL, bytes a row added", Results.Size::laterWalPerRow));
        report.chart(
                "ids-index.svg",
                chart(
                        new BarChart("Index size", "bytes a row, less is better"),
                        candidate -> size(candidate).indexBytesPerRow()));
    }

    private void repeating(Report report) {
        report.section("Duplicates").paragraph("""
                        *16 sessions*: each makes its part of the ids as fast as it can, all at once. In the database these are
                        sessions with one statement each on one sequence; in Java 16 generators, numbered as their scheme numbers
                        16 processes of one machine. *Numbered by hand*: the same with 16 different numbers given to generators
                        that otherwise take theirs from the hardware, and so all the same. *Clock*: one generator is asked for
                        100 ids each millisecond, and after %d ms its clock steps back by 1 s, or stands for 1 s; then it is set
                        right. Refused calls made no id but an error.
                        """.formatted(sizes.clockMillis()));
        table(
                report,
                new Column(
                        "Ids",
                        candidate -> count(Results.get(results.duplicates, candidate.name())
                                .ids())),
                duplicates,
                new Column(
                        "Numbered by hand",
                        candidate -> results.duplicatesNumbered.containsKey(candidate.name())
                                ? duplicates(results.duplicatesNumbered, candidate.name())
                                : ""),
                stepBack,
                stand,
                new Column("Clock", candidate -> clock(candidate).clock()));
        report.chart(
                "ids-duplicates.svg",
                chart(
                        new BarChart("Duplicates in all trials", "ids that had been made before, less is better")
                                .logarithmic(),
                        candidate -> (double) results.allDuplicates(candidate.name())));
    }

    private static String duplicates(Map<String, Duplicates.Outcome> outcomes, String candidate) {
        return count(Results.get(outcomes, candidate).duplicates());
    }

    private static String count(long number) {
        return String.format(Locale.ROOT, "%,d", number);
    }

    private ClockTrials.Outcomes clock(IdCandidate candidate) {
        return Results.get(results.clocks, candidate.name());
    }

    /** The outcome in words: {@code 0}, or {@code 512 duplicates}, or {@code 0, refuses 1,001 calls, 1.0 s without ids}. */
    static String outcome(ClockTrial.Outcome outcome) {
        StringBuilder text = new StringBuilder(count(outcome.duplicates()));
        if (outcome.duplicates() > 0) {
            text.append(outcome.duplicates() == 1 ? " duplicate" : " duplicates");
        }
        if (outcome.failures() > 0) {
            text.append(", refuses ").append(count(outcome.failures())).append(" calls");
        }
        if (outcome.longestGapMillis() >= GAP_WORTH_MENTIONING) {
            text.append(String.format(
                    Locale.ROOT,
                    outcome.failures() > 0 ? ", %.1f s without ids" : ", waits %.1f s",
                    outcome.longestGapMillis() / 1e3));
        }
        return text.toString();
    }

    private Results.Order order(IdCandidate candidate) {
        return Results.get(results.orders, candidate.name());
    }

    static String percent(double share) {
        // Rounded down, so that 100 % means all.
        return String.format(Locale.ROOT, "%.1f %%", Math.floor(share * 1000) / 10);
    }

    private void caveats(Report report) {
        report.section("What to bear in mind")
                .list(List.of(
                        "Client and server share the machine's cores: rates are for comparing, not for planning.",
                        "`tickets` and `uniqueid` can make few ids in the time that the others take; they are measured with "
                                + "fewer, as the tables say, and sizes are compared by row.",
                        "`instagram` is the function as published, `uuidv4` and `uuidv7` are PostgreSQL's own; the other "
                                + "schemes are as the module `shardflake-schemes` has them.",
                        "`objectid` has 12 bytes, for which PostgreSQL has no type: `bytea` adds one. `flake` has 16, which "
                                + "`uuid` takes. The 8 bytes of `uniqueid` are a signed `bigint`.",
                        "*Clock* says which one was moved: the one that a function reads, by its hook. `uuidv7()` has no hook, so "
                                + "the same rule is tried in Java.",
                        "Random bits come from Java's `SecureRandom`, or from PostgreSQL.",
                        "Where rows of `shardflake` come one by one and more than 3 ms apart, each draw moves the sequence "
                                + "to the clock, which takes a record in the log that the others do not have."));
    }
}
