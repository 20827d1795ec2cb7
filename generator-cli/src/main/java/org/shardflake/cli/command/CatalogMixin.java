/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import org.jspecify.annotations.Nullable;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cli.CliException;
import org.shardflake.cli.ExitCodes;
import org.shardflake.cli.Shardflake;
import org.shardflake.cli.server.ServerAccess;
import org.shardflake.server.ServerUrl;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** The catalog that a command reads or changes. */
class CatalogMixin {

    private static final String VARIABLE = "SHARDFLAKE_CATALOG";

    @Spec(Spec.Target.MIXEE)
    private CommandSpec command;

    @Option(
            names = "--catalog",
            paramLabel = "URL",
            description = "The database with the shard map, postgresql://user@host:port/database; the password may come"
                    + " from PGPASSWORD or ~/.pgpass (default: the environment variable " + VARIABLE + ").")
    private @Nullable String url;

    /** The catalog, which is not connected to yet. */
    ShardCatalog catalog() {
        ServerUrl given = given();
        if (given == null) {
            throw new CliException(
                    ExitCodes.USAGE,
                    "which catalog? Neither --catalog nor the environment variable %s says".formatted(VARIABLE),
                    "give --catalog postgresql://user@host:5432/database, or set %s to that".formatted(VARIABLE));
        }
        return ShardCatalog.at(given);
    }

    /** What the command line says, or else the environment, or else null. */
    @Nullable
    ServerUrl given() {
        String text = url == null ? shardflake().environment().get(VARIABLE) : url;
        return text == null || text.isBlank() ? null : parse(text);
    }

    /** An URL, with what it leaves out taken from the environment. */
    ServerUrl parse(String text) {
        return ServerAccess.parse(text, shardflake().environment());
    }

    private Shardflake shardflake() {
        return (Shardflake) command.root().userObject();
    }
}
