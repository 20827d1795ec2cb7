/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.io.Serial;
import org.shardflake.ShardflakeException;

/** Another row already holds the value of a unique {@link Lookup} that a transaction tried to claim. */
public final class LookupTakenException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String lookup;
    private final long uid;
    private final long id;

    LookupTakenException(String lookup, String shown, LookupEntry holder) {
        super(
                Kind.PRECONDITION,
                "%s of lookup %s is held by row %s of uid %s".formatted(shown, lookup, holder.id(), holder.uid()),
                "choose another value, or release that one first",
                null);
        this.lookup = lookup;
        this.uid = holder.uid();
        this.id = holder.id();
    }

    public String lookup() {
        return lookup;
    }

    /** The row that holds the value. */
    public LookupEntry holder() {
        return new LookupEntry(uid, id);
    }
}
