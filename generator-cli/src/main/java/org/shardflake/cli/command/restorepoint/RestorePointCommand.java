/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.restorepoint;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.shardflake.cli.command.option.DurationConverter;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.command.option.Subcommands;
import org.shardflake.cli.error.CliException;
import org.shardflake.restore.RestorePoint;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code shardflake restore-point NAME}: makes a restore point of all servers and the catalog. */
@Command(
        name = "restore-point",
        description = {
            "Makes a restore point on every server and in the catalog, to which backups can be restored together with"
                    + " recovery_target_name. Waits for a moment without a cutover, the end of a move or another change of"
                    + " the shard map; writers do not wait.",
            "Transactions committed before the command began are before the point on every server. One committed while it runs may be before it on one server and after it on another."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:every server and the catalog have the point",
            "1:the catalog or a server cannot be reached, or failed",
            "2:the command line is wrong",
            "3:only some servers have the point, so it is useless",
            "4:no point was made: a move is in the way, the name is taken, a privilege is missing, or a server is a standby"
        },
        footer = {"", "Example: shardflake restore-point before-release-7"})
public final class RestorePointCommand implements Runnable, Subcommands {

    @Spec
    private CommandSpec spec;

    @Parameters(
            index = "0",
            arity = "0..1",
            paramLabel = "NAME",
            description =
                    "Its name: 1 to 63 letters, digits, dots, hyphens and underscores. Each name can be used once.")
    private @Nullable String name;

    @Option(
            names = "--patience",
            paramLabel = "TIME",
            defaultValue = "30s",
            converter = DurationConverter.class,
            description = "How long to wait for a moment without a cutover (default: ${DEFAULT-VALUE}).")
    private Duration patience;

    @Mixin
    private RestorePointMixin points;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        if (name == null) {
            throw CliException.usage("a name for the restore point is missing, or one of the commands check and list");
        }
        PrintWriter err = spec.commandLine().getErr();
        RestorePoint made = points.points().make(name, patience, warning -> err.println("warning: " + warning));
        output.print(RestorePointView.facts(made), () -> RestorePointView.places(made));
    }

    @Override
    public List<String> names() {
        return List.of("check", "list");
    }

    @Override
    public Object create(String name) {
        return switch (name) {
            case "check" -> new RestorePointCheckCommand();
            case "list" -> new RestorePointListCommand();
            default -> throw new IllegalArgumentException("no command restore-point " + name);
        };
    }
}
