/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.installation;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.EpochMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.command.option.ReasonMixin;
import org.shardflake.cli.command.option.SpreadConverter;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.map.ShardMapView;
import org.shardflake.cli.server.ServerAccess;
import org.shardflake.install.Installation;
import org.shardflake.server.ServerUrl;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake init}: creates an installation. */
@Command(
        name = "init",
        description = {
            "Begins an installation: deploys the function library to every server and the catalog to its database, and"
                    + " writes the first shard map.",
            "The number of shards and the epoch never change afterwards. If no catalog is given, it goes into"
                    + " the database of the first server. After a failure, run the command again to continue where it"
                    + " stopped."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:a server or the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "4:there is a shard map already, a server belongs to another installation, makes ids with another epoch, or was set up by a newer shardflake; nothing was changed"
        },
        footer = {
            "",
            "Example: shardflake init --server db1=postgresql://app@db1/app --server db2=postgresql://app@db2/app"
        })
public final class InitCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Mixin
    private CatalogMixin catalog;

    @Option(
            names = "--server",
            paramLabel = "NAME=URL",
            required = true,
            description =
                    "A server and its URL, db1=postgresql://user@host:port/database, without a password. Once for each server.")
    private List<String> servers;

    @Option(
            names = "--shards",
            paramLabel = "N",
            defaultValue = "" + Sharding.DEFAULT_SHARD_COUNT,
            description = "Number of logical shards, 1..8192 (default: ${DEFAULT-VALUE}).")
    private int shardCount;

    @Option(
            names = "--layout",
            paramLabel = "LAYOUT",
            defaultValue = "contiguous",
            converter = SpreadConverter.class,
            completionCandidates = SpreadConverter.Names.class,
            description = "contiguous keeps neighbouring shards on one server, round-robin deals them out in turn"
                    + " (default: ${DEFAULT-VALUE}).")
    private Spread spread;

    @Option(
            names = "--catalog-lost",
            description = "The servers belong to an installation whose catalog is lost for good: create a new one."
                    + " shardflake doctor then says where the shards are.")
    private boolean catalogLost;

    @Mixin
    private EpochMixin epoch;

    @Mixin
    private ReasonMixin reason;

    @Option(names = "--dry-run", description = "Check everything and show the map, but change nothing.")
    private boolean dryRun;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        ShardMap map = map(readServers());
        Installation installation = new Installation(home(), catalog::urlOf);
        if (dryRun) {
            installation.check(map, catalogLost);
            spec.commandLine().getErr().println("dry run: nothing was changed");
            print(map);
            return;
        }
        print(installation.create(map, reason.reason(), catalogLost));
    }

    private List<Server> readServers() {
        List<Server> read = new ArrayList<>();
        for (String server : servers) {
            int equals = server.indexOf('=');
            if (equals < 0) {
                throw CliException.usage("--server takes NAME=URL, such as db1=postgresql://app@db1/app");
            }
            read.add(ServerAccess.server(
                    server.substring(0, equals), server.substring(equals + 1), Optional.empty(), Map.of()));
        }
        return read;
    }

    private ShardMap map(List<Server> servers) {
        IdLayout layout = epoch.layout();
        try {
            return ShardMap.initial(new Sharding(shardCount), layout, servers, spread);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }

    private ServerUrl home() {
        ServerUrl given = catalog.given();
        if (given != null) {
            return given;
        }
        String first = servers.get(0);
        int equals = first.indexOf('=');
        spec.commandLine()
                .getErr()
                .printf("the catalog is in the database of the first server, %s%n", first.substring(0, equals));
        return catalog.parse(first.substring(equals + 1));
    }

    private void print(ShardMap map) {
        output.print(ShardMapView.facts(map), () -> ShardMapView.table(map));
    }
}
