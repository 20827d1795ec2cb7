/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import org.jspecify.annotations.Nullable;
import org.shardflake.Server;

/** Work on one shard that a {@link RouterListener} was notified of. */
@FunctionalInterface
public interface RunningWork {

    /**
     * Called when the work has ended, on the thread that it began on.
     *
     * @param server where it was tried last
     * @param readOnly whether nothing in that try could write
     * @param tries how often it was run: 1 or more
     * @param failure what it threw, or null
     */
    void ended(Server server, boolean readOnly, int tries, @Nullable Throwable failure);
}
