/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.DeployTarget;
import org.shardflake.deploy.Follower;
import org.shardflake.deploy.SchemaDeployer;
import org.shardflake.move.server.MoveServer;
import org.shardflake.server.ServerUrl;

/** A deployment to shards of db1 that follow on db2, which says that it has come to a point, and stays there until it is killed. */
final class DeployFollowedProcess {

    enum Point {
        /** One of the two servers is changed. */
        BETWEEN,
        /** Both are changed. */
        BEFORE_TABLES_FOLLOW
    }

    private DeployFollowedProcess() {}

    public static void main(String[] args) throws Exception {
        Path changelog = Path.of(args[1]);
        ServerUrl catalog = ServerUrl.parse(args[3]);
        ServerUrl db1 = ServerUrl.parse(args[4]);
        ServerUrl db2 = ServerUrl.parse(args[5]);
        ShardMap map = ShardCatalog.at(catalog).load();
        List<DeployTarget> targets = List.of(new DeployTarget("db1", db1, map.shards(map.server("db1"))));
        try (SchemaDeployer deployer = SchemaDeployer.prepare(
                        changelog,
                        targets,
                        map.layout(),
                        DeploySettings.defaults(Objects.requireNonNull(changelog.getParent())));
                FollowedMoves moves = new FollowedMoves(
                        catalog, name -> new MoveServer(name, name.equals("db1") ? db1 : db2), MoveListener.NONE)) {
            deployer.addCopies("db2", db2);
            moves.hold(
                    1,
                    ShardSet.parse(args[2]),
                    (its, follower) -> deployer.follow(its, "db1", new Stopping(follower, Point.valueOf(args[0]))));
            deployer.deploy(done -> {});
        }
    }

    private record Stopping(Follower.Held follower, Point point) implements Follower.Held {

        private void stopAt(Point here) {
            if (here == point) {
                System.out.println(here);
                while (true) {
                    try {
                        Thread.sleep(Duration.ofHours(1).toMillis());
                    } catch (InterruptedException e) {
                        return;
                    }
                }
            }
        }

        @Override
        public String server() {
            return follower.server();
        }

        @Override
        public long move() {
            return follower.move();
        }

        @Override
        public Connection connectToShards() throws SQLException {
            return follower.connectToShards();
        }

        @Override
        public Connection connectToCopies() throws SQLException {
            return follower.connectToCopies();
        }

        @Override
        public String shardsClaim() {
            return follower.shardsClaim();
        }

        @Override
        public String copiesClaim() {
            return follower.copiesClaim();
        }

        @Override
        public boolean catchesUp(Duration atMost) throws SQLException {
            return follower.catchesUp(atMost);
        }

        @Override
        public boolean learnsTables() {
            return follower.learnsTables();
        }

        @Override
        public void learnTables() throws SQLException {
            stopAt(Point.BEFORE_TABLES_FOLLOW);
            follower.learnTables();
        }

        @Override
        public void halfDone() {
            stopAt(Point.BETWEEN);
        }
    }
}
