/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.util.Locale;

/** How source and target of a shard were last found to agree. */
public enum Verified {
    /** They were not compared since the last cutover. */
    NOT_COMPARED,
    /** They agreed while one followed the other. */
    ONLINE,
    /** They agreed at the cutover. */
    AT_CUTOVER,
    /** They differed. */
    DIFFERENT;

    static Verified of(String text) {
        return text.isEmpty() ? NOT_COMPARED : valueOf(text.replace(' ', '_').toUpperCase(Locale.ROOT));
    }

    /** As the catalog has it, and people read it; empty when not compared. */
    @Override
    public String toString() {
        return this == NOT_COMPARED ? "" : name().replace('_', ' ').toLowerCase(Locale.ROOT);
    }
}
