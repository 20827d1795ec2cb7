/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.scheme;

/** The two forms of the ids of {@code uniqueid}. */
public enum UniqueIdMode {
    /** The bits of the time are reversed, so that consecutive ids are far apart. */
    SPREAD,
    /** Ids sort by time. */
    TIME_SEQUENTIAL
}
