/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.shardflake.ShardSet;
import org.shardflake.benchmarks.installation.Installation;
import org.shardflake.benchmarks.moves.WholeMove.CutoverLine;

/** Cutovers of shards from db1 to db2 and back in turn, and what the command says of them. Not thread-safe. */
final class CutoverTurns {

    private final Installation installation;
    private final List<Double> said = new ArrayList<>();
    private int attemptsGivenUp;
    private boolean there;

    CutoverTurns(Installation installation) {
        this.installation = installation;
    }

    /** Starts the move of so many shards, and waits for its copy. */
    void startMove(int shards) throws IOException, InterruptedException {
        installation.command().run("move", "start", "--shards", first(shards), "--to", "db2");
    }

    /** Cuts the first shards over, all in the same direction, each of them probed. */
    void turn(int shards, RollingProbe probe) throws IOException, InterruptedException {
        probe.begin(shards);
        // For long enough that every probe has written before the first cutover.
        TimeUnit.MILLISECONDS.sleep(200);
        installation
                .command()
                .run(line -> heard(line, probe), "move", there ? "reverse" : "cutover", "--shards", first(shards));
        probe.end();
        there = !there;
    }

    private void heard(String line, RollingProbe probe) {
        if (line.contains("gave itself up")) {
            attemptsGivenUp++;
        }
        CutoverLine.parse(line).ifPresent(cutover -> {
            try {
                probe.ended(cutover.shard());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("interrupted", e);
            }
            said.add(cutover.pauseMillis());
        });
    }

    private static String first(int shards) {
        return ShardSet.range(0, shards - 1).toString();
    }

    /** The pauses as the command says them, in milliseconds. */
    List<Double> said() {
        return said;
    }

    /** How many attempts ended without a cutover. */
    int attemptsGivenUp() {
        return attemptsGivenUp;
    }
}
