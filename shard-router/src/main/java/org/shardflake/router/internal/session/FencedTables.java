/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router.internal.session;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The table names that, in all shards of a server, only tables with fences have: a transaction that has written to one holds a lock that a
 * fence waits for. A view, or a table with rules, may pass the write on to something that is not of the shard. Thread-safe.
 *
 * <p>A name is asked for once, and again when something was created, changed or dropped on the server; that is looked at once a minute.
 * After two minutes without a look, nothing is known.
 */
public final class FencedTables {

    private static final Logger LOG = LoggerFactory.getLogger(RouterLog.NAME);
    private static final long OUTDATED_NANOS = Duration.ofMinutes(2).toNanos();
    /** The maximum number of names to ask for. */
    private static final int MOST = 1_000;

    private static final String LOOK = """
            SELECT c.relname, pg_catalog.bool_and(c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p}'::pg_catalog."char"[]) AND NOT c.relhasrules AND EXISTS (
                       SELECT FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) t.tgfoid
                        WHERE t.tgrelid OPERATOR(pg_catalog.=) c.oid AND p.proname OPERATOR(pg_catalog.=) 'fence_write'))
              FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
             WHERE c.relname OPERATOR(pg_catalog.=) ANY (?) AND n.nspname OPERATOR(pg_catalog.~) '^shard_[0-9]{4}$'
             GROUP BY c.relname
            """;

    private final LongSupplier nanoTime;
    private final Set<String> unknown = ConcurrentHashMap.newKeySet();
    private final ReentrantLock looking = new ReentrantLock();
    private volatile @Nullable Known known;

    /**
     * What the server answered, and the state of the database before.
     *
     * @param areTables each name that was asked for, and whether only tables with fences have it
     * @param before the changes before it was asked
     * @param isAnswer whether it did not refuse
     */
    private record Known(Map<String, Boolean> areTables, CatalogChanges before, boolean isAnswer) {

        boolean isToAskFor(String name) {
            return isAnswer && areTables.size() < MOST && !areTables.containsKey(name);
        }
    }

    public FencedTables(LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
    }

    /** Whether only tables with fences are known to have this name. If nothing is known of it, {@link #look} will ask. */
    public boolean contains(String name) {
        Known now = known;
        if (now == null || now.isToAskFor(name)) {
            unknown.add(name);
        }
        return now != null
                && now.areTables.getOrDefault(name, false)
                && nanoTime.getAsLong() - now.before.looked() < OUTDATED_NANOS;
    }

    /**
     * Asks the server for names that are unknown or may have changed, on a connection outside a transaction. If it refuses, nothing is known
     * for a minute.
     *
     * @throws SQLException if the connection is lost
     */
    public void look(Connection pooled) throws SQLException {
        if (isToLook() && looking.tryLock()) {
            long now = nanoTime.getAsLong();
            try {
                known = isToLook() ? next(pooled, known, now) : known;
            } catch (SQLException e) {
                if (pooled.isClosed()) {
                    throw e;
                }
                LOG.debug("which tables have fences could not be asked", e);
                unknown.clear();
                known = new Known(Map.of(), new CatalogChanges(null, now), false);
            } finally {
                looking.unlock();
            }
        }
    }

    private boolean isToLook() {
        Known last = known;
        return !unknown.isEmpty() || (last != null && last.before.isOld(nanoTime.getAsLong()));
    }

    private Known next(Connection pooled, @Nullable Known last, long now) throws SQLException {
        CatalogChanges changes =
                last == null || last.before.isOld(now) ? CatalogChanges.read(pooled, now) : last.before;
        Set<String> names = new HashSet<>(unknown);
        Map<String, Boolean> areTables = new HashMap<>();
        names.forEach(name -> areTables.put(name, false));
        if (last != null && changes.isNothingSince(last.before)) {
            areTables.putAll(last.areTables);
        } else if (last != null) {
            names.addAll(last.areTables.keySet());
        }
        if (!names.isEmpty()) {
            areTables.putAll(ask(pooled, names));
        }
        unknown.removeAll(names);
        return new Known(Map.copyOf(areTables), changes, true);
    }

    private static Map<String, Boolean> ask(Connection pooled, Set<String> names) throws SQLException {
        Map<String, Boolean> areTables = new HashMap<>();
        try (PreparedStatement look = pooled.prepareStatement(LOOK)) {
            look.setArray(1, pooled.createArrayOf("name", names.toArray()));
            try (ResultSet row = look.executeQuery()) {
                while (row.next()) {
                    areTables.put(row.getString(1), row.getBoolean(2));
                }
            }
        }
        return areTables;
    }
}
