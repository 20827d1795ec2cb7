/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

/**
 * The state of an adoption after a run.
 *
 * @param table with its schema
 * @param copiedRows how many rows have been copied, by all runs
 * @param changes how many changes this run brought over since
 * @param comparedRows how many rows this run found equal in the table and the shards; -1 if it did not compare them
 */
public record AdoptReport(
        String table, String into, AdoptState state, int shards, long copiedRows, long changes, long comparedRows) {

    AdoptReport with(long otherChanges) {
        return new AdoptReport(table, into, state, shards, copiedRows, otherChanges, comparedRows);
    }
}
