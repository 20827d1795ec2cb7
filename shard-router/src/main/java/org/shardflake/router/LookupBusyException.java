/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.io.Serial;
import org.shardflake.ShardflakeException;

/**
 * A transaction that is still open claims or releases a value of a {@link Lookup}, and waiting for it timed out. Whether it will hold the value
 * is not known.
 */
public final class LookupBusyException extends ShardflakeException {

    @Serial
    private static final long serialVersionUID = 1L;

    private final String lookup;

    LookupBusyException(String lookup, String shown, LookupEntry claimer, long waitedMillis) {
        super(
                "%s of lookup %s is being claimed or released for row %s of uid %s by a transaction that has not ended in %s ms; try again later"
                        .formatted(shown, lookup, claimer.id(), claimer.uid(), waitedMillis));
        this.lookup = lookup;
    }

    public String lookup() {
        return lookup;
    }
}
