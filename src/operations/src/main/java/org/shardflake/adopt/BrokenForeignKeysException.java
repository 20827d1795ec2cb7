/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.io.Serial;
import java.util.List;

/** Rows in the shards refer to rows that are not in their shard. */
public final class BrokenForeignKeysException extends AdoptException {

    @Serial
    private static final long serialVersionUID = 1L;

    private static final String NO_PARENT =
            "adopt the table that is referred to, by a key that brings rows that belong together to one shard; or correct the rows, or drop the foreign key";
    private static final String NO_REFERENCE =
            "insert the rows that the reference table lacks on its home, as with COPY, wait until all servers have them, and run the same command again";

    /** @param toReference whether all keys refer to reference tables, which adoptions do not fill */
    BrokenForeignKeysException(String table, List<String> keys, boolean toReference) {
        super(
                Kind.VERIFICATION,
                "with the rows of %s the shards have broken foreign keys: %s".formatted(table, String.join("; ", keys)),
                toReference ? NO_REFERENCE : NO_PARENT);
    }
}
