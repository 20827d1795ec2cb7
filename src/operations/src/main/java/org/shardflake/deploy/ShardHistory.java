/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import liquibase.Scope;
import liquibase.changelog.ChangeLogHistoryServiceFactory;
import liquibase.database.core.PostgresDatabase;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.ClassLoaderResourceAccessor;
import liquibase.util.LiquibaseUtil;
import org.jspecify.annotations.Nullable;
import org.shardflake.Sharding;
import org.shardflake.grants.AsOwner;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.SqlText;
import org.shardflake.sql.LiquibaseRun;

/**
 * Liquibase's history on a server, {@code shardflake_deploy.databasechangelog}, with a line for each changeset and shard.
 *
 * <p>The shard's schema is the first part of the line's file name, so that a shard's lines can move with it to another server:
 * {@code shard_0007/db/app.xml}.
 */
final class ShardHistory {

    static final String SCHEMA = "shardflake_deploy";
    static final String TABLE = SCHEMA + ".databasechangelog";

    /**
     * The prefix of a line's file name for an earlier run of a changeset that has run again since: later changesets may depend on the first run, so a
     * shard's next server has to repeat it.
     */
    static final String EARLIER = "~";

    private static final String READ = "SELECT left(filename, 10), substr(filename, 12), id, author, md5sum FROM "
            + TABLE + " WHERE filename ~ '^shard_[0-9]{4}/'";

    private static final String LINES =
            "SELECT substr(filename, 7, 4)::integer, substr(filename, 12) || '::' || id || '::' || author, orderexecuted, exectype = 'MARK_RAN' FROM "
                    + TABLE + " WHERE filename ~ '^shard_[0-9]{4}/'";

    private ShardHistory() {}

    /** Creates the table as Liquibase itself would, if it is missing, and the one of {@link DeployedSql}. */
    static void create(Connection connection) throws SQLException {
        createHistory(connection);
        DeployedSql.create(connection);
        LiquibaseRun.addReplicaIdentities(connection, SCHEMA);
    }

