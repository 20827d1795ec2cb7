/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.io.Serial;

/** A plan that does not fit the shard map: the map lacks servers or shards of the plan, or shards are not where the plan expects them. */
public final class RebalanceRefusedException extends RebalanceException {

    @Serial
    private static final long serialVersionUID = 1L;

    RebalanceRefusedException(String message) {
        super(Kind.PRECONDITION, message);
    }

    RebalanceRefusedException(String message, CharSequence advice) {
        super(Kind.PRECONDITION, message, advice);
    }
}
