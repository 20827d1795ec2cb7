/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.util.List;
import org.shardflake.ShardSet;
import org.shardflake.move.PreflightCheck.Outcome;

/**
 * What a move would be, and whether it can be made.
 *
 * @param tables whose rows would be copied
 * @param bytes of these tables with TOAST, without indexes
 * @param rows as PostgreSQL estimates them
 */
public record PreflightReport(
        String source, String target, ShardSet shards, int tables, long bytes, long rows, List<PreflightCheck> checks) {

    /** So fast is a copy on a plain machine over a plain network. */
    private static final long BYTES_PER_SECOND = 40L << 20;

    /** Whether no check failed. */
    public boolean passed() {
        return with(Outcome.FAILED).isEmpty();
    }

    /** The checks that came to this. */
    public List<PreflightCheck> with(Outcome outcome) {
        return checks.stream().filter(check -> check.outcome() == outcome).toList();
    }

    /** A rough guess of how long the copy takes. */
    public long estimatedSeconds() {
        return 1 + bytes / BYTES_PER_SECOND;
    }
}
