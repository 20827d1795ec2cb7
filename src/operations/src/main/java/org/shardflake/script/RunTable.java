/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.script;

import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.function.ObjIntConsumer;
import org.shardflake.IdLayout;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.deploy.DeployReport;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.DeployTarget;
import org.shardflake.deploy.OwnTables;
import org.shardflake.deploy.SchemaDeployer;
import org.shardflake.install.Installation;
import org.shardflake.jdbc.Plural;

/**
 * The table in each shard that records which statements have run there. Being a table of the shard, it is written in the transaction of the
 * statements, and moves with the rows that they changed.
 */
final class RunTable {

    static final String NAME = "shardflake_run";

    private RunTable() {}

    /** The number of shards that lack the table. */
    static int lacking(List<DeployTarget> targets, IdLayout layout) throws InterruptedException {
        try (SchemaDeployer deployer = prepare(targets, layout)) {
            return deployer.pendingShards();
        }
    }

    /**
     * Creates the table in all shards that lack it, so that all shards keep the same schema.
     *
     * @param shardDone told of each shard that has got it, and of how many lacked it
     * @throws ShardflakeException if a shard is being moved, whose schema must not change
     */
    static void create(
            Installation installation, List<DeployTarget> targets, IdLayout layout, ObjIntConsumer<String> shardDone)
            throws InterruptedException {
        try (SchemaDeployer deployer = prepare(targets, layout)) {
            int lacking = deployer.pendingShards();
            if (lacking == 0) {
                return;
            }
            installation.requireUnmoved(targets);
            DeployReport report = deployer.deploy(done -> {
                for (int i = 0; i < done; i++) {
                    shardDone.accept("making table " + NAME + " in all shards", lacking);
                }
            });
            if (!report.failures().isEmpty()) {
                throw new ShardflakeException(
                        Kind.PARTLY_DONE,
                        String.format(
                                Locale.ROOT,
                                "%s did not get table %s, and no statement was run: shard %s on %s: %s",
                                Plural.of(report.failures().size(), "shard"),
                                NAME,
                                report.failures().get(0).shard(),
                                report.failures().get(0).server(),
                                report.failures().get(0).error()),
                        "run the same command again",
                        null);
            }
        }
    }

    private static SchemaDeployer prepare(List<DeployTarget> targets, IdLayout layout) throws InterruptedException {
        return SchemaDeployer.prepare(OwnTables.RUNS, targets, layout, DeploySettings.defaults(Path.of("")));
    }
}
