/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.replication;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Sql;

/**
 * The user's own publications and logical slots whose readers receive changes of shards, such as Debezium or a subscription of a warehouse. A
 * move takes the shards away from the readers of its source, and gives those of its target every row once more, as an insert. The publications
 * of the change stream follow moves, and do not count.
 */
public final class ChangeStreams {

    /** The remedy, a format for the {@code cdc create} command. */
    public static final String REMEDY =
            "Or let them read the publication of %s, which follows moves. Drop slots and publications that are not read";

    /**
     * Finds slots and publications: a pgoutput slot sends what publications contain; any other plugin may send every change of its database.
     */
    private static final String FIND = """
            WITH publication AS (
                SELECT p.pubname FROM pg_publication p
                 WHERE p.pubname !~ '^shardflake_([mr][0-9]+|preflight)_' AND p.pubname <> 'shardflake_cdc'
                   AND (p.puballtables
                        OR EXISTS (SELECT FROM pg_publication_rel r JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace
                                    WHERE r.prpubid = p.oid AND n.nspname = ANY (?))
                        OR EXISTS (SELECT FROM pg_publication_namespace s JOIN pg_namespace n ON n.oid = s.pnnspid
                                    WHERE s.pnpubid = p.oid AND n.nspname = ANY (?))))
            SELECT format('publication %s', pubname) AS name FROM publication
             UNION ALL
            SELECT format('slot %s (%s%s)', slot_name, plugin, CASE WHEN NOT active THEN ', inactive' END) FROM pg_replication_slots
             WHERE slot_type = 'logical' AND database = current_database() AND slot_name !~ '^shardflake_[mr][0-9]+_' AND NOT (plugin = 'pgoutput' AND starts_with(slot_name, 'shardflake_cdc_'))
               AND slot_name !~ '^pg_[0-9]+_sync_[0-9]+_' AND (plugin <> 'pgoutput' OR EXISTS (SELECT FROM publication))
             ORDER BY 1
            """;

    private ChangeStreams() {}

    /** A server's publications that include, or would include, tables of these shards, and the slots that may read them. */
    public static List<String> find(Connection connection, ShardSet shards) throws SQLException {
        return Sql.list(connection, FIND, row -> row.getString(1), shards, shards);
    }
}
