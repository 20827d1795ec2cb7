/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command;

import java.util.List;
import java.util.concurrent.Callable;
import org.shardflake.ShardMap;
import org.shardflake.cli.error.CliException;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Progress;
import org.shardflake.deploy.DeployPreview;
import org.shardflake.deploy.DeployReport;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.DeployTarget;
import org.shardflake.deploy.SchemaDeployer;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code shardflake schema rollback}: undoes the last changesets. */
@Command(
        name = "rollback",
        description = {
            "Undoes each shard's last changesets, by their rollback or what Liquibase can undo by itself.",
            "Each shard is rolled back completely or left unchanged. Columns and tables are dropped with their data."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:the changesets were undone on every shard",
            "1:a server or the catalog cannot be reached, or the changelog cannot be read; nothing was changed",
            "2:the command line is wrong, or it was not confirmed",
            "3:some shards failed and are unchanged",
            "4:there is no catalog, a changeset was edited, or a deployment is running; nothing was changed",
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
            description = "How many of each shard's last changesets to undo.")
    private int count;

    @Mixin
    private TargetsMixin targets;

    @Option(
            names = "--allow-public",
            description = "Allow rollbacks that name schema public, which the shards of a server share.")
    private boolean allowPublic;

    @Option(
            names = "--dry-run",
            description = "Show the SQL for one shard and how many it applies to, but change nothing.")
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
            throw CliException.usage("count %d is out of range 1..".formatted(count));
        }
        if (!dryRun) {
            confirm.require(
                    "undo the last %d changesets of each shard, with the rows of what they made".formatted(count),
                    "see their SQL with --dry-run");
        }
        ShardMap map = catalog.catalog().load();
        List<DeployTarget> shards = targets.targets(map, catalog);
        DeploySettings settings =
                DeploySettings.defaults(changelog.searchPath()).withPublic(allowPublic);
        Progress.Factory progress = Progress.on(spec.commandLine().getErr(), Progress.isTerminal());
        int total = shards.stream().mapToInt(target -> target.shards().size()).sum();
        try (SchemaDeployer deployer = SchemaDeployer.prepare(changelog.file(), shards, map.layout(), settings)) {
            catalog.installation().requireUnmoved(shards);
            if (dryRun) {
                DeployPreview preview = deployer.previewRollBack(count);
                spec.commandLine().getErr().println("dry run: nothing was changed");
                output.print(
                        spec.commandLine().getOut(),
                        DeployView.facts(preview),
                        () -> DeployView.table("SHARDS TO ROLL BACK", preview));
                return ExitCodes.OK;
            }
            DeployReport report;
            try (Progress undoing = progress.start("undoing on shards", total)) {
                report = deployer.rollBack(count, undoing::advance);
            }
            output.print(spec.commandLine().getOut(), DeployView.facts(report), () -> DeployView.undone(report));
            return DeployView.exitCode(report);
        }
    }
}
