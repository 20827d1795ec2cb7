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

/** A snapshot of the rows as of a new replication slot's start, usable by other sessions until it is closed. */
public final class ExportedSnapshot implements AutoCloseable {

    private final Connection connection;
    private final String name;

    private ExportedSnapshot(Connection connection, String name) {
        this.connection = connection;
        this.name = name;
    }

    /** Creates a slot, which waits for writing transactions on the server, and exports the slot's snapshot. */
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

    /** Makes a session without an open transaction read this snapshot until its transaction ends. */
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
