/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

/** Hears how an adoption gets on. */
public interface AdoptListener {

    /** Hears nothing. */
    AdoptListener NONE = new AdoptListener() {};

    /** Reports how many rows have been copied, and the estimated total. */
    default void copied(long rows, long estimate) {}

    /** So many changes have been brought over by this run. */
    default void followed(long changes) {}

    /** The table takes no more writes. */
    default void closed(String table) {}

    /** The table takes writes again, since it could not be finished. */
    default void opened(String table) {}

    /** The table could neither be finished nor opened. */
    default void leftClosed(String table) {}
}
