/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

/** The behaviour of a generator whose clock steps back. */
public enum ClockStep {
    /** The scheme reads no clock. */
    NO_CLOCK("reads no clock"),
    /** The scheme refuses ids until the clock has caught up. */
    REFUSES("refuses until the clock has caught up"),
    /** The scheme continues from the last id, so that ids keep increasing. */
    COUNTS_ON("counts on, ids keep increasing"),
    /** Ids go back in time with the clock; other bits make repeated ids unlikely. */
    GOES_BACK("ids go back in time; other bits keep them apart"),
    /** Ids go back in time with the clock, and earlier ones can repeat. */
    REPEATS("ids go back in time and can repeat");

    private final String text;

    ClockStep(String text) {
        this.text = text;
    }

    @Override
    public String toString() {
        return text;
    }
}
