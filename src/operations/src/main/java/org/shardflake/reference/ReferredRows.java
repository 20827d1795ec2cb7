/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Sql;

/**
 * The values that a server's shards may refer to: the keys of reference tables that have foreign keys from shards.
 *
 * <p>A changelog that takes one away commits on one server after the other. If it were killed in between, a shard could come to refer to a
 * row that only its own server has; and a foreign key with ON DELETE CASCADE would take rows of shards along.
 */
final class ReferredRows {

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

    private final Connection connection;
    private final Map<String, Referred> before;

    private ReferredRows(Connection connection, Map<String, Referred> before) {
        this.connection = connection;
        this.before = before;
    }

    /**
     * The columns of a table that shards refer to.
     *
     * @param columns their numbers, with that of the table
     * @param copy a temporary table of their values, as the text of a row, until the transaction ends
     */
    private record Referred(String columns, String table, String list, String copy) {

        String values() {
            return "SELECT ROW(%s)::text FROM %s".formatted(list, table);
        }
    }

    /** Reads the values as of the connection's transaction. */
    static ReferredRows read(Connection connection) throws SQLException {
        Map<String, Referred> before = referred(connection);
        for (Referred columns : before.values()) {
            Sql.execute(
                    connection,
                    "DROP TABLE IF EXISTS %1$s; CREATE TEMPORARY TABLE %2$s (key) ON COMMIT DROP AS %3$s"
                            .formatted(
                                    columns.copy(), columns.copy().replaceFirst("^pg_temp\\.", ""), columns.values()));
        }
        return new ReferredRows(connection, before);
    }

    private static Map<String, Referred> referred(Connection connection) throws SQLException {
        Map<String, Referred> referred = new LinkedHashMap<>();
        Sql.list(
                connection,
                REFERRED,
                row -> referred.put(
                        row.getString(1),
                        new Referred(
                                row.getString(1),
                                row.getString(2),
                                row.getString(3),
                                "pg_temp.shardflake_referred_" + referred.size())));
        return referred;
    }

    /**
     * Requires that all of the rows still exist.
     *
     * @throws ShardflakeException if one was deleted, or got another key
     */
    void requireStillThere(String server) throws SQLException {
        Map<String, Referred> after = referred(connection);
        for (Referred columns : before.values()) {
            Referred now = after.get(columns.columns());
            if (now == null) {
                continue; // No shard has the foreign key any more.
            }
            String gone = "SELECT key FROM %s EXCEPT %s LIMIT 1".formatted(columns.copy(), now.values());
            for (String key : Sql.list(connection, gone, row -> row.getString(1))) {
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "the changelog deletes row %s of %s or changes its key, and shards on %s have a foreign key to the table; nothing was changed"
                                .formatted(key, columns.table(), server),
                        Advice.of("leave it to %s, which asks all shards first", CliCommand.REFERENCE_DELETE),
                        null);
            }
        }
    }
}
