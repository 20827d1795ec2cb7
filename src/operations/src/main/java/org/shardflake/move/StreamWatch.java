/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.SQLException;
import java.time.Duration;

/** Watches a stream during a wait, reports its problems, and ends the wait if they persist. For one thread. */
final class StreamWatch {

    /** A failed worker is restarted after 5 seconds, unless the server is configured otherwise. */
    private static final Duration PASSES = Duration.ofSeconds(15);

    private final Stream stream;
    private final Patience patience;
    private final Patience trouble = new Patience(PASSES);
    private final Duration duration;
    private final MoveListener listener;
    private long confirmed = -1;
    private long errors;
    private String told = "";

    /**
     * @param duration how long the stream may stand still without a problem
     */
    StreamWatch(Stream stream, Duration duration, MoveListener listener) throws SQLException {
        this.stream = stream;
        this.duration = duration;
        this.patience = new Patience(duration);
        this.listener = listener;
        this.errors = stream.errors();
    }

    /**
     * Checks the stream; call it about once a second.
     *
     * @throws MoveException if the stream stands still or cannot continue
     */
    void look() throws SQLException {
        long now = stream.confirmed();
        if (now != confirmed) {
            confirmed = now;
            errors = stream.errors();
            patience.restart();
            trouble.restart();
        }
        StreamTrouble found = stream.trouble(errors).orElse(null);
        if (found == null) {
            trouble.restart();
        } else {
            if (!found.what().equals(told)) {
                told = found.what();
                listener.streamFails(told);
            }
            if (hasFailed(found)) {
                throw new MoveException("%s does not follow %s: %s"
                        .formatted(
                                stream.subscriber().name(), stream.publisher().name(), told));
            }
        }
        if (patience.isOver()) {
            throw new MoveException(
                    "%s has not got any further in following %s for %s s; look at its log, and at status"
                            .formatted(
                                    stream.subscriber().name(),
                                    stream.publisher().name(),
                                    duration.toSeconds()));
        }
    }

    private boolean hasFailed(StreamTrouble found) {
        return switch (found.outlook()) {
            case LASTING -> true;
            case PASSING -> trouble.isOver();
            case WAITING -> {
                trouble.restart();
                yield false;
            }
        };
    }
}
