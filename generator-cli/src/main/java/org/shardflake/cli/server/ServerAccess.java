/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.server;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import org.shardflake.cli.CliException;
import org.shardflake.cli.ExitCodes;
import org.shardflake.server.ServerUrl;

/** Reads the URLs that users give, and connects to them, with failures said as the command line says them. */
public final class ServerAccess {

    private static final String FORMS =
            "write it as postgresql://user@host:5432/database or jdbc:postgresql://host:5432/database?user=...";

    private ServerAccess() {}

    /**
     * Reads an URL, with what it leaves out taken from {@code PGUSER} and {@code PGPASSWORD}.
     *
     * @throws CliException if it is neither a libpq nor a JDBC URL of PostgreSQL
     */
    public static ServerUrl parse(String url, Map<String, String> environment) {
        try {
            return ServerUrl.parse(url, environment);
        } catch (IllegalArgumentException e) {
            throw new CliException(ExitCodes.USAGE, String.valueOf(e.getMessage()), FORMS);
        }
    }

    /**
     * Connects, in auto-commit mode. The caller closes the connection.
     *
     * @throws CliException if the server cannot be reached or refuses
     */
    public static Connection connect(ServerUrl url) {
        try {
            return url.dataSource().getConnection();
        } catch (SQLException e) {
            throw ServerFailure.explainConnecting(url, e);
        }
    }
}
