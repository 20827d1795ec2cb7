/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.util.List;
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

    /** Adds the commands that these arguments need, or all if they name none. */
    public static void add(CommandLine root, String... args) {
        add(root, new Commands(), args, 0);
    }

    /** Adds all commands. */
    public static void addAll(CommandLine root) {
        add(root);
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
                "server",
                "map",
                "schema",
                "reference",
                "lookup",
                "sql",
                "gateway",
                "adopt",
                "move",
                "rebalance",
                "top",
                "doctor",
                "exporter",
                "console",
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
