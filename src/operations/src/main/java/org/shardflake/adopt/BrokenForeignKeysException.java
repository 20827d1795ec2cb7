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

    BrokenForeignKeysException(String table, List<String> keys) {
        super(
                Kind.VERIFICATION,
                "with the rows of %s the shards have broken foreign keys: %s".formatted(table, String.join("; ", keys)),
                "adopt the table that is referred to, by a key that brings rows that belong together to one shard; or correct the rows, or drop the foreign key");
    }
}
