/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.map;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.nio.file.Path;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.catalog.ShardMapFile;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.DryRunMixin;
import org.shardflake.cli.command.option.Invocation;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.command.option.ReasonMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.FileFailure;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.server.ServerAccess;
import org.shardflake.install.ServerFailedException;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code shardflake map import}: makes the shard map equal to a file. */
@Command(
        name = "import",
        description = {
            "Makes the shard map equal to a file that was exported and edited, all or nothing.",
            "Moves no rows: each shard must already be where the file places it. The file's version must equal"
                    + " the map's, so that no change in between is lost."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:the catalog cannot be reached, or the file cannot be read",
            "2:the command line is wrong, the file is not a shard map, or it was not confirmed",
            "4:there is no catalog, its map has a different version, shard count or epoch, or a shard would be placed on a server that lacks it while another has it"
        },
        footer = {"", "Example: shardflake map import map.yaml --dry-run"})
final class MapImportCommand implements Runnable {

    @Spec
    private CommandSpec spec;

    @Parameters(index = "0", paramLabel = "FILE", description = "The edited file, or '-' for standard input.")
    private String file;

    @Mixin
    private ReasonMixin reason;

    @Mixin
    private DryRunMixin dryRun;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        ShardMap wanted = read();
        wanted.servers()
                .forEach(server ->
                        ServerAccess.server(server.name(), server.url(), server.applicationUrl(), server.labels()));
        ShardCatalog shardCatalog = catalog.catalog();
        wanted.servers().forEach(shardCatalog::requireKeeps);
        ShardMap current = shardCatalog.load();
        requireOwn(current, wanted);
        MapDifference difference = MapDifference.between(current, wanted);
        if (!difference.moves().isEmpty()) {
            warn(difference.shardCount());
        }
        if (!difference.moves().isEmpty() || difference.catchesUp()) {
            new PlacedCopies(catalog, spec.commandLine().getErr()).check(current, wanted, difference.moves());
        }
        long version = wanted.version();
        if (dryRun.isOn()) {
            dryRun.say();
        } else {
            version = shardCatalog.importMap(wanted, reason.reason(), true).version();
        }
        output.print(difference.facts(version), difference::table);
    }

    /** Warns about servers that the map does not have yet, or has at other URLs. */
    private void requireOwn(ShardMap current, ShardMap wanted) {
        for (Server server : wanted.servers()) {
            boolean isKnown = current.servers().stream()
                    .anyMatch(known ->
                            known.name().equals(server.name()) && known.url().equals(server.url()));
            if (!isKnown) {
                try {
                    catalog.installation().requireOwn(server);
                } catch (ServerFailedException e) {
                    spec.commandLine()
                            .getErr()
                            .printf("%s could not be asked whose it is: %s%n", server.name(), e.getMessage());
                }
            }
        }
    }

    private void warn(int shards) {
        if (!dryRun.isOn()) {
            confirm.require(
                    "place %s on other servers without moving their rows".formatted(Amounts.shards(shards)),
                    "a shard whose rows are not there already would be empty to its users; --dry-run shows which");
        }
        spec.commandLine()
                .getErr()
                .printf(
                        "import moves no rows: those of %s must be on their new servers already%n",
                        Amounts.shards(shards));
    }

    private ShardMap read() {
        try {
            if (!file.equals("-")) {
                return ShardMapFile.read(Path.of(file));
            }
            Invocation invocation = Invocation.of(spec);
            return ShardMapFile.parse(new String(invocation.in().readAllBytes(), UTF_8));
        } catch (IOException e) {
            throw FileFailure.explain("read", file, e);
        } catch (IllegalArgumentException e) {
            throw CliException.usage(e);
        }
    }
}
