/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.Optional;
import java.util.stream.Collectors;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.jdbc.Sql;

/**
 * Checks whether indexes, checks and generated columns of shards can be computed with an empty search_path, as logical replication
 * workers do. A function that calls another without its schema works for the application but stops every move.
 */
public final class EmptySearchPath {

    private static final String CHECK = ShardDescription.sql("search_path.sql");
    private static final String INVALID_OBJECT_DEFINITION = "42P17";

    private EmptySearchPath() {}

    /** SQL that fails if something in the shards cannot be computed, and otherwise changes nothing. */
    static String checkSql(ShardSet shards) {
        return CHECK.replace(
                "@schemas",
                shards.stream()
                        .mapToObj(shard -> Sql.quote(Sharding.schema(shard)))
                        .collect(Collectors.joining(", ", "ARRAY[", "]")));
    }

    /** Reports what cannot be computed and why; runs in the connection's transaction, if any, which is then lost. */
    public static Optional<String> check(Connection connection, ShardSet shards) throws SQLException {
        try {
            if (connection.getAutoCommit()) {
                Sql.inTransaction(connection, () -> {
                    // Not read-only, since a table's owner needs a view of his own to be asked; nothing of that stays.
                    Savepoint before = connection.setSavepoint();
                    Sql.execute(connection, "SET LOCAL statement_timeout = '60s'; " + checkSql(shards));
                    connection.rollback(before);
                    return shards;
                });
            } else {
                Sql.execute(connection, checkSql(shards));
            }
            return Optional.empty();
        } catch (PSQLException e) {
            ServerErrorMessage error = e.getServerErrorMessage();
            if (error != null && INVALID_OBJECT_DEFINITION.equals(e.getSQLState())) {
                return Optional.of("%s. %s".formatted(error.getMessage(), error.getHint()));
            }
            throw e;
        }
    }
}
