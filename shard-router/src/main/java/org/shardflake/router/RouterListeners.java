/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.time.Duration;
import java.util.List;
import org.shardflake.Server;
import org.shardflake.ShardMap;

/** Tells all listeners. */
final class RouterListeners implements RouterListener {

    private final RouterListener[] listeners;

    RouterListeners(List<RouterListener> listeners) {
        this.listeners = listeners.toArray(RouterListener[]::new);
    }

    @Override
    public void started(ShardRouter router) {
        for (RouterListener listener : listeners) {
            listener.started(router);
        }
    }

    @Override
    public void mapChanged(ShardMap map) {
        for (RouterListener listener : listeners) {
            listener.mapChanged(map);
        }
    }

    @Override
    public void transactionEnded(Server server, boolean readOnly, boolean committed, Duration duration) {
        for (RouterListener listener : listeners) {
            listener.transactionEnded(server, readOnly, committed, duration);
        }
    }

    @Override
    public void retried(Server server, RetryReason reason) {
        for (RouterListener listener : listeners) {
            listener.retried(server, reason);
        }
    }
}
