/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.micrometer;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.router.DarkRead;
import org.shardflake.router.RouterListener;
import org.shardflake.router.health.RouterState;

/**
 * Records metrics of a router: its transactions and retries, its map, and its pools.
 *
 * <pre>{@code
 * ShardRouter router = ShardRouter.builder()
 *         .catalog("postgresql://app@db1/app")
 *         .listener(new MicrometerListener(registry))
 *         .build();
 * }</pre>
 *
 * <p>Use one for each router, since the gauges belong to the router that it was given to. Meters are tagged by server
 * and never by shard: there may be thousands of shards. Thread-safe. The registry does not keep the router from being
 * collected.
 */
public final class MicrometerListener implements RouterListener {

    private final MeterRegistry registry;
    private final Map<String, WorkMeters> work = new ConcurrentHashMap<>();
    private @Nullable RouterGauges gauges;

    /** Creates a listener that registers its meters in a registry. */
    public MicrometerListener(MeterRegistry registry) {
        this.registry = registry;
    }

    @Override
    public synchronized void started(RouterState router) {
        if (gauges != null) {
            throw new IllegalStateException("this listener belongs to another router; make one for each");
        }
        gauges = new RouterGauges(registry, router);
        gauges.followMap();
    }

    @Override
    public synchronized void mapChanged(ShardMap map) {
        // The map that the router starts with has any earlier change.
        if (gauges != null) {
            gauges.followMap();
        }
    }

    @Override
    public void transactionEnded(Server server, boolean readOnly, boolean committed, Duration duration) {
        work(server).transaction(readOnly, committed).record(duration);
    }

    @Override
    public void retried(Server server, RetryReason reason) {
        work(server).retries(reason).increment();
    }

    @Override
    public void referenceArrived(Server server, Duration duration) {
        work(server).referenceLag().record(duration);
    }

    @Override
    public void darkReadEnded(DarkRead read) {
        String outcome = read.outcome().name().toLowerCase(Locale.ROOT);
        darkRead("old", outcome).record(read.oldTook());
        darkRead("shard", outcome).record(read.shardTook());
    }

    private Timer darkRead(String side, String outcome) {
        return Timer.builder("shardflake.dark.reads")
                .description(
                        "Reads of the old database that were run there again and in the shard, to compare their rows")
                .tag("side", side)
                .tag("outcome", outcome)
                .register(registry);
    }

    private WorkMeters work(Server server) {
        WorkMeters known = work.get(server.name());
        return known != null ? known : work.computeIfAbsent(server.name(), name -> new WorkMeters(registry, name));
    }
}
