/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.server;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.Sharding;
import org.shardflake.cli.error.CliException;
import org.shardflake.server.ServerUrl;
import org.shardflake.server.SqlText;

/**
 * Draws ids of one shard on its server, from the sequence of a table or the shard's own.
 *
 * <p>Borrows the connection; for one thread.
 */
public final class IdSource {

    /** The maximum number of ids that the server makes per call. */
    public static final int MAX_COUNT = 100_000;

    /** Reads how a table's id column gets its values: the function and sequence in its DEFAULT, and the sequence that it owns. */
    private static final String ID_COLUMN = """
            SELECT format('%I.%I', c.relnamespace::regnamespace::text, c.relname) AS name,
                   COALESCE('DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), CASE WHEN a.attidentity <> '' THEN 'IDENTITY' END) AS filled_by,
                   EXISTS (SELECT FROM pg_depend u JOIN pg_proc f ON f.oid = u.refobjid
                            WHERE u.classid = 'pg_attrdef'::regclass AND u.objid = d.oid
                              AND u.refclassid = 'pg_proc'::regclass AND f.proname = 'next_id') AS uses_next_id,
                   (SELECT s.oid::regclass FROM pg_depend u JOIN pg_class s ON s.oid = u.refobjid AND s.relkind = 'S'
                     WHERE u.classid = 'pg_attrdef'::regclass AND u.objid = d.oid
                       AND u.refclassid = 'pg_class'::regclass) AS default_sequence,
                   COALESCE(substring(pg_get_expr(d.adbin, d.adrelid) FROM 'id_to_key\\(.*, ([0-9]+)\\)$')::integer, 0) AS shards_of_keys,
                   pg_get_serial_sequence(format('%I.%I', c.relnamespace::regnamespace::text, c.relname), a.attname) AS owned_sequence
              FROM pg_class c
              JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'id'
              LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
             WHERE c.relnamespace = ?::regnamespace AND c.relname = ? AND c.relkind IN ('r', 'p')
            """;

    private final Connection connection;
    private final ServerUrl server;
    private final int shard;
    private final String schema;
    private final String sequence;
    /** The number of shards if the column holds keys, or 0 if it holds ids. */
    private int shardsOfKeys;

    private IdSource(Connection connection, ServerUrl server, int shard, @Nullable String table) throws SQLException {
        this.connection = connection;
        this.server = server;
        this.shard = shard;
        this.schema = Sharding.schema(shard);
        checkShard();
        this.sequence = table == null ? schema + ".id_seq" : sequenceOf(table);
    }

    /**
     * Finds the sequence to draw from.
     *
     * @param table a table in the shard, or null for the shard's own sequence
     * @throws CliException if the server lacks the shard, the table, or an id sequence for it
     */
    public static IdSource find(Connection connection, ServerUrl server, int shard, @Nullable String table)
            throws SQLException {
        return new IdSource(connection, server, shard, table);
    }

    /** Draws ids, in increasing order. */
    public void draw(int count, LongConsumer ids) throws SQLException {
        String sql = "SELECT * FROM shardflake.next_ids(shard => ?, sequence => ?::regclass, count => ?)";
        try (PreparedStatement draw = connection.prepareStatement(sql)) {
            draw.setInt(1, shard);
            draw.setString(2, sequence);
            draw.setInt(3, count);
            try (ResultSet rows = draw.executeQuery()) {
                while (rows.next()) {
                    ids.accept(shardsOfKeys == 0 ? rows.getLong(1) : new Sharding(shardsOfKeys).key(rows.getLong(1)));
                }
            }
        }
    }

    private void checkShard() throws SQLException {
        if (lookUp("SELECT 1 FROM pg_namespace WHERE nspname = ?", schema) == null) {
            throw missing(
                    "shard %s is not on server %s: schema %s is missing".formatted(shard, server, schema),
                    "name the server that holds it, or create it here: SELECT shardflake.create_shard(%s)"
                            .formatted(shard));
        }
    }

    private String sequenceOf(String table) throws SQLException {
        try (PreparedStatement query = connection.prepareStatement(ID_COLUMN)) {
            query.setString(1, schema);
            query.setString(2, table);
            try (ResultSet id = query.executeQuery()) {
                if (!id.next()) {
                    throw noTable(table);
                }
                shardsOfKeys = id.getInt("shards_of_keys");
                String found = id.getBoolean("uses_next_id")
                        ? id.getString("default_sequence")
                        : id.getString("owned_sequence");
                if (id.getBoolean("uses_next_id") && found == null) {
                    return schema + ".id_seq"; // DEFAULT next_id() draws from the shard's own.
                }
                // A serial column's sequence counts 1, 2, 3: drawing an id would disrupt it for good.
                if (found == null || (!id.getBoolean("uses_next_id") && id.getString("filled_by") != null)) {
                    throw noSequence(table, id.getString("name"), id.getString("filled_by"));
                }
                return found;
            }
        }
    }

    private CliException noTable(String table) throws SQLException {
        String tables = lookUp(
                "SELECT string_agg(c.relname, ', ' ORDER BY c.relname) FROM pg_class c"
                        + " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'id'"
                        + " WHERE c.relnamespace = ?::regnamespace AND c.relkind IN ('r', 'p')",
                schema);
        return missing(
                "shard %s on server %s has no table %s with a column id".formatted(shard, server, table),
                tables == null ? "leave out --table to draw from the shard's own sequence" : "it has " + tables);
    }

    private CliException noSequence(String table, String qualifiedTable, @Nullable String filledBy) {
        return missing(
                "table %s of shard %s on server %s does not take its ids from Shardflake: its column id has %s"
                        .formatted(table, shard, server, filledBy == null ? "no id sequence" : filledBy),
                filledBy == null
                        ? "give it an id sequence: SELECT shardflake.add_id_sequence(%s)"
                                .formatted(SqlText.literal(qualifiedTable))
                        : "leave out --table to draw from the shard's own sequence");
    }

    private @Nullable String lookUp(String sql, String... parameters) throws SQLException {
        try (PreparedStatement query = connection.prepareStatement(sql)) {
            for (int i = 0; i < parameters.length; i++) {
                query.setString(i + 1, parameters[i]);
            }
            try (ResultSet row = query.executeQuery()) {
                return row.next() ? row.getString(1) : null;
            }
        }
    }

    private static CliException missing(String message, String hint) {
        return new CliException(Kind.PRECONDITION, message, hint);
    }
}
