/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.session;

import java.sql.Array;
import org.jspecify.annotations.Nullable;
import org.shardflake.jdbc.Sql;

/** The SQL that makes a server accept a shard's writes, with sequences that continue where another server's stopped. */
public final class OpenShard {

    private OpenShard() {}

    /**
     * Opens a shard as far as possible before it is certain that the server gets it, in a transaction that may be rolled back. {@link
     * #finishSql} comes last.
     *
     * @param names the sequences, null for none
     * @param values the last value of each
     */
    public static String prepareSql(int shard, @Nullable Array names, @Nullable Array values) {
        String positions = names == null || values == null
                ? ""
                : "SELECT shardflake.set_sequence_positions(%s, %s::name[], %s::bigint[]);\n"
                        .formatted(shard, Sql.quote(names.toString()), Sql.quote(values.toString()));
        return positions + "SELECT shardflake.fence_tables(%s, false);\n".formatted(shard);
    }

    /**
     * Opens a shard where the catalog has it, whatever an interrupted attempt has left behind.
     *
     * @param names the sequences, null for none
     * @param values the last value of each
     * @param publishing SQL that publishes its changes, or empty
     */
    public static String whereItIsSql(
            int shard, long epoch, @Nullable Array names, @Nullable Array values, String publishing) {
        // Ids may already be running, if opening was interrupted at its end.
        return "SELECT shardflake.fence_ids(%s, true);\n".formatted(shard)
                + prepareSql(shard, names, values)
                + recordSql(shard, epoch, true)
                + publishing
                + finishSql(shard);
    }

    /**
     * Records a shard's place on the server, in the transaction that opens or closes the shard there.
     *
     * @param epoch the epoch with which the shard becomes the server's, or ceases to be
     */
    public static String recordSql(int shard, long epoch, boolean here) {
        return "SELECT shardflake.record_placement(%s, %s, %b);\n".formatted(shard, epoch, here);
    }

    /** Restarts the shard's ids; a rollback does not undo this. */
    public static String finishSql(int shard) {
        return "SELECT shardflake.fence_ids(%s, false);\n".formatted(shard);
    }
}
