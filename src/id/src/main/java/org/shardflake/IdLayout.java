/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import java.time.Instant;

/**
 * The layout of an id's bits, and the epoch that its time counts from.
 *
 * <pre>
 * 63      62                              23 22          10 9         0
 * sign=0  | milliseconds since the epoch    | shard (13)   | sequence (10)
 *         (41 bits with the sign bit)
 * </pre>
 *
 * <p>The static methods read a field of any {@code long} and allocate nothing. They treat all 64 bits as unsigned, so
 * a foreign id with its top bit set still decodes. Making an id is stricter: ids are positive, so the time runs out
 * after 2<sup>40</sup> milliseconds, at {@link #expires()}.
 *
 * <p>Immutable. An installation chooses its epoch once; {@link DeployedLayout} reads it from a database.
 *
 * @param epochMillis the epoch that the time in an id counts from, in UTC milliseconds since 1970
 */
public record IdLayout(long epochMillis) {

    /** The version of this arrangement of bits, as recorded in every database. */
    public static final int VERSION = 1;

    public static final int SEQUENCE_BITS = 10;
    public static final int SHARD_BITS = 13;

    public static final int MAX_SEQUENCE = (1 << SEQUENCE_BITS) - 1;
    public static final int MAX_SHARD = (1 << SHARD_BITS) - 1;

    /** The last millisecond after the epoch that a positive id can hold: 2<sup>40</sup> - 1. */
    public static final long MAX_ELAPSED_MILLIS = (1L << 40) - 1;

    /** The layout of an installation that did not choose an epoch: it counts from 2025-01-01T00:00:00Z. */
    public static final IdLayout DEFAULT = new IdLayout(1_735_689_600_000L);

    private static final int TIME_SHIFT = SHARD_BITS + SEQUENCE_BITS;
    /** The last epoch that a database accepts: the end of a day in 2243. */
    private static final long MAX_EPOCH_MILLIS = 8_639_999_999_999L;

    /** Refuses an epoch that no database accepts: before 1970, or in the far future. */
    public IdLayout {
        if (epochMillis < 0 || epochMillis > MAX_EPOCH_MILLIS) {
            throw new IllegalArgumentException("epoch %s is out of range 0..%s, UTC milliseconds (%s..%s)"
                    .formatted(epochMillis, MAX_EPOCH_MILLIS, Instant.EPOCH, Instant.ofEpochMilli(MAX_EPOCH_MILLIS)));
        }
    }

    /** The milliseconds from the epoch to the creation of the id: 0..2<sup>41</sup>-1. */
    public static long elapsedMillis(long id) {
        return id >>> TIME_SHIFT;
    }

    /** The shard in which the id was created: 0..8191. */
    public static int shard(long id) {
        return (int) (id >>> SEQUENCE_BITS) & MAX_SHARD;
    }

    /** The sequence number that distinguishes ids of the same millisecond and shard: 0..1023. */
    public static int sequence(long id) {
        return (int) id & MAX_SEQUENCE;
    }

    /** The epoch that the time in an id counts from. */
    public Instant epoch() {
        return Instant.ofEpochMilli(epochMillis);
    }

    /** The last instant for which an id can be created. */
    public Instant expires() {
        return Instant.ofEpochMilli(epochMillis + MAX_ELAPSED_MILLIS);
    }

    /** The time when the id was created, in UTC milliseconds since 1970. */
    public long timeMillis(long id) {
        return epochMillis + elapsedMillis(id);
    }

    /** The time when the id was created. */
    public Instant time(long id) {
        return Instant.ofEpochMilli(timeMillis(id));
    }

    /**
     * Encodes an id from these three fields.
     *
     * @param timeMillis UTC milliseconds since 1970
     * @throws IllegalArgumentException if a field is out of range, naming the range
     */
    public long encode(long timeMillis, int shard, int sequence) {
        checkRange("shard", shard, MAX_SHARD);
        checkRange("sequence", sequence, MAX_SEQUENCE);
        long elapsed = checkedElapsed(timeMillis);
        return elapsed << TIME_SHIFT | (long) shard << SEQUENCE_BITS | sequence;
    }

    /**
     * The smallest id that any shard can create in the millisecond of {@code time}.
     *
     * <p>With {@link #maxId} it selects by time through the primary key: {@code WHERE id BETWEEN min AND max}, both
     * ends included, each standing for a whole millisecond. Like the database's functions of these names, it accepts
     * any time: one before the epoch or after {@link #expires()} gives the bound at that end.
     */
    public long minId(Instant time) {
        return nearestElapsed(time) << TIME_SHIFT;
    }

    /**
     * The largest id that any shard can create in the millisecond of {@code time}; the counterpart of {@link #minId}.
     *
     * <p>Before the epoch it is -1, below every id.
     */
    public long maxId(Instant time) {
        return time.isBefore(epoch()) ? -1 : minId(time) | (1L << TIME_SHIFT) - 1;
    }

    private long nearestElapsed(Instant time) {
        if (time.isBefore(epoch())) {
            return 0;
        }
        return time.isAfter(expires()) ? MAX_ELAPSED_MILLIS : time.toEpochMilli() - epochMillis;
    }

    private long checkedElapsed(long timeMillis) {
        Instant time = Instant.ofEpochMilli(timeMillis);
        if (time.isBefore(epoch())) {
            throw new IllegalArgumentException(
                    "time %s is before the epoch %s; ids hold times %s".formatted(time, epoch(), usableTimes()));
        }
        if (time.isAfter(expires())) {
            throw new IllegalArgumentException("time %s is after %s, when ids of this epoch run out; ids hold times %s"
                    .formatted(time, expires(), usableTimes()));
        }
        return timeMillis - epochMillis;
    }

    private String usableTimes() {
        return epoch() + ".." + expires();
    }

    static int checkRange(String what, int value, int max) {
        if (value < 0 || value > max) {
            throw new IllegalArgumentException("%s %s is out of range 0..%s".formatted(what, value, max));
        }
        return value;
    }
}
