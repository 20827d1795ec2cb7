/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shardflake.cli.command.cdc.CdcCommand;
import org.shardflake.cli.command.console.ConsoleCommand;
import org.shardflake.cli.command.doctor.DoctorCommand;
import org.shardflake.cli.command.doctor.ReconcileCommand;
import org.shardflake.cli.command.gateway.GatewayCommand;
import org.shardflake.cli.command.id.IdCommand;
import org.shardflake.cli.command.installation.AdoptCommand;
import org.shardflake.cli.command.installation.GrantsCommand;
import org.shardflake.cli.command.installation.InitCommand;
import org.shardflake.cli.command.installation.SeparateCommand;
import org.shardflake.cli.command.installation.UpgradeCommand;
import org.shardflake.cli.command.local.DemoCommand;
import org.shardflake.cli.command.local.LocalCommand;
import org.shardflake.cli.command.lookup.LookupCommand;
import org.shardflake.cli.command.map.MapCommand;
import org.shardflake.cli.command.move.MoveCommand;
import org.shardflake.cli.command.option.Subcommands;
import org.shardflake.cli.command.rebalance.RebalanceCommand;
import org.shardflake.cli.command.reference.ReferenceCommand;
import org.shardflake.cli.command.restorepoint.RestorePointCommand;
import org.shardflake.cli.command.schema.SchemaCommand;
import org.shardflake.cli.command.server.ServerCommand;
import org.shardflake.cli.command.sql.SqlCommand;
import org.shardflake.cli.command.watch.ExporterCommand;
import org.shardflake.cli.command.watch.TopCommand;
import picocli.CommandLine;

/**
 * The tree of commands. Builds only those on the path to the called one, since building all of them takes most of the time of a short
 * command.
 */
public final class Commands implements Subcommands {

    /** The commands by purpose, as the help shows them. */
    public static final String OVERVIEW = """
            Begin:
              demo           watch a live move, on servers that go away again
              local          a cluster on this machine that stays, to try every command on
              init           begin an installation on your own servers
            Tables and rows:
              schema         deploy tables to all shards, roll back, compare
              reference      small tables that are the same on every server
              lookup         find rows by a value, such as an e-mail address
              sql            query all shards, or write in them
              gateway        read-only tables over all shards, for psql and BI tools
              cdc            change streams, for Debezium and other readers
              adopt          bring tables of an ordinary database into the shards
            Servers and shards:
              server         add, list, change, drain, split and remove servers
              map            show and change which server has which shard
              move           move shards while the application writes
              rebalance      plan the moves that even out servers, and carry them out
            Watch and repair:
              doctor         find what is wrong, and fix it
              top            the busiest shards
              console        a page for operators
              exporter       metrics for Prometheus
              reconcile      bring servers in line with the map after a failover or restore
              restore-point  mark a point to which all backups can be restored together
              separate       make a clone an installation of its own
            Roles and versions:
              grants         print the SQL that gives a role what it needs
              upgrade        upgrade an installation of an older shardflake
            This command:
              id             make, decode and convert ids
              config         where the values of options come from
              completion     complete commands in bash, zsh and fish
              help           show the help of a command, such as help move run
              version        show the version
            """;

    /** Adds the commands that these arguments name, or all if they name no command. */
    public static void add(CommandLine root, String... args) {
        add(root, new Commands(), args, 0);
    }

    /** Adds all commands. */
    public static void addAll(CommandLine root) {
        add(root);
    }

    /** The arguments with {@code help} and {@code version} replaced by the corresponding options. */
    public static String[] withOptions(String... args) {
        if (args.length > 0 && args[0].equals("version")) {
            return Stream.concat(Stream.of("--version"), Stream.of(args).skip(1))
                    .toArray(String[]::new);
        }
        @Nullable Subcommands group = new Commands();
        int help = -1;
        for (int i = 0; i < args.length && group != null; i++) {
            if (args[i].equals("help") && help < 0) {
                help = i;
            } else if (group.names().contains(args[i])) {
                group = group.create(args[i]) instanceof Subcommands its ? its : null;
            } else {
                return help < 0 ? args : without(help, args); // An unknown command is an error, also after help.
            }
        }
        return help < 0
                ? args
                : Stream.concat(Stream.of(without(help, args)), Stream.of("--help"))
                        .toArray(String[]::new);
    }

    private static String[] without(int index, String... args) {
        List<String> others = new ArrayList<>(List.of(args));
        others.remove(index);
        return others.toArray(String[]::new);
    }

    private static void add(CommandLine parent, Subcommands below, String[] args, int depth) {
        List<String> names = below.names();
        boolean named = depth < args.length && names.contains(args[depth]);
        for (String name : named ? List.of(args[depth]) : names) {
            Object created = below.create(name);
            CommandLine command = new CommandLine(created);
            parent.addSubcommand(name, command);
            if (created instanceof Subcommands its) {
                add(command, its, named ? args : new String[0], depth + 1);
            }
        }
    }

    @Override
    public List<String> names() {
        return List.of(
                "demo",
                "local",
                "init",
                "schema",
                "reference",
                "lookup",
                "sql",
                "gateway",
                "cdc",
                "adopt",
                "server",
                "map",
                "move",
                "rebalance",
                "doctor",
                "top",
                "console",
                "exporter",
                "reconcile",
                "restore-point",
                "separate",
                "grants",
                "upgrade",
                "id",
                "config",
                "completion");
    }

    @Override
    public Object create(String name) {
        return switch (name) {
            case "demo" -> new DemoCommand();
            case "local" -> new LocalCommand();
            case "init" -> new InitCommand();
            case "server" -> new ServerCommand();
            case "map" -> new MapCommand();
            case "schema" -> new SchemaCommand();
            case "reference" -> new ReferenceCommand();
            case "lookup" -> new LookupCommand();
            case "sql" -> new SqlCommand();
            case "gateway" -> new GatewayCommand();
            case "cdc" -> new CdcCommand();
            case "adopt" -> new AdoptCommand();
            case "move" -> new MoveCommand();
            case "rebalance" -> new RebalanceCommand();
            case "top" -> new TopCommand();
            case "doctor" -> new DoctorCommand();
            case "exporter" -> new ExporterCommand();
            case "console" -> new ConsoleCommand();
            case "reconcile" -> new ReconcileCommand();
            case "restore-point" -> new RestorePointCommand();
            case "grants" -> new GrantsCommand();
            case "separate" -> new SeparateCommand();
            case "upgrade" -> new UpgradeCommand();
            case "id" -> new IdCommand();
            case "config" -> new ConfigCommand();
            case "completion" -> new CompletionCommand();
            default -> throw new IllegalArgumentException("no command " + name);
        };
    }
}
