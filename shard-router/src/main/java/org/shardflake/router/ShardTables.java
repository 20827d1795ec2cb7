/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Which names are those of tables in all shards of a server: who has written to one holds a lock that a fence waits for. A view, or a
 * table with rules, may pass the write on to something that is not of the shard. Thread-safe.
 *
 * <p>A name is asked for once, and again when something was created, changed or dropped on the server; that is looked at once a minute.
 */
final class ShardTables {

    private static final String LOOK = """
            SELECT c.relname, bool_and(c.relkind IN ('r', 'p') AND NOT c.relhasrules)
              FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
             WHERE c.relname = ANY (?) AND n.nspname ~ '^shard_[0-9]{4}$'
             GROUP BY c.relname
            """;

    /** Beyond this many, writes to further tables are not known to hold a lock. */
    private static final int MOST = 1_000;

    private final LongSupplier nanoTime;
    /** Of each name that was asked for. */
    private volatile Map<String, Boolean> areTables = Map.of();

    private final Set<String> unknown = ConcurrentHashMap.newKeySet();
    private final ReentrantLock looking = new ReentrantLock();
    private volatile @Nullable CatalogChanges changes;

    ShardTables(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /** Whether this is known to be a table in every shard; if it is not known, {@link #look} will ask. */
    boolean isTable(String name) {
        Boolean known = areTables.get(name);
        if (known == null && areTables.size() < MOST) {
            unknown.add(name);
        }
        return known != null && known;
    }

    /** Asks the server for what is not known or may have changed, on a connection outside a transaction. */
    void look(Connection pooled) throws SQLException {
        if (isToLook() && looking.tryLock()) {
            try {
                CatalogChanges before = changes;
                CatalogChanges now = before;
                if (now == null || now.isOld(nanoTime.getAsLong())) {
                    now = CatalogChanges.read(pooled, nanoTime.getAsLong());
                }
                if (!unknown.isEmpty() || (before != null && !now.isNothingSince(before))) {
                    areTables = ask(pooled);
                    unknown.removeAll(areTables.keySet());
                }
                changes = now;
            } finally {
                looking.unlock();
            }
        }
    }

    private boolean isToLook() {
        CatalogChanges last = changes;
        return !unknown.isEmpty() || (last != null && last.isOld(nanoTime.getAsLong()));
    }

    private Map<String, Boolean> ask(Connection pooled) throws SQLException {
        Map<String, Boolean> all = new HashMap<>();
        areTables.keySet().forEach(name -> all.put(name, false));
        unknown.forEach(name -> all.put(name, false));
        try (PreparedStatement look = pooled.prepareStatement(LOOK)) {
            look.setArray(1, pooled.createArrayOf("name", all.keySet().toArray()));
            try (ResultSet row = look.executeQuery()) {
                while (row.next()) {
                    all.put(row.getString(1), row.getBoolean(2));
                }
            }
        }
        return Map.copyOf(all);
    }
}
