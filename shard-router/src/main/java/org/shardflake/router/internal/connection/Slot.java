/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.connection;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.pool.HikariPool;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One connection, managed by a HikariCP pool of size one that opens, checks and replaces it, with the tables that its backend has cached.
 * Guarded by the lock of its owner.
 */
final class Slot {

    private final HikariConfig config;
    private volatile HikariPool pool;
    private boolean isLent;
    private long lentAt;
    private long failedAt = System.nanoTime() - TimeUnit.DAYS.toNanos(1);
    /** The physical connection of the latest use. */
    private @Nullable Connection physical;
    /** The shards that the connection has served. */
    private final BitSet served = new BitSet();

    private int servedCount;
    /** The shards that each query over many shards has read. */
    private final Map<String, BitSet> read = new HashMap<>();

    Slot(HikariConfig config) {
        this.config = config;
        this.pool = new HikariPool(config);
    }

    HikariPool pool() {
        return pool;
    }

    /** Replaces a pool that has no connection and cannot open one. */
    void renew() {
        ShardConnections.shutDown(pool);
        HikariConfig again = new HikariConfig();
        config.copyStateTo(again);
        again.setInitializationFailTimeout(-1); // The server may not answer now.
        pool = new HikariPool(again);
    }

    boolean isConnected() {
        return pool.getTotalConnections() > 0;
    }

    /** Notes that the connection could not be opened in time. */
    void failed(long at) {
        failedAt = at;
    }

    long failedAt() {
        return failedAt;
    }

    boolean isLent() {
        return isLent;
    }

    /** @param at when it was lent, or earlier if it is not worth waiting for */
    void lend(long at) {
        isLent = true;
        lentAt = at;
    }

    void release() {
        isLent = false;
    }

    /** The time from which a wait for this connection counts: when the thread came, or earlier if the connection was leased before. */
    long hopeFrom(long came) {
        if (!isLent) {
            return isConnected() ? came : came - ShardConnections.HOMES_NANOS;
        }
        return lentAt - came < 0 ? lentAt : came;
    }

    /** Whether the physical connection differs from the one before. */
    boolean isNew(Connection pooled) {
        return physical == null || physical(pooled) != physical;
    }

    private static @Nullable Connection physical(Connection pooled) {
        try {
            return pooled.unwrap(Connection.class);
        } catch (SQLException e) {
            return null; // As if it were new, which only costs speed.
        }
    }

    /** Notes a new physical connection, whose backend has cached nothing yet. */
    void connected(Connection pooled) {
        physical = physical(pooled);
        served.clear();
        servedCount = 0;
        read.clear();
    }

    void serves(int shard) {
        if (!served.get(shard)) {
            served.set(shard);
            servedCount++;
        }
    }

    void reads(String query, Collection<Integer> shards) {
        BitSet before = read.computeIfAbsent(query, asked -> new BitSet());
        shards.forEach(before::set);
    }

    boolean hasServed(int shard) {
        return served.get(shard);
    }

    int servedShards() {
        return servedCount;
    }

    /** Whether queries over many shards have made the backend cache more tables than this; a single query may. */
    boolean hasReadMore(int tables) {
        return read.size() > 1
                && read.values().stream().mapToInt(BitSet::cardinality).sum() > tables;
    }
}
