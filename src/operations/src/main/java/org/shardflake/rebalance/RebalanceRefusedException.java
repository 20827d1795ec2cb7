/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.io.Serial;

/** A plan that the shard map forbids: it has no such servers, or shards are where the plan does not expect them. */
public final class RebalanceRefusedException extends RebalanceException {

    @Serial
    private static final long serialVersionUID = 1L;

    RebalanceRefusedException(String message) {
        super(Kind.PRECONDITION, message);
    }
}
