/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.schema;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.shardflake.CliCommand;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.ChangelogMixin;
import org.shardflake.cli.command.option.ConfirmMixin;
import org.shardflake.cli.command.option.DeployMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Progress;
import org.shardflake.deploy.DeployPreview;
import org.shardflake.deploy.DeployReport;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.DeployTarget;
import org.shardflake.deploy.SchemaDeployer;
import org.shardflake.flyway.FlywayOrder;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake schema rollback}: undoes the last changesets. */
@Command(
        name = "rollback",
        description = {
            "Undoes the last changesets that the shards have had, by their rollback or by what Liquibase can undo itself.",
            "They are the last of the changelog that any shard has had. A shard that has not had all of them has less to undo.",
            "Each shard is rolled back completely or left unchanged. Columns and tables are dropped with their data."
                    + " Run the command again to do only what is left."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:no shard has the changesets any more",
            "1:a server or the catalog cannot be reached, or the changelog cannot be read; nothing was changed",
            "2:the command line is wrong, or it was not confirmed",
            "3:some shards failed and are unchanged",
            "4:there is no catalog, a changeset was edited, a deployment is running, a shard is being moved, a server cannot be asked what its shards have had, or they have had changesets that the changelog lacks; nothing was changed",
            "5:undone, but shards differ from each other"
        },
        footer = {"", "Example: shardflake schema rollback --changelog db/app.xml --count 1 --yes"})
final class SchemaRollbackCommand implements Callable<Integer> {

    @Spec
    private CommandSpec spec;

    @Mixin
    private ChangelogMixin changelog;

    @Option(
            names = "--count",
            paramLabel = "N",
            required = true,
            description = "Number of changesets to undo, the last that any shard has had.")
    private int count;

    @Mixin
    private TargetsMixin targets;

    @Mixin
    private DeployMixin deployment;

    @Option(
            names = "--allow-public",
            description = "Allow rollbacks that name schema public, which the shards of a server share.")
    private boolean allowPublic;

    @Option(
            names = "--dry-run",
            description =
                    "Show the shards, grouped by what would happen to them, with the SQL for one of each group, but change nothing.")
    private boolean dryRun;

    @Mixin
    private ConfirmMixin confirm;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        if (count < 1) {
            throw CliException.usage("count is %s, allowed: 1 or more".formatted(count));
        }
        ShardMap map = catalog.catalog().load();
        Optional<DeployPreview> confirmed = dryRun || confirm.isGiven() ? Optional.empty() : Optional.of(confirm(map));
        try (SchemaDeployer deployer = prepare(map)) {
            DeployPreview preview = deployer.previewRollBack(count, everywhere(map));
            if (dryRun) {
                spec.commandLine().getErr().println("dry run: nothing was changed");
                output.print(DeployView.facts(preview), () -> DeployView.table("SHARDS TO ROLL BACK", preview));
                return ExitCodes.OK;
            }
            if (confirmed.isPresent() && !confirmed.get().equals(preview)) {
                throw new CliException(
                        Kind.PRECONDITION,
                        "the shards' histories have changed since you were asked; nothing was changed",
                        "run the same command again");
            }
            catalog.onInterruption(() ->
                    "each shard is rolled back completely or unchanged; see %s".formatted(CliCommand.SCHEMA_STATUS));
            DeployReport report = undo(deployer, map, preview);
            output.print(DeployView.facts(report), () -> DeployView.undone(report));
            return DeployView.exitCode(report);
        }
    }

    /** Asks for confirmation, without holding locks during that time. */
    private DeployPreview confirm(ShardMap map) throws InterruptedException {
        DeployPreview preview;
        try (SchemaDeployer deployer = prepare(map)) {
            preview = deployer.previewRollBack(count, everywhere(map));
        }
        if (DeployView.changed(preview) > 0) {
            confirm.require(DeployView.question(preview), "see the SQL with --dry-run");
        }
        return preview;
    }

    private SchemaDeployer prepare(ShardMap map) throws InterruptedException {
        List<DeployTarget> shards = targets.targets(map, catalog);
        DeploySettings plain = DeploySettings.defaults(changelog.searchPath());
        DeploySettings settings = changelog.settings(
                deployment.settings(
                        plain.searchPath(),
                        plain.tries(),
                        plain.connections(),
                        plain.rest(),
                        false,
                        allowPublic,
                        plain.checks()),
                FlywayOrder.OUT_OF_ORDER);
        SchemaDeployer deployer = SchemaDeployer.prepare(changelog.file(), shards, map.layout(), settings);
        try {
            catalog.installation().requireUnmoved(shards);
            return deployer;
        } catch (RuntimeException e) {
            deployer.close();
            throw e;
        }
    }

    private List<DeployTarget> everywhere(ShardMap map) {
        return catalog.installation().targets(map);
    }

    private DeployReport undo(SchemaDeployer deployer, ShardMap map, DeployPreview preview)
            throws InterruptedException {
        int total = DeployView.changed(preview);
        if (total == 0) {
            return deployer.rollBack(count, everywhere(map), done -> {});
        }
        Progress.Factory progress = Progress.on(spec.commandLine().getErr(), Progress.isTerminal());
        try (Progress undoing = progress.start("undoing on shards", total)) {
            return deployer.rollBack(count, everywhere(map), undoing::advance);
        }
    }
}
