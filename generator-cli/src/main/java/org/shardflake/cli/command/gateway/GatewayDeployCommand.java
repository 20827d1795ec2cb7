/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.gateway;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.Invocation;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.server.ServerAccess;
import org.shardflake.gateway.Gateways;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake gateway deploy}: creates a gateway. */
@Command(
        name = "deploy",
        description = {
            "Makes a schema in a PostgreSQL database with one read-only table for each table of the shards, over postgres_fdw.",
            "The reader's password comes from SHARDFLAKE_READER_PASSWORD; without one, the gateway's host has to know it, as in ~/.pgpass.",
            "The same command again brings everything up to date, also the logins."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:the gateway reads all shards",
            "1:a server, the catalog or the database cannot be reached, or failed; run the same command again",
            "2:the command line is wrong",
            "4:there is no catalog, the database cannot be a gateway, or the reader may not read; nothing was changed"
        },
        footer = {
            "",
            "Example: shardflake gateway deploy --on postgresql://ann@reports/bi --reader reports --for analysts"
        })
final class GatewayDeployCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Option(
            names = "--on",
            paramLabel = "URL",
            required = true,
            description =
                    "The database, postgresql://user@host:port/database; the user needs to create extensions or have postgres_fdw.")
    private String url;

    @Option(
            names = "--name",
            paramLabel = "NAME",
            defaultValue = "gateway",
            description = "The name of the gateway (default: ${DEFAULT-VALUE}).")
    private String name;

    @Option(
            names = "--schema",
            paramLabel = "NAME",
            defaultValue = "shards",
            description = "The schema of its tables there (default: ${DEFAULT-VALUE}).")
    private String schema;

    @Option(
            names = "--reader",
            paramLabel = "ROLE",
            required = true,
            description = "The role with which it logs in to every server and which may read the shards.")
    private String reader;

    @Option(
            names = "--for",
            paramLabel = "ROLES",
            split = ",",
            description = "Roles of that database that may use it, or public (default: the user of the URL).")
    private List<String> roles = new ArrayList<>();

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        String plain =
                ServerAccess.server("gateway", url, Optional.empty(), Map.of()).url();
        String password = Invocation.of(spec).environment().get("SHARDFLAKE_READER_PASSWORD");
        Gateways.Refreshed deployed = catalog.gateways().deploy(name, plain, schema, reader, roles, password);
        output.print(GatewayView.facts(deployed), () -> GatewayView.text(deployed));
    }
}
