/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.load;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Optional;

/**
 * The numbers of rows that all sessions' statements have read and written, as PostgreSQL counts them: from zero after a crash, a failover or a
 * reset, and without dropped tables.
 *
 * @param inserted rows, also of transactions that were rolled back
 * @param read rows of tables, by sequential and index scans
 */
public record RowCounts(long inserted, long updated, long deleted, long read) {

    public static final RowCounts NONE = new RowCounts(0, 0, 0, 0);

    /** Reads a row of {@link LoadSampler#COUNTERS}. */
    public static RowCounts read(ResultSet row) throws SQLException {
        return new RowCounts(row.getLong(2), row.getLong(3), row.getLong(4), row.getLong(5));
    }

    /** Rows inserted, updated and deleted. */
    public long written() {
        return inserted + updated + deleted;
    }

    /** The difference from earlier counts; empty if it cannot be known because a count has fallen. */
    public Optional<RowCounts> since(RowCounts earlier) {
        RowCounts more = new RowCounts(
                inserted - earlier.inserted, updated - earlier.updated, deleted - earlier.deleted, read - earlier.read);
        boolean hasFallen = more.inserted < 0 || more.updated < 0 || more.deleted < 0 || more.read < 0;
        return hasFallen ? Optional.empty() : Optional.of(more);
    }

    public RowCounts plus(RowCounts other) {
        return new RowCounts(
                inserted + other.inserted, updated + other.updated, deleted + other.deleted, read + other.read);
    }
}
