/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.io.IOException;
import java.sql.SQLException;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.shardflake.ShardSet;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;

/** A move from beginning to end, verification included. */
final class WholeMove {

    /** PostgreSQL 15 starts a subscription's worker this long after another one's start: wal_retrieve_retry_interval. */
    private static final int SECONDS_BETWEEN_WORKERS = 5;

    private WholeMove() {}

    /**
     * Moves shards by {@code move run}, and returns how many seconds the command took.
     *
     * @throws IllegalStateException if the command fails, or a shard is not on the target then
     */
    static double seconds(BenchmarkInstallation installation, ShardSet shards, String target)
            throws SQLException, IOException, InterruptedException {
        settle(installation);
        double seconds = installation
                .command()
                .run("move", "run", "--shards", shards.toString(), "--to", target)
                .seconds();
        ShardSet there = installation.shardsOf(target);
        if (!shards.stream().allMatch(there::contains)) {
            throw new IllegalStateException("of shards %s only %s are on %s".formatted(shards, there, target));
        }
        return seconds;
    }

    /** Lets no move pay for the one before. */
    static void settle(BenchmarkInstallation installation) throws SQLException, InterruptedException {
        installation.checkpoint();
        if (installation.servers().stream().anyMatch(server -> server.majorVersion() < 16)) {
            TimeUnit.SECONDS.sleep(SECONDS_BETWEEN_WORKERS + 1);
        }
    }

    /**
     * A command's line of output after each cutover.
     *
     * @param server that the shard is on now
     * @param pauseMillis how long the command says that writers waited, in whole milliseconds
     */
    record CutoverLine(int shard, String server, double pauseMillis) {

        private static final Pattern LINE = Pattern.compile("shard (\\d+) is on (\\S+), after a pause of (\\d+) ms.*");

        /** The cutover in a line of standard error, or nothing if the line is about something else. */
        static Optional<CutoverLine> parse(String line) {
            Matcher matcher = LINE.matcher(line);
            return matcher.matches()
                    ? Optional.of(new CutoverLine(
                            Integer.parseInt(matcher.group(1)), matcher.group(2), Double.parseDouble(matcher.group(3))))
                    : Optional.empty();
        }
    }
}
