/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.shardflake.adopt.AdoptListener;
import org.shardflake.adopt.ReferenceComparison;
import org.shardflake.adopt.SliceReport;
import org.shardflake.cli.output.Amounts;
import org.shardflake.jdbc.Plural;

/** Reports the progress of an adoption, with a line every few seconds and one for each step. */
final class AdoptProgress implements AdoptListener {

    private static final long NANOS_BETWEEN_LINES = TimeUnit.SECONDS.toNanos(5);

    private final PrintWriter err;
    private long nextLine = System.nanoTime() + NANOS_BETWEEN_LINES;
    private int left;
    private int rehearsed;

    AdoptProgress(PrintWriter err) {
        this.err = err;
    }

    @Override
    public void copied(long rows, long estimate) {
        print(String.format(Locale.ROOT, "copied %,d of about %s", rows, Plural.of(estimate, "row")));
    }

    @Override
    public void followed(long changes) {
        print("brought %s over".formatted(Plural.of(changes, "change")));
    }

    @Override
    public void left(SliceReport report) {
        left++;
        print("%s left, the last of them shard %s in %s ms"
                .formatted(Amounts.shards(left), report.shard(), report.pause().toMillis()));
    }

    @Override
    public void rehearsed(SliceReport report) {
        rehearsed++;
        print("%s could leave, the last of them shard %s in %s ms"
                .formatted(
                        Amounts.shards(rehearsed),
                        report.shard(),
                        report.pause().toMillis()));
    }

    @Override
    public void cameBack(SliceReport report) {
        left++;
        print("%s came back, the last of them shard %s in %s ms"
                .formatted(Amounts.shards(left), report.shard(), report.pause().toMillis()));
    }

    /** Returns the number of shards that have left the old database, or come back. */
    int left() {
        return left;
    }

    private void print(String line) {
        if (System.nanoTime() - nextLine >= 0) {
            nextLine = System.nanoTime() + NANOS_BETWEEN_LINES;
            err.println(line);
        }
    }

    @Override
    public void repaired(List<String> problems, boolean someLeft) {
        problems.forEach(problem -> err.printf("put back: %s%n", problem));
        if (someLeft) {
            err.println(
                    "warning: in the meantime, the old database may have accepted writes to shards that have left, which the shards do not have");
        }
    }

    @Override
    public void brokenForeignKey(String key) {
        err.printf("warning: NOT VALID, and broken: %s%n", key);
    }

    @Override
    public void onlyInReference(ReferenceComparison table) {
        table.difference()
                .ifPresent(rows -> err.printf("warning: %s lacks rows, which stay: %s%n", table.table(), rows));
    }

    @Override
    public void lookupValuesStay() {
        err.println(
                "warning: lookups keep the values of these rows, and do not see what the old database changes: when the shards have left again, compare them by shardflake lookup verify");
    }

    @Override
    public void opened(String table) {
        err.printf("%s takes writes again%n", table);
    }

    @Override
    public void leftClosed(String table) {
        err.printf("%s is still closed to writes: open it with --reopen, or run the same command again%n", table);
    }

    @Override
    public void closed(String table) {
        err.printf("%s is closed to writes; copying the last changes, then comparing%n", table);
    }
}
