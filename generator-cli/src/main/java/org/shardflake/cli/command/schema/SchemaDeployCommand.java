/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.schema;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.CliCommand;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.ChangelogMixin;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.DeployMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.command.option.ShardsOption;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.error.FileFailure;
import org.shardflake.cli.output.Progress;
import org.shardflake.deploy.DeployReport;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.DeployTarget;
import org.shardflake.deploy.RowChecks;
import org.shardflake.deploy.SchemaDeployer;
import org.shardflake.flyway.AppliedMigrations;
import org.shardflake.flyway.FlywayOrder;
import org.shardflake.jdbc.Plural;
import org.shardflake.move.FollowedMoves;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake schema deploy}: deploys one changelog to every shard. */
@Command(
        name = "deploy",
        description = {
            "Deploys a Liquibase changelog, or Flyway's SQL migrations, written as for one schema, to every shard.",
            "Starts with one shard, and stops there if the changelog is at fault. Each shard is deployed"
                    + " completely or left unchanged; if one fails, the others continue. Run the command again to do only"
                    + " what is left. New shards are created on their server, and new tables get their ids, fences and"
                    + " checks. A shard that is on another server, or was deployed before and is gone, is not recreated.",
            "A shard that is being moved is deployed together with the copy that follows it. What a copy cannot follow is refused."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:every shard matches the changelog",
            "1:a server or the catalog cannot be reached, or the changelog cannot be read or is at fault; no shard was changed",
            "2:the command line is wrong, or --recreate was not confirmed",
            "3:some shards failed and are unchanged",
            "4:there is no catalog, a changeset was edited, leaves its shard or cannot be deployed to a moving shard, a migration of Flyway is out of order or missing, a shard lacks the history of Flyway that others have or cannot take it over, a server has a newer function library, another deployment is running, or a missing shard is on another server or was deployed before; nothing was changed",
            "5:deployed, but shards differ from each other"
        },
        footer = {"", "Example: shardflake schema deploy --changelog db/app.xml --shards 7"})
