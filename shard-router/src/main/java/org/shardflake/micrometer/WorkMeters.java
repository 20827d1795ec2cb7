/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.micrometer;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.shardflake.router.RouterListener.RetryReason;

/** The meters for work on one server, created once, so that transactions need not build tags. */
final class WorkMeters {

    private final Timer writesCommitted;
    private final Timer writesRolledBack;
    private final Timer readsCommitted;
    private final Timer readsRolledBack;
    private final Timer referenceLag;
    private final Map<RetryReason, Counter> retries = new EnumMap<>(RetryReason.class);

    WorkMeters(MeterRegistry registry, String server) {
        this.writesCommitted = transactions(registry, server, "write", "committed");
        this.writesRolledBack = transactions(registry, server, "write", "rolled_back");
        this.readsCommitted = transactions(registry, server, "read", "committed");
        this.readsRolledBack = transactions(registry, server, "read", "rolled_back");
        this.referenceLag = Timer.builder("shardflake.reference.lag")
                .description("Time for writes to reference tables to arrive, measured by calls that wait for them")
                .tag("server", server)
                .register(registry);
        for (RetryReason reason : RetryReason.values()) {
            retries.put(
                    reason,
                    Counter.builder("shardflake.retries")
                            .description("Work that was run again after a server refused it")
                            .tag("server", server)
                            .tag("reason", reason.name().toLowerCase(Locale.ROOT))
                            .register(registry));
        }
    }

    private static Timer transactions(MeterRegistry registry, String server, String kind, String outcome) {
        return Timer.builder("shardflake.transactions")
                .description("Transactions on one shard, from asking for a connection to giving it back")
                .tag("server", server)
                .tag("kind", kind)
                .tag("outcome", outcome)
                .register(registry);
    }

    Timer transaction(boolean readOnly, boolean committed) {
        if (readOnly) {
            return committed ? readsCommitted : readsRolledBack;
        }
        return committed ? writesCommitted : writesRolledBack;
    }

    Timer referenceLag() {
        return referenceLag;
    }

    Counter retries(RetryReason reason) {
        return Objects.requireNonNull(retries.get(reason));
    }
}
