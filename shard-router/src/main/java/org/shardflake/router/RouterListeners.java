/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.router.internal.session.RouterLog;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Passes each event on to all listeners. */
final class RouterListeners implements RouterListener {

    private static final Logger LOG = LoggerFactory.getLogger(RouterLog.NAME);

    private final RouterListener[] listeners;

    RouterListeners(List<RouterListener> listeners) {
        this.listeners = listeners.toArray(RouterListener[]::new);
    }

    @Override
    public void mapChanged(ShardMap map) {
        tell(listener -> listener.mapChanged(map));
    }

    @Override
    public @Nullable RunningWork workBegan(Server server, int shard) {
        RunningWork all = null;
        for (RouterListener listener : listeners) {
            try {
                RunningWork one = listener.workBegan(server, shard);
                all = one == null ? all : inside(all, one);
            } catch (RuntimeException e) {
                report(e);
            }
        }
        return all;
    }

    /** Combines two pieces of running work so that the one that began last ends first. */
    private static RunningWork inside(@Nullable RunningWork outer, RunningWork inner) {
        return (server, readOnly, tries, failure) -> {
            try {
                inner.ended(server, readOnly, tries, failure);
            } catch (RuntimeException e) {
                report(e);
            }
            if (outer != null) {
                outer.ended(server, readOnly, tries, failure);
            }
        };
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

    @Override
    public void darkReadEnded(DarkRead read) {
        tell(listener -> listener.darkReadEnded(read));
    }

    /** Logs exceptions of a listener, which must not hide how the work ended. */
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
