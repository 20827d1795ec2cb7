/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.util.Locale;

/** The result of the last comparison of a shard's source and target. */
public enum Verified {
    /** Not compared since the last cutover. */
    NOT_COMPARED,
    /** Found equal while one followed the other. */
    ONLINE,
    /** Found equal at the cutover. */
    AT_CUTOVER,
    /** Found different. */
    DIFFERENT;

    public static Verified of(String text) {
        return text.isEmpty() ? NOT_COMPARED : valueOf(text.replace(' ', '_').toUpperCase(Locale.ROOT));
    }

    /** The name used in the catalog and shown to people; empty if not compared. */
    @Override
    public String toString() {
        return this == NOT_COMPARED ? "" : name().replace('_', ' ').toLowerCase(Locale.ROOT);
    }
}
