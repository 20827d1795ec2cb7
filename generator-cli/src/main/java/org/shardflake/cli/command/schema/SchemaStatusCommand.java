/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.schema;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import org.shardflake.CliCommand;
import org.shardflake.ShardMap;
import org.shardflake.cli.command.option.CatalogMixin;
import org.shardflake.cli.command.option.ChangelogMixin;
import org.shardflake.cli.command.option.OutputMixin;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.SchemaDeployer;
import org.shardflake.deploy.SchemaStatus;
import org.shardflake.flyway.FlywayOrder;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code shardflake schema status}: shows the deployment state of every shard. */
@Command(
        name = "status",
        description = {
            "Shows how many shards of each server are at which changeset.",
            "With --drift, also compares the actual schemas of all shards, whatever their history says."
        },
        sortOptions = false,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:ok",
            "1:a server or the catalog cannot be reached, or failed",
            "2:the command line is wrong",
            "4:there is no catalog",
            "5:with --drift, shards differ from each other; with --changelog, shards lack changesets"
        },
        footer = {"", "Example: shardflake schema status --drift"})
public final class SchemaStatusCommand implements Callable<Integer> {

    /** The maximum number of attempts if the map keeps changing. */
    private static final int MOST_TRIES = 3;

    @Mixin
    private TargetsMixin targets;

    @Option(names = "--drift", description = "Compare the actual schemas and name what differs.")
    private boolean drift;

    @Option(
            names = "--changelog",
            paramLabel = "FILE",
            description =
                    "Also say how many shards lack changesets of this changelog, or of flyway:DIRECTORY; schema deploy --dry-run shows the SQL.")
    private @Nullable Path changelog;

    @Mixin
    private CatalogMixin catalog;

    @Mixin
    private OutputMixin output;

    @Override
    public Integer call() throws InterruptedException {
        SchemaStatus status = read(targets, catalog, drift);
        OptionalInt pending = changelog == null ? OptionalInt.empty() : OptionalInt.of(pending(changelog));
        output.print(facts(status, pending), () -> table(status) + lacking(pending));
        return status.drifts().isEmpty() && pending.orElse(0) == 0 ? ExitCodes.OK : ExitCodes.VERIFICATION;
    }

    /** The number of shards that a deployment of the changelog would change. */
    private int pending(Path file) throws InterruptedException {
        ShardMap map = catalog.catalog().load();
        DeploySettings settings = ChangelogMixin.settings(
                file, DeploySettings.defaults(ChangelogMixin.searchPath(file)), FlywayOrder.OUT_OF_ORDER);
        try (SchemaDeployer deployer = SchemaDeployer.prepare(
                ChangelogMixin.file(file), targets.targets(map, catalog), map.layout(), settings)) {
            return deployer.pendingShards();
        }
    }

    private String lacking(OptionalInt pending) {
        if (pending.isEmpty()) {
            return "";
        }
        return pending.getAsInt() == 0
                ? "%nno shard lacks a changeset of %s".formatted(changelog)
                : "%n%s would be changed by %s"
                        .formatted(
                                Amounts.shards(pending.getAsInt()),
                                CliCommand.SCHEMA_DEPLOY.with(String.valueOf(changelog)));
    }

    /** Reads the status, and reads it again if the map has changed: a shard that has left its server would look as if it were missing. */
    public static SchemaStatus read(TargetsMixin targets, CatalogMixin catalog, boolean drift) {
        for (int tries = 1; ; tries++) {
            ShardMap map = catalog.catalog().load();
            SchemaStatus status = SchemaStatus.read(targets.targets(map, catalog), drift);
            if (tries == MOST_TRIES || catalog.catalog().load().version() == map.version()) {
                return status;
            }
        }
    }

    private Map<String, Object> facts(SchemaStatus status, OptionalInt pending) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("groups", groups(status));
        pending.ifPresent(shards -> facts.put("shardsToDeploy", shards));
        if (drift) {
            facts.put("differing", DeployView.drifts(status.drifts()));
        }
        return facts;
    }

    public static List<Map<String, Object>> groups(SchemaStatus status) {
        return status.groups().stream().map(SchemaStatusCommand::facts).toList();
    }

    private static Map<String, Object> facts(SchemaStatus.Group group) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("server", group.server());
        facts.put("shardCount", group.shards().size());
        facts.put("shards", group.shards().toString());
        facts.put("changeSets", group.changeSets());
        facts.put("last", group.last());
        return facts;
    }

    private String table(SchemaStatus status) {
        TableWriter table =
                new TableWriter("SERVER", "COUNT", "SHARDS", "CHANGESETS", "LAST CHANGESET").mayLeaveOut("SHARDS");
        for (SchemaStatus.Group group : status.groups()) {
            table.row(
                    group.server(),
                    group.shards().size(),
                    TableWriter.shorten(group.shards()),
                    group.changeSets(),
                    group.last());
        }
        if (!drift) {
            return table.toString();
        }
        String differing = status.drifts().isEmpty() ? "all shards have one schema" : DeployView.table(status.drifts());
        return String.join("\n", List.of(table.toString(), differing));
    }
}
