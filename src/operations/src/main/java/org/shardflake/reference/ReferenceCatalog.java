/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.AdvisoryLock;

/** The catalog's record of reference tables, and the lock held while changing them. For one thread. */
final class ReferenceCatalog implements AutoCloseable {

    private static final Duration LOCK_PATIENCE = Duration.ofSeconds(10);

    private final Connection connection;

    private ReferenceCatalog(Connection connection) {
        this.connection = connection;
    }

    /**
     * Connects, and takes the lock.
     *
     * @throws ShardflakeException if another command has it
     */
    static ReferenceCatalog lock(ServerUrl url) throws SQLException {
        Connection connection = url.connect("shardflake reference");
        try {
            Optional<String> holder = new AdvisoryLock("shardflake.reference").take(connection, LOCK_PATIENCE);
            if (holder.isPresent()) {
                throw new ShardflakeException(
                        Kind.PRECONDITION,
                        "another command works on reference tables; nothing was changed. In the catalog, %s holds its lock"
                                .formatted(holder.get()),
                        "wait for it to end",
                        null);
            }
            return new ReferenceCatalog(connection);
        } catch (SQLException | RuntimeException e) {
            Sql.close(connection);
            throw e;
        }
    }

    Connection connection() {
        return connection;
    }

    /** The record in the catalog of a connection; empty if there are no reference tables, or the catalog is of an older version. */
    static Optional<Home> home(Connection connection) throws SQLException {
        if (!Sql.isTrue(connection, "SELECT to_regclass('shardflake_catalog.reference') IS NOT NULL")) {
            return Optional.empty();
        }
        return Sql.list(
                        connection,
                        "SELECT home, tag, next_home, next_tag, old_home, old_tag FROM shardflake_catalog.reference",
                        row -> new Home(
                                row.getString(1),
                                row.getString(2),
                                row.getString(3),
                                row.getString(4),
                                row.getString(5),
                                row.getString(6)))
                .stream()
                .findFirst();
    }

    Optional<Home> home() throws SQLException {
        return home(connection);
    }

    void found(String home) throws SQLException {
        Sql.call(connection, "INSERT INTO shardflake_catalog.reference (home, tag) VALUES (?, ?)", home, tag(1));
    }

    private static String tag(int number) {
        byte[] random = new byte[3];
        ThreadLocalRandom.current().nextBytes(random);
        return "r%s_%s".formatted(number, HexFormat.of().formatHex(random));
    }

    /** Records the next home. */
    void beginMove(Home home, String next) throws SQLException {
        int number = Integer.parseInt(home.tag().substring(1, home.tag().indexOf('_')));
        Sql.call(
                connection,
                "UPDATE shardflake_catalog.reference SET next_home = ?, next_tag = ?, changed_at = clock_timestamp()",
                next,
                tag(number + 1));
    }

    /** Switches the home. Only the holder of the lock gets here; the condition is for one whose lock was lost with its connection. */
    void switchHome(Home home) throws SQLException {
        int changed = Sql.update(
                connection,
                "UPDATE shardflake_catalog.reference SET old_home = home, old_tag = tag, home = next_home, tag = next_tag, next_home = NULL, next_tag = NULL, changed_at = clock_timestamp() WHERE tag = ? AND next_tag = ?",
                home.tag(),
                String.valueOf(home.nextTag()));
        if (changed != 1) {
            throw new ShardflakeException(
                    ShardflakeException.Kind.FAILURE,
                    "someone else has changed the home",
                    Advice.of("see %s", CliCommand.REFERENCE_STATUS),
                    null);
        }
    }

    void endMove() throws SQLException {
        Sql.execute(
                connection,
                "UPDATE shardflake_catalog.reference SET next_home = NULL, next_tag = NULL, old_home = NULL, old_tag = NULL, changed_at = clock_timestamp()");
    }

    /** Records a delete; false if it was recorded before. */
    boolean beginDelete(String table, List<String> key) throws SQLException {
        return Sql.update(
                        connection,
                        "INSERT INTO shardflake_catalog.reference_delete (table_name, key) VALUES (?, ?) ON CONFLICT DO NOTHING",
                        table,
                        connection.createArrayOf("text", key.toArray()))
                > 0;
    }

    void endDelete(String table, List<String> key) throws SQLException {
        Sql.call(
                connection,
                "DELETE FROM shardflake_catalog.reference_delete WHERE table_name = ? AND key = ?",
                table,
                connection.createArrayOf("text", key.toArray()));
    }

    /** Deletions that were interrupted: the table and the key of each. */
    static List<List<String>> unfinishedDeletes(Connection connection) throws SQLException {
        return Sql.list(
                connection,
                "SELECT table_name || key FROM shardflake_catalog.reference_delete ORDER BY begun_at",
                row -> List.of((String[]) row.getArray(1).getArray()));
    }

    @Override
    public void close() {
        Sql.close(connection);
    }
}
