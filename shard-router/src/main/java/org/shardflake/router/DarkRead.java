/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.time.Duration;
import org.shardflake.Server;

/**
 * A read that the old database has answered, and that was run on the shard's rows in its server too, for comparison.
 *
 * @param server the server that has the shard's rows; the shard has not left the old database
 * @param sql as the application wrote it, without values of parameters; empty if the read was skipped
 * @param oldTook how long the old database took, when it was asked again
 * @param shardTook how long the server took
 * @param difference what differs or failed, without values; empty if nothing did
 */
public record DarkRead(
        int shard,
        Server server,
        String sql,
        Outcome outcome,
        Duration oldTook,
        Duration shardTook,
        String difference) {

    /** The result of a comparison. */
    public enum Outcome {
        /** The rows were the same. */
        SAME,
        /** The rows were the same when they were looked at again: the copy had been behind. */
        LATE,
        /** The rows differed twice. */
        DIFFERENT,
        /** The shard's server could not run the statement. */
        FAILED,
        /**
         * Nothing was compared: too many reads waited, there were too many rows, it took longer than a time limit, the shard has left, or the SQL takes advisory
         * locks or ends its transaction.
         */
        SKIPPED
    }
}