    /** Whether a server has a history: none exists before its first deployment. */
    static boolean exists(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery("SELECT to_regclass('%s') IS NOT NULL".formatted(TABLE))) {
            found.next();
            return found.getBoolean(1);
        }
    }

    /** Writes to a server's history; a superuser does so as its owner, who may have put triggers there. */
    static void write(Connection connection, String sql) throws SQLException {
        List<String> owner = Sql.list(
                connection,
                "SELECT quote_ident(o.rolname) FROM pg_class c JOIN pg_roles o ON o.oid = c.relowner, pg_roles m WHERE c.oid = ?::regclass AND m.rolname = current_user AND m.rolsuper AND NOT o.rolsuper",
                row -> row.getString(1),
                TABLE);
        if (owner.isEmpty()) {
            Sql.execute(connection, sql);
        } else if (connection.getAutoCommit()) {
            Sql.inTransaction(connection, () -> {
                AsOwner.run(connection, SCHEMA, owner.get(0), sql);
                return owner;
            });
        } else {
            AsOwner.run(connection, SCHEMA, owner.get(0), sql);
        }
    }

    private static void createHistory(Connection connection) throws SQLException {
        if (exists(connection)) {
            return;
        }
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE SCHEMA IF NOT EXISTS " + SCHEMA);
        }
        try (Sql.Ending ending = () -> connection.setAutoCommit(true)) {
            LiquibaseRun.quietly(new ClassLoaderResourceAccessor(), () -> {
                PostgresDatabase database = new PostgresDatabase();
                database.setConnection(new JdbcConnection(connection));
                database.setLiquibaseSchemaName(SCHEMA);
                ChangeLogHistoryServiceFactory services =
                        Scope.getCurrentScope().getSingleton(ChangeLogHistoryServiceFactory.class);
                services.getChangeLogService(database).init();
                services.resetAll();
                // A shard's lines are found by the prefix of their file name.
                try (Statement statement = connection.createStatement()) {
                    statement.execute("CREATE INDEX ON %s (filename)".formatted(TABLE));
                }
                database.commit();
                return true;
            });
        } catch (Exception e) {
            throw new DeployException("cannot create %s: %s".formatted(TABLE, ShardChangelog.rootMessage(e)), e);
        }
    }

    /** The changesets of every shard: checksums by the changeset's key, null where Liquibase was told to forget one. */
    static Map<Integer, Map<String, @Nullable String>> read(Connection connection) throws SQLException {
        Map<Integer, Map<String, @Nullable String>> history = new TreeMap<>();
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(10_000);
            try (ResultSet row = statement.executeQuery(READ)) {
                while (row.next()) {
                    int shard = Integer.parseInt(row.getString(1).substring("shard_".length()));
                    String key = row.getString(2) + "::" + row.getString(3) + "::" + row.getString(4);
                    history.computeIfAbsent(shard, s -> new HashMap<>()).put(key, row.getString(5));
                }
            }
        }
        return history;
    }

    /**
     * A changeset in a shard's history.
     *
     * @param order the place of its line among those of the server
     * @param onlyMarked whether its SQL was not run, since its preconditions did not hold
     */
    record Line(int order, boolean onlyMarked) {}

    /** The lines of every shard, by the changeset's key. */
    static Map<Integer, Map<String, Line>> lines(Connection connection) throws SQLException {
        Map<Integer, Map<String, Line>> history = new TreeMap<>();
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(LINES)) {
            while (row.next()) {
                history.computeIfAbsent(row.getInt(1), s -> new HashMap<>())
                        .put(row.getString(2), new Line(row.getInt(3), row.getBoolean(4)));
            }
        }
        return history;
    }

    /** The shards whose schema a server has. */
    static List<Integer> presentShards(Connection connection) throws SQLException {
        return Sql.list(
                connection,
                "SELECT right(nspname, 4)::integer FROM pg_catalog.pg_namespace WHERE nspname ~ '^shard_[0-9]{4}$'",
                row -> row.getInt(1));
    }

    /** The highest line number in the history, to continue from. */
    static int lastOrder(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT COALESCE(max(orderexecuted), 0) FROM " + TABLE)) {
            row.next();
            return row.getInt(1);
        }
    }

    /**
     * SQL that records a changeset as deployed to a shard, replacing an existing line; part of the transaction that deploys it.
     *
     * @param how {@code EXECUTED}, {@code RERAN} or {@code MARK_RAN}
     */
    static String recordSql(int shard, ShardChangeSet changeSet, String how, int order, String deployment) {
        String schema = Sharding.schema(shard);
        return (how.equals("EXECUTED") ? "" : keepSql(schema, changeSet) + ";\n")
                + recordSql(schema, changeSet, how, order, deployment);
    }

    /** SQL that keeps the line of a changeset about to run again, unless a line with the same text is kept already. */
    private static String keepSql(String schema, ShardChangeSet changeSet) {
        String its = "id = %s AND author = %s"
                .formatted(SqlText.literal(changeSet.id()), SqlText.literal(changeSet.author()));
        String file = file(schema, changeSet);
        return "UPDATE %1$s h SET filename = %2$s WHERE %3$s AND filename = %4$s AND exectype <> 'MARK_RAN' AND md5sum IS NOT NULL AND NOT EXISTS (SELECT FROM %1$s e WHERE e.%3$s AND e.filename = %2$s AND e.md5sum = h.md5sum)"
                .formatted(TABLE, SqlText.literal(EARLIER + file), its, SqlText.literal(file));
    }

    static String recordSql(String schema, ShardChangeSet changeSet, String how, int order, String deployment) {
        return (how.equals("EXECUTED") ? "" : forgetSql(schema, changeSet) + ";\n")
                + "INSERT INTO %s (id, author, filename, dateexecuted, orderexecuted, exectype, md5sum, description, comments, tag, liquibase, deployment_id) VALUES (%s, %s, %s, localtimestamp, %s, %s, %s, %s, '', %s, %s, %s)"
                        .formatted(
                                TABLE,
                                SqlText.literal(changeSet.id()),
                                SqlText.literal(changeSet.author()),
                                SqlText.literal(file(schema, changeSet)),
                                order,
                                SqlText.literal(how),
                                SqlText.literal(changeSet.checksum()),
                                SqlText.literal(abbreviate(changeSet.description(), 255)),
                                changeSet.tag().map(SqlText::literal).orElse("NULL"),
                                SqlText.literal(abbreviate(LiquibaseUtil.getBuildVersion(), 20)),
                                SqlText.literal(deployment));
    }

    /** SQL that removes the line of a changeset undone on a shard. */
    static String forgetSql(int shard, ShardChangeSet changeSet) {
        String schema = Sharding.schema(shard);
        return forgetSql(schema, changeSet)
                + " OR id = %s AND author = %s AND filename = %s"
                        .formatted(
                                SqlText.literal(changeSet.id()),
                                SqlText.literal(changeSet.author()),
                                SqlText.literal(EARLIER + file(schema, changeSet)));
    }

    private static String forgetSql(String schema, ShardChangeSet changeSet) {
        return "DELETE FROM %s WHERE id = %s AND author = %s AND filename = %s"
                .formatted(
                        TABLE,
                        SqlText.literal(changeSet.id()),
                        SqlText.literal(changeSet.author()),
                        SqlText.literal(file(schema, changeSet)));
    }

    private static String file(String schema, ShardChangeSet changeSet) {
        return schema + "/" + changeSet.path();
    }

    private static String abbreviate(String text, int length) {
        return text.substring(0, Math.min(text.length(), length));
    }
}
