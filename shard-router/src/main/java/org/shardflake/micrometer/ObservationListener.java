/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.micrometer;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.router.RouterListener;
import org.shardflake.router.RunningWork;

/**
 * Observes the work that a router runs on shards, as spans of a trace for example.
 *
 * <p>The observation is {@code shardflake.work}, with {@code server}, {@code kind} ({@code write}, {@code read}), {@code outcome}
 * ({@code returned}, {@code failed}), and, of high cardinality, {@code shard} and {@code tries}.
 *
 * <p>It is around all tries, and in scope meanwhile, so what the work itself observes, such as its statements, is inside it. Thread-safe.
 */
public final class ObservationListener implements RouterListener {

    private static final String NAME = "shardflake.work";

    private final ObservationRegistry registry;

    /** Creates a listener that observes with a registry. */
    public ObservationListener(ObservationRegistry registry) {
        this.registry = registry;
    }

    @Override
    public @Nullable RunningWork workBegan(Server server, int shard) {
        if (registry.isNoop()) {
            return null;
        }
        Observation observation = Observation.createNotStarted(NAME, registry)
                .lowCardinalityKeyValue("server", server.name())
                .highCardinalityKeyValue("shard", Integer.toString(shard))
                .start();
        Observation.Scope scope = observation.openScope();
        return (last, readOnly, tries, failure) -> {
            scope.close();
            observation
                    .lowCardinalityKeyValue("server", last.name())
                    .lowCardinalityKeyValue("kind", readOnly ? "read" : "write")
                    .lowCardinalityKeyValue("outcome", failure == null ? "returned" : "failed")
                    .highCardinalityKeyValue("tries", Integer.toString(tries));
            if (failure != null) {
                observation.error(failure);
            }
            observation.stop();
        };
    }
}
