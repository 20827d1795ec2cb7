/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Sql;

/**
 * The keys to which shards of a server may refer: those of reference tables that have foreign keys of shards.
 *
 * <p>A changelog that takes one away commits on one server after the other. If it were killed in between, a shard could come to refer to a
 * row that only its own server has; and a foreign key with ON DELETE CASCADE would take rows of shards along.
 *
 * @param tables by the columns referred to
 */
record ReferredRows(Map<String, Table> tables) {

    private static final String REFERRED = """
            SELECT k.confrelid || k.confkey::text, format('%I.%I', n.nspname, c.relname),
                   (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY u.position)
                      FROM unnest(k.confkey) WITH ORDINALITY u (attnum, position)
                      JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.attnum)
              FROM (SELECT DISTINCT f.confrelid, f.confkey FROM pg_constraint f
                      JOIN pg_class t ON t.oid = f.conrelid JOIN pg_namespace s ON s.oid = t.relnamespace
                     WHERE f.contype = 'f' AND s.nspname ~ '^shard_[0-9]{4}$') k
              JOIN pg_class c ON c.oid = k.confrelid JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE n.nspname = 'reference'
            """;

    /** A reference table, and the values of the columns referred to. */
    record Table(String name, Set<String> keys) {}

    private record Referred(String columns, String table, String list) {}

    /** As the connection's transaction sees them. */
    static ReferredRows read(Connection connection) throws SQLException {
        List<Referred> referred = Sql.list(
                connection, REFERRED, row -> new Referred(row.getString(1), row.getString(2), row.getString(3)));
        Map<String, Table> tables = new HashMap<>();
        for (Referred columns : referred) {
            Set<String> keys = new HashSet<>(Sql.list(
                    connection,
                    "SELECT concat_ws(' ', %s) FROM %s".formatted(columns.list(), columns.table()),
                    row -> row.getString(1)));
            tables.put(columns.columns(), new Table(columns.table(), keys));
        }
        return new ReferredRows(tables);
    }

    /**
     * Requires that all of them are there still.
     *
     * @throws ShardflakeException if one was deleted, or got another key
     */
    void requireIn(ReferredRows after, String server) {
        tables.forEach((columns, before) -> {
            Table now = after.tables().get(columns);
            if (now == null) {
                return; // No shard has the foreign key any more.
            }
            before.keys().stream()
                    .filter(key -> !now.keys().contains(key))
                    .findFirst()
                    .ifPresent(key -> {
                        throw new ShardflakeException(
                                Kind.PRECONDITION,
                                "the changelog deletes row %s of %s or changes its key, and shards on %s have a foreign key to the table; nothing was changed"
                                        .formatted(key, before.name(), server),
                                "leave it to shardflake reference delete, which asks all shards first",
                                null);
                    });
        });
    }
}
