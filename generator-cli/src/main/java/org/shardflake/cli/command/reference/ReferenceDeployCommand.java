/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.reference;

import org.jspecify.annotations.Nullable;
import org.shardflake.CliCommand;
import org.shardflake.ShardMap;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.ChangelogMixin;
import org.shardflake.cli.command.option.DeployMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.command.option.ServerNames;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.RowChecks;
import org.shardflake.flyway.FlywayOrder;
import org.shardflake.reference.ReferenceTables;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code shardflake reference deploy}: deploys a changelog to the reference tables of all servers. */
@Command(
        name = "deploy",
        description = {
            "Deploys a Liquibase changelog to schema reference of every server in one moment, rows included. Writers to reference tables wait until it is done.",
            "Refused, and nothing is changed, if a server cannot be reached, or if servers would not have the same rows in the end."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:every server matches the changelog",
            "1:a server or the catalog cannot be reached, tables are locked, or the changelog cannot be read or is at fault; nothing was changed",
            "2:the command line is wrong, or no server is the home yet",
            "3:a server failed at the very end; run the command again",
            "4:there is no catalog, a changeset was edited or belongs to another schema, or another command works on reference tables; nothing was changed",
            "5:servers would have different rows; nothing was changed"
        },
        footer = {"", "Example: shardflake reference deploy --changelog db/reference.sql --home db1"})
final class ReferenceDeployCommand implements Runnable {

    @Mixin
    private ChangelogMixin changelog;

    @Option(
            names = "--home",
            paramLabel = "SERVER",
            completionCandidates = ServerNames.class,
            description = "The server on which the tables are written. Needed the first time only.")
    private @Nullable String home;

    @Mixin
    private DeployMixin deployment;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public void run() {
        ShardMap map = catalog.catalog().load();
        catalog.onInterruption(
                () -> "some servers may have the changes already; see %s".formatted(CliCommand.REFERENCE_STATUS));
        ReferenceTables.Deployment deployed =
                catalog.installation().referenceTables(map).deploy(changelog.file(), settings(), map.layout(), home);
        output.print(ReferenceView.facts(deployed), () -> ReferenceView.text(deployed));
    }

    private DeploySettings settings() {
        return changelog.settings(
                deployment.settings(changelog.searchPath(), 1, 1, 0, true, false, RowChecks.RECORDED),
                FlywayOrder.STRICT);
    }
}
