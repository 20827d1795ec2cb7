/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Array;
import org.jspecify.annotations.Nullable;
import org.shardflake.jdbc.Sql;

/** SQL that makes a server take a shard's writes, with its sequences going on where those of another server stopped. */
final class OpenShard {

    private OpenShard() {}

    /**
     * What can be done before it is known whether the server gets the shard, in a transaction that may be rolled back. {@link
     * #finishSql} is then done last.
     *
     * @param names of the sequences, null for none
     * @param values what each of them gave last
     */
    static String prepareSql(int shard, @Nullable Array names, @Nullable Array values) {
        String positions = names == null || values == null
                ? ""
                : "SELECT shardflake.set_sequence_positions(%d, %s::name[], %s::bigint[]);\n"
                        .formatted(shard, Sql.quote(names.toString()), Sql.quote(values.toString()));
        return positions + "SELECT shardflake.fence_tables(%d, false);\n".formatted(shard);
    }

    /**
     * Keeps what the server knows of the shard map, in the transaction that opens the shard there or closes it.
     *
     * @param epoch with which the shard is the server's, or no longer is
     */
    static String recordSql(int shard, long epoch, boolean here) {
        return "SELECT shardflake.record_placement(%d, %d, %b);\n".formatted(shard, epoch, here);
    }

    /** Lets the ids go on, which no rollback undoes. */
    static String finishSql(int shard) {
        return "SELECT shardflake.fence_ids(%d, false);\n".formatted(shard);
    }
}
