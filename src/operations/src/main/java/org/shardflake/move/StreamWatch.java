/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.SQLException;
import java.time.Duration;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.exception.StreamLostException;
import org.shardflake.move.internal.session.RetryDeadline;
import org.shardflake.replication.StreamTrouble;

/** Watches a stream during a wait, reports its problems, and ends the wait if they persist. For one thread. */
final class StreamWatch {

    /** The time in which a problem may pass; PostgreSQL restarts a failed worker after 5 seconds by default. */
    private static final Duration PASSES = Duration.ofSeconds(15);

    private final Stream stream;
    private final RetryDeadline patience;
    private final RetryDeadline trouble = new RetryDeadline(PASSES);
    private final Duration duration;
    private final MoveListener listener;
    private long confirmed = -1;
    private long errors;
    private String told = "";
    private boolean toldOfLag;

    /**
     * @param duration how long the stream may stand still without a problem
     */
    StreamWatch(Stream stream, Duration duration, MoveListener listener) throws SQLException {
        this.stream = stream;
        this.duration = duration;
        this.patience = new RetryDeadline(duration);
        this.listener = listener;
        this.errors = stream.errors();
    }

    /**
     * Checks the stream; must be called about once a second.
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
            tellOfLag();
        } else {
            if (!found.what().equals(told)) {
                told = found.what();
                listener.streamFails(told);
            }
            if (hasFailed(found)) {
                String message = "%s does not follow %s: %s"
                        .formatted(
                                stream.subscriber().name(), stream.publisher().name(), told);
                throw found.outlook() == StreamTrouble.Outlook.ENDING
                        ? new StreamLostException(message)
                        : new MoveException(message);
            }
        }
        if (patience.isOver()) {
            throw new MoveException("%s has made no progress in following %s for %s s; look at its log, and at status"
                    .formatted(stream.subscriber().name(), stream.publisher().name(), duration.toSeconds()));
        }
    }

    /** Reports the lag once only, since it differs at every reading. */
    private void tellOfLag() throws SQLException {
        if (!toldOfLag) {
            toldOfLag = true;
            listener.waits("%s follows %s, and has %s of its log left to receive"
                    .formatted(
                            stream.subscriber().name(),
                            stream.publisher().name(),
                            Sql.text(
                                    stream.publisher().control(),
                                    "SELECT pg_size_pretty(pg_current_wal_lsn() - '0/0' - ?::numeric)",
                                    confirmed)));
        }
    }

    private boolean hasFailed(StreamTrouble found) {
        return switch (found.outlook()) {
            case ENDING, LASTING -> true;
            case PASSING -> trouble.isOver();
            case WAITING -> {
                trouble.restart();
                yield false;
            }
        };
    }
}
