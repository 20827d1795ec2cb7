/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Passes each event on to all listeners. */
final class RouterListeners implements RouterListener {

    private static final Logger LOG = LoggerFactory.getLogger(ShardRouter.class);

    private final RouterListener[] listeners;

    RouterListeners(List<RouterListener> listeners) {
        this.listeners = listeners.toArray(RouterListener[]::new);
    }

    @Override
    public void mapChanged(ShardMap map) {
        tell(listener -> listener.mapChanged(map));
    }

    @Override
    public void transactionEnded(Server server, boolean readOnly, boolean committed, Duration duration) {
        for (RouterListener listener : listeners) {
            try {
                listener.transactionEnded(server, readOnly, committed, duration);
            } catch (RuntimeException e) {
                report(e);
            }
        }
    }

    @Override
    public void retried(Server server, RetryReason reason) {
        tell(listener -> listener.retried(server, reason));
    }

    @Override
    public void referenceArrived(Server server, Duration duration) {
        tell(listener -> listener.referenceArrived(server, duration));
    }

    /** Logs what a listener throws, which must not hide how the work ended. */
    private void tell(Consumer<RouterListener> event) {
        for (RouterListener listener : listeners) {
            try {
                event.accept(listener);
            } catch (RuntimeException e) {
                report(e);
            }
        }
    }

    private static void report(RuntimeException e) {
        LOG.warn("a listener failed", e);
    }
}
