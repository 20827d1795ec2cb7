/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Array;
import org.jspecify.annotations.Nullable;

/** SQL that makes a server take a shard's writes, with its sequences going on where those of another server stopped. */
final class OpenShard {

    private OpenShard() {}

    /**
     * @param names of the sequences, null for none
     * @param values what each of them gave last
     */
    static String sql(int shard, @Nullable Array names, @Nullable Array values) {
        String positions = names == null || values == null
                ? ""
                : "SELECT shardflake.set_sequence_positions(%d, %s::name[], %s::bigint[]);\n"
                        .formatted(shard, Sql.quote(names.toString()), Sql.quote(values.toString()));
        return positions + "SELECT shardflake.unfence_shard(%d);\n".formatted(shard);
    }
}
