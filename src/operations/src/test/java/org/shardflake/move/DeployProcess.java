/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.nio.file.Path;
import java.util.Map;
import java.util.Objects;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.install.Installation;
import org.shardflake.server.ServerUrl;

/** A deployment to an installation on db1 and db2 that says when it begins, and is killed at some moment. */
final class DeployProcess {

    private DeployProcess() {}

    public static void main(String[] args) throws Exception {
        Path changelog = Path.of(args[0]);
        Map<String, ServerUrl> servers = Map.of("db1", ServerUrl.parse(args[2]), "db2", ServerUrl.parse(args[3]));
        Installation installation = new Installation(
                ServerUrl.parse(args[1]), server -> Objects.requireNonNull(servers.get(server.name())));
        System.out.println("begun");
        installation.deploy(
                changelog, DeploySettings.defaults(Objects.requireNonNull(changelog.getParent())), done -> {});
    }
}
