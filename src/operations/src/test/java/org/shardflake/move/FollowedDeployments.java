/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.SchemaFacts;
import org.shardflake.jdbc.Sql;

/** What tests need that deploy to shards of db1 and db2 while these move. */
final class FollowedDeployments {

    private FollowedDeployments() {}

    /** The usual settings, with more tries. */
    static DeploySettings settings(Path directory, int tries) {
        DeploySettings usual = DeploySettings.defaults(directory);
        return new DeploySettings(
                usual.searchPath(),
                usual.contexts(),
                usual.labels(),
                usual.parameters(),
                usual.lockTimeout(),
                usual.statementTimeout(),
                tries,
                usual.connections(),
                0,
                usual.stopAtFailure(),
                usual.allowPublic(),
                usual.checks());
    }

    /**
     * What PostgreSQL's catalog says of a shard's schema, which is not what a deployment compares by, and the shard's history. Fences are left out: they are
     * up on one server only.
     */
    static List<String> facts(AccountShards shards, String server, int shard) throws SQLException {
        try (Connection connection = shards.database(server).connect()) {
            List<String> facts = new ArrayList<>(SchemaFacts.of(connection, shard));
            facts.removeIf(fact -> fact.contains("fence_write"));
            facts.addAll(Sql.list(
                    connection,
                    "SELECT id || ' ' || exectype || ' ' || md5sum FROM shardflake_deploy.databasechangelog WHERE starts_with(filename, ?) ORDER BY orderexecuted",
                    row -> row.getString(1),
                    "shard_000%s/".formatted(shard)));
            return facts;
        }
    }

    /** Starts a program with these arguments and the URLs of the catalog, db1 and db2. */
    static Process start(AccountShards shards, Class<?> program, String... arguments) throws IOException {
        List<String> line = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-cp",
                System.getProperty("java.class.path"),
                program.getName()));
        line.addAll(List.of(arguments));
        line.add(shards.catalogUrl().withoutPassword());
        line.add(shards.url("db1").withoutPassword());
        line.add(shards.url("db2").withoutPassword());
        ProcessBuilder command = new ProcessBuilder(line).redirectError(ProcessBuilder.Redirect.INHERIT);
        command.environment()
                .put("PGPASSWORD", Objects.requireNonNull(shards.environment().get("PGPASSWORD")));
        return command.start();
    }
}
