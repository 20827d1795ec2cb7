/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.server;

import java.sql.Connection;
import java.sql.SQLException;
import org.shardflake.DeployedLayout;
import org.shardflake.IdLayout;
import org.shardflake.LibraryNotDeployedException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.error.CliException;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.CatalogSchema;
import org.shardflake.sql.DeploymentException;
import org.shardflake.sql.FunctionLibrary;
import org.shardflake.sql.NewerVersionException;

/** Brings our own schemas to a server, with failures said as the command line says them. */
public final class Deployment {

    private Deployment() {}

    /**
     * Checks that the server can be reached and that {@link #deployLibrary} would meet neither ids of another layout nor a newer
     * library.
     *
     * @throws CliException if it cannot be reached, or has a newer library
     * @throws org.shardflake.LayoutMismatchException if it makes ids with another epoch
     */
    public static void check(ServerUrl server, IdLayout layout) {
        try {
            requireLibrary(server, layout);
        } catch (LibraryNotDeployedException e) {
            // Then deploying it is all that is missing.
        }
        run(server, connection -> FunctionLibrary.check(connection, layout.epochMillis()));
    }

    /** Checks that {@link #deployCatalog} would not meet a newer one. */
    public static void checkCatalog(ServerUrl server) {
        run(server, CatalogSchema::check);
    }

    /**
     * Checks that the server can be reached and makes ids of this layout.
     *
     * @throws CliException if it cannot be reached
     * @throws org.shardflake.LayoutMismatchException if it makes ids with another epoch
     * @throws LibraryNotDeployedException if it makes no ids
     */
    public static void requireLibrary(ServerUrl server, IdLayout layout) {
        run(server, connection -> DeployedLayout.require(connection, layout));
    }

    /** Deploys the function library, or brings it up to date. */
    public static void deployLibrary(ServerUrl server, IdLayout layout) {
        run(server, connection -> FunctionLibrary.deploy(connection, layout.epochMillis()));
    }

    /** Deploys the catalog's schema, or brings it up to date. */
    public static void deployCatalog(ServerUrl server) {
        run(server, CatalogSchema::deploy);
    }

    private static void run(ServerUrl server, Work work) {
        try (Connection connection = ServerAccess.connect(server)) {
            work.run(connection);
        } catch (SQLException e) {
            throw ServerFailure.explain(server, e);
        } catch (NewerVersionException e) {
            throw new CliException(
                    Kind.PRECONDITION,
                    "server %s: %s".formatted(server, e.getMessage()),
                    "use the newer shardflake that deployed it",
                    e);
        } catch (DeploymentException e) {
            throw new CliException(Kind.FAILURE, "server %s: %s".formatted(server, e.getMessage()), null, e);
        }
    }

    @FunctionalInterface
    private interface Work {
        void run(Connection connection) throws SQLException;
    }
}
