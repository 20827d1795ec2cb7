/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.util.List;

/**
 * The result of a backfill.
 *
 * @param claimed how many rows can be found now, those of earlier runs included
 * @param refused how many cannot, those of earlier runs included
 * @param reasons why not, for the first of this run
 */
public record BackfillReport(long claimed, long refused, List<String> reasons) {

    /** Whether every row can be found. */
    public boolean isComplete() {
        return refused == 0;
    }
}
