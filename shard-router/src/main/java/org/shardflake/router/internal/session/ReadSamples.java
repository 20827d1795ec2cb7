/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.util.List;

/** Transactions in the old database that have only read, chosen to be read again elsewhere. Thread-safe. */
public interface ReadSamples {

    /** Chooses none. */
    ReadSamples NONE = new ReadSamples() {
        @Override
        public boolean next() {
            return false;
        }

        @Override
        public void ended(int shard, List<Executed> statements) {}
    };

    /**
     * A statement that was executed.
     *
     * @param sql as the application wrote it
     * @param text the same with the values of its parameters
     */
    record Executed(String sql, String text) {}

    /** Whether the transaction that begins is one of them. */
    boolean next();

    /** Takes the statements of one that was committed. Called on the application's thread. */
    void ended(int shard, List<Executed> statements);
}
