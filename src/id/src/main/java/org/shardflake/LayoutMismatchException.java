/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import java.io.Serial;

/** The ids of a database have an unexpected layout, so that reading or creating them here would give wrong times. */
public final class LayoutMismatchException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    /** The property that differs. */
    public enum Property {
        /** The epoch expected by this program differs from the one recorded in the database. */
        EPOCH,
        /** The layout version known to this program differs from the one recorded in the database. */
        VERSION,
        /** The epoch recorded in the database differs from the one that its functions use. */
        EPOCH_FUNCTION
    }

    private final String database;
    private final Property property;
    private final long expected;
    private final long found;

    LayoutMismatchException(String message, String database, Property property, long expected, long found) {
        super(Kind.PRECONDITION, message, null, null);
        this.database = database;
        this.property = property;
        this.expected = expected;
        this.found = found;
    }

    /** The name of the database. */
    public String database() {
        return database;
    }

    public Property property() {
        return property;
    }

    /** The expected value: UTC milliseconds for an epoch, otherwise a layout version. */
    public long expected() {
        return expected;
    }

    /** The actual value. */
    public long found() {
        return found;
    }
}
