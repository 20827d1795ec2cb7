/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.util.List;
import picocli.CommandLine;

/**
 * The tree of commands. Builds only those on the path to the called one, since building all of them takes most of the time of a short
 * command.
 */
public final class Commands {

    private Commands() {}

    /** Adds the commands that these arguments need, or all if they name none. */
    public static void add(CommandLine root, String... args) {
        add(root, "", args, 0);
    }

    /** Adds all commands. */
    public static void addAll(CommandLine root) {
        add(root);
    }

    private static void add(CommandLine parent, String path, String[] args, int depth) {
        List<String> names = names(path);
        boolean named = depth < args.length && names.contains(args[depth]);
        for (String name : named ? List.of(args[depth]) : names) {
            String full = path.isEmpty() ? name : path + " " + name;
            CommandLine command = new CommandLine(create(full));
            parent.addSubcommand(name, command);
            add(command, full, named ? args : new String[0], depth + 1);
        }
    }

    /** The subcommands of a command, in the order of its help. */
    private static List<String> names(String path) {
        return switch (path) {
            case "" ->
                List.of(
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
            case "local" -> List.of("start", "status", "stop");
            case "server" -> List.of("add", "list", "change", "drain", "split", "remove", "names");
            case "map" -> List.of("show", "locate", "export", "import", "history");
            case "schema" -> List.of("deploy", "check", "status", "rollback");
            case "lookup" -> List.of("create", "list", "backfill", "verify", "drop");
            case "reference" -> List.of("deploy", "status", "delete", "move", "adopt", "repair");
            case "gateway" -> List.of("deploy", "refresh", "status", "drop");
            case "move" -> List.of("run", "start", "status", "verify", "cutover", "reverse", "complete", "cancel");
            case "rebalance" -> List.of("plan", "apply", "run");
            case "restore-point" -> List.of("check", "list");
            case "id" -> List.of("decode", "encode", "convert", "range", "next", "generate");
            default -> List.of();
        };
    }

    /** In a switch, so that classes are loaded only when needed. */
    private static Object create(String path) {
        return switch (path) {
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
            case "local start" -> new LocalStartCommand();
            case "local status" -> new LocalStatusCommand();
            case "local stop" -> new LocalStopCommand();
            case "server add" -> new ServerAddCommand();
            case "server list" -> new ServerListCommand();
            case "server change" -> new ServerChangeCommand();
            case "server drain" -> new ServerDrainCommand();
            case "server split" -> new ServerSplitCommand();
            case "server remove" -> new ServerRemoveCommand();
            case "server names" -> new ServerNamesCommand();
            case "map show" -> new MapShowCommand();
            case "map locate" -> new MapLocateCommand();
            case "map export" -> new MapExportCommand();
            case "map import" -> new MapImportCommand();
            case "map history" -> new MapHistoryCommand();
            case "schema deploy" -> new SchemaDeployCommand();
            case "schema check" -> new SchemaCheckCommand();
            case "schema status" -> new SchemaStatusCommand();
            case "schema rollback" -> new SchemaRollbackCommand();
            case "reference deploy" -> new ReferenceDeployCommand();
            case "reference status" -> new ReferenceStatusCommand();
            case "reference delete" -> new ReferenceDeleteCommand();
            case "reference move" -> new ReferenceMoveCommand();
            case "reference adopt" -> new ReferenceAdoptCommand();
            case "reference repair" -> new ReferenceRepairCommand();
            case "lookup create" -> new LookupCreateCommand();
            case "lookup list" -> new LookupListCommand();
            case "lookup backfill" -> new LookupBackfillCommand();
            case "lookup verify" -> new LookupVerifyCommand();
            case "lookup drop" -> new LookupDropCommand();
            case "gateway deploy" -> new GatewayDeployCommand();
            case "gateway refresh" -> new GatewayRefreshCommand();
            case "gateway status" -> new GatewayStatusCommand();
            case "gateway drop" -> new GatewayDropCommand();
            case "move run" -> new MoveRunCommand();
            case "move start" -> new MoveStartCommand();
            case "move status" -> new MoveStatusCommand();
            case "move verify" -> new MoveVerifyCommand();
            case "move cutover" -> new MoveCutoverCommand();
            case "move reverse" -> new MoveReverseCommand();
            case "move complete" -> new MoveCompleteCommand();
            case "move cancel" -> new MoveCancelCommand();
            case "rebalance plan" -> new RebalancePlanCommand();
            case "rebalance apply" -> new RebalanceApplyCommand();
            case "rebalance run" -> new RebalanceRunCommand();
            case "restore-point check" -> new RestorePointCheckCommand();
            case "restore-point list" -> new RestorePointListCommand();
            case "id decode" -> new IdDecodeCommand();
            case "id encode" -> new IdEncodeCommand();
            case "id convert" -> new IdConvertCommand();
            case "id range" -> new IdRangeCommand();
            case "id next" -> new IdNextCommand();
            case "id generate" -> new IdGenerateCommand();
            default -> throw new IllegalArgumentException("no command " + path);
        };
    }
}
