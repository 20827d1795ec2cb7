/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.shardflake.IdLayout;
import org.shardflake.ShardSet;
import org.shardflake.server.ServerUrl;

/** A deployment in a process of its own, to be killed: search path, changelog, then URL and shards of each server. */
final class DeployProcess {

    private DeployProcess() {}

    public static void main(String[] args) throws Exception {
        Path directory = Path.of(args[0]);
        List<DeployTarget> targets = new ArrayList<>();
        for (int i = 2; i < args.length; i += 2) {
            targets.add(new DeployTarget("db" + i / 2, ServerUrl.parse(args[i]), ShardSet.parse(args[i + 1])));
        }
        try (SchemaDeployer deployer = SchemaDeployer.prepare(
                Path.of(args[1]), targets, IdLayout.DEFAULT, DeploySettings.defaults(directory))) {
            System.out.println("begin");
            deployer.deploy(done -> {});
        }
    }
}
