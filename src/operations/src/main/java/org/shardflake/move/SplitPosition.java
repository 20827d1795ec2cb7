/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.apiguardian.api.API.Status.EXPERIMENTAL;

import org.apiguardian.api.API;

/**
 * The position at which a standby stopped after it was cut off from its primary.
 *
 * @param lsn it has everything that was committed before, and nothing after, in bytes of the primary's log
 * @param nextXid no transaction with this number or a later one was committed there
 * @param started when the standby's server was started
 */
@API(status = EXPERIMENTAL)
public record SplitPosition(long lsn, long nextXid, String started) {

    /** The position as PostgreSQL writes it. */
    String asLsn() {
        return "%X/%X".formatted(lsn >>> 32, lsn & 0xFFFFFFFFL);
    }
}
