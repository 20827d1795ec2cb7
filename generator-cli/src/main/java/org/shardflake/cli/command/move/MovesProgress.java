/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.move;

import java.io.PrintWriter;
import java.util.Locale;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.shardflake.cli.output.Amounts;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.parallel.MoveEstimate;
import org.shardflake.move.parallel.MoveEstimate.State;
import org.shardflake.move.parallel.MoveRequest;

/** Reports the progress of several moves on stderr, in one line for all of them every five seconds; silent for a single move. */
final class MovesProgress implements AutoCloseable {

    private static final int SECONDS = 5;

    private final PrintWriter err;
    private final MoveEstimate estimate;
    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor(work -> {
        Thread thread = new Thread(work, "shardflake progress");
        thread.setDaemon(true);
        return thread;
    });

    private final Future<?> ticking;

    MovesProgress(PrintWriter err, MoveSettings settings) {
        this.err = err;
        this.estimate = new MoveEstimate(settings);
        this.ticking = clock.scheduleAtFixedRate(this::tell, SECONDS, SECONDS, TimeUnit.SECONDS);
    }

    MoveEstimate.Part add(MoveRequest move, long bytes) {
        return estimate.add(move, bytes);
    }

    boolean areSeveral() {
        return state().moves() > 1;
    }

    private State state() {
        return estimate.state(System.nanoTime());
    }

    private void tell() {
        State state = state();
        if (state.moves() > 1 && state.running() > 0) {
            err.println(text(state));
        }
    }

    static String text(State state) {
        int waiting = state.moves() - state.ended() - state.running();
        return String.format(
                Locale.ROOT,
                "%s moves: %s done, %s in progress%s; copied %s of %s; %,d of %,d shards cut over; %s",
                state.moves(),
                state.ended(),
                state.running(),
                waiting > 0 ? ", %s waiting".formatted(waiting) : "",
                Amounts.bytes(state.copied()),
                Amounts.bytes(state.bytes()),
                state.cutOver(),
                state.shards(),
                Stream.of(state.left().map(left -> "about %s left".formatted(Amounts.duration(left))))
                        .map(left -> left.orElse("too early to say how long it takes"))
                        .findFirst()
                        .orElseThrow());
    }

    @Override
    public void close() {
        ticking.cancel(false);
        clock.shutdownNow();
    }
}
