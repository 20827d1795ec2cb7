/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Optional;
import org.shardflake.CliCommand;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.catalog.CatalogMissingException;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cli.command.option.CatalogOrigin;
import org.shardflake.cli.command.option.Invocation;
import org.shardflake.cli.config.Setting;
import org.shardflake.cli.server.ServerAccess;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.Mover;
import org.shardflake.server.ServerUrl;

/** The output of {@code shardflake} alone: the current state, and what to do next. */
public final class NextSteps {

    private final Invocation invocation;
    private final PrintWriter out;

    public NextSteps(Invocation invocation, PrintWriter out) {
        this.invocation = invocation;
        this.out = out;
    }

    public void print() throws SQLException {
        Optional<Setting> catalog = CatalogOrigin.find(invocation);
        if (catalog.isEmpty()) {
            out.println("No catalog is set, and there is no local cluster here. To begin:");
            step(CliCommand.DEMO, "see it run, on servers that go away again");
            step(CliCommand.LOCAL_START, "a cluster that stays, to try every command on");
            step(CliCommand.INIT_HERE, "an installation on your own servers");
        } else {
            installation(catalog.get());
        }
        out.println();
        out.println("All commands: shardflake --help");
    }

    private void installation(Setting setting) throws SQLException {
        ServerUrl url = invocation.url(setting.value());
        out.printf("Catalog %s, from the %s%n", url, setting.origin());
        try {
            map(url, ShardCatalog.at(url).load());
        } catch (CatalogMissingException e) {
            out.println("There is no shard map yet. Next:");
            step(CliCommand.INIT_HERE, "creates it");
        }
    }

    private void map(ServerUrl url, ShardMap map) throws SQLException {
        out.print("%s on %s; version %s of the shard map%n"
                .formatted(
                        Plural.of(map.sharding().shardCount(), "shard"),
                        Plural.of(map.servers().size(), "server"),
                        map.version()));
        int moves = Mover.moves(url).size();
        if (moves > 0) {
            out.println(moves == 1 ? "1 move is in progress" : moves + " moves are in progress");
        }
        out.println("Next:");
        if (moves > 0) {
            step(CliCommand.MOVE_STATUS, "shows the moves");
        } else if (!isDeployed(map)) {
            step(CliCommand.SCHEMA_DEPLOY, "creates your tables on every shard");
        }
        step(CliCommand.MAP_SHOW, "shows which server has which shards");
        step(CliCommand.MAP_LOCATE_UID.with(7), "says where a uid is");
        step(CliCommand.ID_DECODE, "says when an id was made, and in which shard");
        step(CliCommand.DOCTOR, "examines every server");
    }

    /** Whether shards are deployed: the first server that should have some has at least one. */
    private boolean isDeployed(ShardMap map) throws SQLException {
        Server server = map.server(0);
        try (Connection connection = ServerAccess.connect(invocation.url(server.url()))) {
            return Sql.isTrue(
                    connection, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname ~ '^shard_[0-9]{4}$')");
        }
    }

    private void step(CliCommand command, String what) {
        out.printf("  %-41s %s%n", command, what);
    }
}