final class SchemaDeployCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Mixin
    private ChangelogMixin changelog;

    @Mixin
    private TargetsMixin targets;

    @Mixin
    private DeployMixin deployment;

    @Option(
            names = "--tries",
            paramLabel = "N",
            defaultValue = "10",
            description = "How often to try a shard that others keep locked (default: ${DEFAULT-VALUE}).")
    private int tries;

    @Option(
            names = "--parallel",
            paramLabel = "N",
            defaultValue = "2",
            description = "How many shards of a server to change at a time (default: ${DEFAULT-VALUE}).")
    private int parallel;

    @Option(
            names = "--rest",
            paramLabel = "TIMES",
            defaultValue = "1",
            description =
                    "How long to pause after each shard that was there before, in multiples of the time that the shard took, for the sake of the applications: 0 to 100 (default: ${DEFAULT-VALUE}).")
    private double rest;

    @Option(names = "--fail-fast", description = "Start no further shard after one has failed.")
    private boolean failFast;

    @Option(
            names = "--uid-column",
            paramLabel = "NAME",
            description =
                    "The column that holds the uid, recorded permanently: new tables with this integer column refuse rows of other shards.")
    private @Nullable String uidColumn;

    @Option(names = "--no-checks", description = "Let new tables accept rows whose id or uid belongs to another shard.")
    private boolean noChecks;

    @Option(
            names = "--allow-public",
            description = "Allow changesets that name schema public, which the shards of a server share.")
    private boolean allowPublic;

    @Option(
            names = "--out-of-order",
            description =
                    "With flyway:DIRECTORY, deploy migrations whose version is lower than one that a shard has had, as Flyway's outOfOrder does.")
    private boolean outOfOrder;

    @Option(
            names = "--flyway-history",
            paramLabel = "FILE",
            description =
                    "With flyway:DIRECTORY, record as deployed, and do not run, what Flyway had applied to the old database before adopt plan planned the shards' tables: the file that adopt plan wrote.")
    private @Nullable Path history;

    @Option(
            names = "--dry-run",
            description = "Show which shards need something, with the SQL for one of each group, but change nothing.")
    private boolean dryRun;

    @Option(
            names = "--recreate",
            paramLabel = "SHARDS",
            description =
                    "Recreate these shards empty although they were deployed before: their rows are lost for good.")
    private @Nullable String recreate;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        ShardMap map = catalog.catalog().load();
        List<DeployTarget> shards = targets.targets(map, catalog);
        try (SchemaDeployer deployer = SchemaDeployer.prepare(changelog.file(), shards, map.layout(), settings(map))) {
            if (dryRun) {
                catalog.installation().planMoves(deployer, shards);
                check(deployer, map);
                spec.commandLine().getErr().println("dry run: nothing was changed");
                output.print(
                        DeployView.facts(deployer.preview()),
                        () -> DeployView.table("SHARDS TO DEPLOY", deployer.preview()));
                return ExitCodes.OK;
            }
            try (FollowedMoves moves = catalog.installation()
                    .holdMoves(
                            deployer,
                            shards,
                            what -> spec.commandLine().getErr().printf("waiting: %s%n", what))) {
                check(deployer, map);
                if (recreate != null) {
                    ShardSet empty = ShardsOption.parse(recreate, map);
                    confirm.require(
                            "recreate %s empty, and give up the rows that %s had"
                                    .formatted(Plural.shards(empty), Plural.choose(empty, "it", "they")),
                            "--dry-run shows what would be done");
                }
                deployer.messages().forEach(spec.commandLine().getErr()::println);
                catalog.onInterruption(() ->
                        "each shard is deployed completely or unchanged; see %s".formatted(CliCommand.SCHEMA_STATUS));
                DeployReport report = deploy(deployer);
                catalog.installation().remember(map);
                output.print(DeployView.facts(report), () -> DeployView.table(report));
                return DeployView.exitCode(report);
            }
        }
    }

    private void check(SchemaDeployer deployer, ShardMap map) {
        deployer.checkCreation(
                catalog.installation().urls(map), recreate == null ? ShardSet.of() : ShardsOption.parse(recreate, map));
        deployer.check();
    }

    private DeployReport deploy(SchemaDeployer deployer) throws InterruptedException {
        int pending = deployer.pendingShards();
        if (pending == 0) {
            return deployer.deploy(done -> {});
        }
        Progress.Factory progress = Progress.on(spec.commandLine().getErr(), Progress.isTerminal());
        try (Progress deploying = progress.start("deploying shards", pending)) {
            return deployer.deploy(deploying::advance);
        }
    }

    private DeploySettings settings(ShardMap map) {
        DeploySettings settings = changelog.settings(
                deployment.settings(
                        changelog.searchPath(),
                        tries,
                        parallel,
                        rest,
                        failFast,
                        allowPublic,
                        new RowChecks(!noChecks, uidColumn, map.sharding().shardCount())),
                outOfOrder ? FlywayOrder.OUT_OF_ORDER : FlywayOrder.STRICT);
        return history == null ? settings : settings.withApplied(applied(history, settings));
    }

    private static AppliedMigrations applied(Path file, DeploySettings settings) {
        if (settings.flyway().isEmpty()) {
            throw CliException.usage(
                    "--flyway-history is for migrations of Flyway, as in --changelog flyway:db/migration");
        }
        try {
            return AppliedMigrations.read(file);
        } catch (IOException e) {
            throw FileFailure.explain("read", file.toString(), e);
        } catch (IllegalArgumentException e) {
            throw new CliException(
                    Kind.USAGE,
                    String.valueOf(e.getMessage()),
                    "name the file that ends with .flyway.yaml, which shardflake adopt plan wrote",
                    e);
        }
    }
}
