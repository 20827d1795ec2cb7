/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.map;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.catalog.LookupDefinition;

/** The catalog's lookups, at most some seconds old unless the catalog is down. Thread-safe. */
public final class Lookups {

    /** The time after which a lookup is read again; {@code lookup drop} waits longer than this. */
    private static final Duration LOOK_AGAIN = Duration.ofSeconds(10);
    /**
     * The shortest interval between questions to the catalog for lookups that are not known. Such calls mostly wait inside a transaction, so
     * the interval is short.
     */
    private static final Duration BETWEEN_MISSES = Duration.ofMillis(50);

    private record Known(Map<String, LookupDefinition> byName, long asked) {}

    private final MapSource catalog;
    private final ReentrantLock asking = new ReentrantLock();
    private volatile @Nullable Known known;

    public Lookups(MapSource catalog) {
        this.catalog = catalog;
    }

    /**
     * A lookup in a state that suits its use; asks the catalog if the known state does not suit it.
     *
     * @throws ShardflakeException if there is none of this name
     */
    public LookupDefinition get(String name, LookupDefinition.State wanted) {
        long began = System.nanoTime();
        LookupDefinition found = known().byName.get(name);
        if (found == null || !suits(found, wanted)) {
            found = knownSince(began).byName.get(name);
        }
        if (found == null) {
            throw unknown(name);
        }
        return found;
    }

    /** Called when the shards report that a lookup was dropped, so that what is known of it is out of date. */
    public void isDropped(LookupDefinition lookup) {
        Known last = known;
        LookupDefinition its = last == null ? null : last.byName.get(lookup.name());
        if (its != null && its.number() == lookup.number()) {
            knownSince(System.nanoTime());
        }
    }

    private static boolean suits(LookupDefinition lookup, LookupDefinition.State wanted) {
        return lookup.state() == LookupDefinition.State.READY || lookup.state() == wanted;
    }

    private ShardflakeException unknown(String name) {
        List<String> names = known().byName.keySet().stream().sorted().toList();
        return new ShardflakeException(
                Kind.USAGE,
                "there is no lookup %s".formatted(name),
                names.isEmpty()
                        ? Advice.of("%s creates one", CliCommand.LOOKUP_CREATE)
                        : "one of " + String.join(", ", names),
                null);
    }

    private Known known() {
        Known last = known;
        if (last != null && asking.isLocked()) {
            return last; // While one thread asks, the others need not wait for it.
        }
        return knownSince(System.nanoTime() - LOOK_AGAIN.toNanos());
    }

    /** The catalog's answer as of {@code moment} or later. */
    private Known knownSince(long moment) {
        Known last = known;
        if (last != null && last.asked - moment >= 0) {
            return last;
        }
        asking.lock();
        try {
            last = known;
            if (last != null && last.asked - moment >= 0) {
                return last;
            }
            if (last != null) {
                LockSupport.parkNanos(last.asked + BETWEEN_MISSES.toNanos() - System.nanoTime());
            }
            Known next = ask(last);
            known = next;
            return next;
        } finally {
            asking.unlock();
        }
    }

    private Known ask(@Nullable Known last) {
        long asked = System.nanoTime();
        try {
            return new Known(
                    catalog.lookups().stream().collect(Collectors.toMap(LookupDefinition::name, Function.identity())),
                    asked);
        } catch (ShardflakeException e) {
            if (last == null) {
                throw e;
            }
            return new Known(last.byName, asked); // As with the map, the router goes on while the catalog is down.
        }
    }
}
