/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import static org.apiguardian.api.API.Status.EXPERIMENTAL;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Locale;
import java.util.Optional;
import org.apiguardian.api.API;
import org.shardflake.jdbc.Plural;
import org.shardflake.move.parallel.MoveRequest;

/**
 * One decision of an {@link AutoRebalance}.
 *
 * @param move what it is about, if it is about a move
 * @param saw what it is based on
 */
@API(status = EXPERIMENTAL)
public record Decision(Instant time, Choice choice, Optional<MoveRequest> move, String saw, String why) {

    /** The decision of a round. */
    public enum Choice {
        /** Leave all shards where they are. */
        STAY,
        /** Wait, since something should be moved but not now. */
        WAIT,
        /** Move shards. */
        MOVE,
        /** Leave moved shards on their new servers. */
        KEEP,
        /** Move shards back. */
        TURN_BACK,
        /** Stop rebalancing. */
        STOP
    }

    Decision(Choice choice, String saw, String why) {
        this(now(), choice, Optional.empty(), saw, why);
    }

    Decision(Choice choice, MoveRequest move, String saw, String why) {
        this(now(), choice, Optional.of(move), saw, why);
    }

    private static Instant now() {
        return Instant.now().truncatedTo(ChronoUnit.SECONDS);
    }

    /** The decision as a line of a log. */
    @Override
    public String toString() {
        String what = choice.name().toLowerCase(Locale.ROOT).replace('_', ' ');
        String shards = move.map(
                        its -> " %s from %s to %s".formatted(Plural.shards(its.shards()), its.source(), its.target()))
                .orElse("");
        return "%s %s%s: %s%s".formatted(time, what, shards, saw.isEmpty() ? "" : saw + "; ", why);
    }
}
