/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.util.ArrayList;
import java.util.List;

/**
 * Shards that are created in one transaction. That is quicker than one by one: for each schema that a transaction creates, PostgreSQL
 * plans anew what functions it had planned.
 */
final class CreationBatches {

    /** More make it no quicker, and are undone together when one of them fails. */
    private static final int MOST_SHARDS = 10;

    /** A transaction with many more would need a larger max_locks_per_transaction than PostgreSQL has by default. */
    private static final int MOST_STATEMENTS = 100;

    private CreationBatches() {}

    /**
     * Divides shards that are to be created, in order.
     *
     * @param statements that one of them takes at most
     * @param connections over which they are to be spread
     */
    static <S> List<List<S>> of(List<S> shards, int statements, int connections) {
        int fit = MOST_STATEMENTS / Math.max(1, statements);
        int size = Math.max(1, Math.min(Math.min(fit, MOST_SHARDS), shards.size() / connections));
        List<List<S>> batches = new ArrayList<>();
        for (int from = 0; from < shards.size(); from += size) {
            batches.add(shards.subList(from, Math.min(from + size, shards.size())));
        }
        return batches;
    }
}
