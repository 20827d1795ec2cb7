/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.session;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.postgresql.jdbc.PreferQueryMode;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.server.MoveServer;
import org.shardflake.replication.Replication;

/** A snapshot of the rows at the start of a new replication slot, readable by other sessions until this is closed. */
public final class ExportedSnapshot implements AutoCloseable {

    private final Connection connection;
    private final String name;

    private ExportedSnapshot(Connection connection, String name) {
        this.connection = connection;
        this.name = name;
    }

    /** Creates a slot, which waits for transactions that have written on the server, and exports its snapshot. */
    public static ExportedSnapshot createSlot(MoveServer server, String slot) throws SQLException {
        Connection connection = server.url().connect(slot, source -> {
            source.setReplication("database");
            source.setAssumeMinServerVersion("15");
            source.setPreferQueryMode(PreferQueryMode.SIMPLE);
        });
        try {
            return new ExportedSnapshot(connection, create(connection, slot));
        } catch (SQLException | RuntimeException e) {
            Sql.close(connection);
            throw e;
        }
    }

    private static String create(Connection connection, String slot) throws SQLException {
        String options = Replication.hasFailover(connection) ? "(SNAPSHOT 'export', FAILOVER)" : "EXPORT_SNAPSHOT";
        try (Statement statement = connection.createStatement();
                ResultSet made = statement.executeQuery(
                        "CREATE_REPLICATION_SLOT %s LOGICAL pgoutput %s".formatted(slot, options))) {
            made.next();
            return made.getString("snapshot_name");
        } catch (SQLException e) {
            throw Sql.named(connection, e);
        }
    }

    /** Makes a session, with no transaction open, see these rows until it ends its transaction. */
    public void importInto(Connection reader) throws SQLException {
        reader.setAutoCommit(false);
        Sql.execute(reader, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
        Sql.execute(reader, "SET TRANSACTION SNAPSHOT " + Sql.quote(name));
    }

    @Override
    public void close() {
        Sql.close(connection);
    }
}
