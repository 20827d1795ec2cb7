/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.preflight;

import java.util.ArrayList;
import java.util.List;
import org.shardflake.ShardSet;
import org.shardflake.preflight.PreflightCheck.Outcome;

/**
 * The preview of a move and whether it is possible.
 *
 * @param tables the tables whose rows would be copied
 * @param bytes of these tables with TOAST, without indexes
 * @param rows as PostgreSQL estimates them
 */
public record PreflightReport(
        String source, String target, ShardSet shards, int tables, long bytes, long rows, List<PreflightCheck> checks) {

    /** The rate of a copy on an ordinary machine over an ordinary network. */
    private static final long BYTES_PER_SECOND = 40L << 20;

    /** The report with one more check. */
    public PreflightReport with(PreflightCheck check) {
        List<PreflightCheck> all = new ArrayList<>(checks);
        all.add(check);
        return new PreflightReport(source, target, shards, tables, bytes, rows, List.copyOf(all));
    }

    /** Whether all checks have passed. */
    public boolean passed() {
        return with(Outcome.FAILED).isEmpty();
    }

    /** The checks with this outcome. */
    public List<PreflightCheck> with(Outcome outcome) {
        return checks.stream().filter(check -> check.outcome() == outcome).toList();
    }

    /** A rough guess of how long the copy takes. */
    public long estimatedSeconds() {
        return 1 + bytes / BYTES_PER_SECOND;
    }
}
