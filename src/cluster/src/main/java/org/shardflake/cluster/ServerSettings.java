/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.util.LinkedHashMap;
import java.util.Map;

/** The PostgreSQL settings that all servers of a cluster share, whichever provider starts them. */
final class ServerSettings {
    private ServerSettings() {}

    /** The settings by name; {@code overrides} take precedence. */
    static Map<String, String> of(boolean durable, Map<String, String> overrides) {
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put("wal_level", "logical");
        settings.put("max_connections", "300");
        // Room for many moves at once: a slot and a sender on the source, a worker and its table syncs on the target.
        settings.put("max_replication_slots", "64");
        settings.put("max_wal_senders", "64");
        settings.put("max_worker_processes", "64");
        settings.put("max_logical_replication_workers", "48");
        settings.put("max_sync_workers_per_subscription", "4");
        // About 180,000 locks for one transaction: thousands of schemas with their tables, indexes and sequences.
        settings.put("max_locks_per_transaction", "512");
        settings.put("max_prepared_transactions", "64");
        // Without fsync a commit still survives a crash of PostgreSQL, since the operating system has it; so
        // synchronous_commit stays on, and acknowledged commits are there after recovery.
        settings.put("fsync", durable ? "on" : "off");
        settings.put("synchronous_commit", "on");
        settings.put("timezone", "UTC");
        settings.put("log_timezone", "UTC");
        settings.putAll(overrides);
        return settings;
    }
}
