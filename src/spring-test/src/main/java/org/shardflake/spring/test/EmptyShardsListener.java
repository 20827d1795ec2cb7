/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring.test;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.router.ShardRouter;
import org.shardflake.server.ServerUrl;
import org.springframework.test.context.TestContext;
import org.springframework.test.context.support.AbstractTestExecutionListener;

/** Empties all shards before each test of a class with {@link ShardflakeTest}. */
final class EmptyShardsListener extends AbstractTestExecutionListener {

    /** An order before tests' transactions and SQL scripts. */
    @Override
    public int getOrder() {
        return 3500;
    }

    @Override
    public void beforeTestMethod(TestContext test) throws SQLException {
        ShardflakeTest wanted = ShardflakeTestContext.find(test.getTestClass());
        if (wanted == null) {
            return;
        }
        ShardMap map = ShardCatalog.at(ServerUrl.parse(TestInstallation.catalog(wanted)))
                .load();
        Set<String> urls = urls(map);
        Set<String> ofRouter =
                urls(test.getApplicationContext().getBean(ShardRouter.class).refresh());
        if (!ofRouter.equals(urls)) {
            throw new IllegalStateException(
                    "the application's ShardRouter leads to %s, not to the servers of this test, %s, and only these are emptied: leave the bean to Shardflake's auto-configuration, or give it the map of shardflake.catalog"
                            .formatted(ofRouter, urls));
        }
        for (Server server : map.servers()) {
            empty(server, map);
        }
    }

    private static Set<String> urls(ShardMap map) {
        return map.servers().stream().map(Server::url).collect(Collectors.toCollection(TreeSet::new));
    }

    private static void empty(Server server, ShardMap map) throws SQLException {
        Object[] schemas =
                map.shards(server).stream().mapToObj(Sharding::schema).toArray();
        try (Connection connection = ServerUrl.parse(server.url()).connect("shardflake test")) {
            String tables = tables(connection, schemas);
            if (tables != null) {
                try (Statement truncate = connection.createStatement()) {
                    truncate.execute("TRUNCATE " + tables);
                }
            }
        }
    }

    private static @Nullable String tables(Connection connection, Object[] schemas) throws SQLException {
        try (PreparedStatement query = connection.prepareStatement(
                "SELECT string_agg(format('%I.%I', schemaname, tablename), ', ') FROM pg_tables WHERE schemaname = ANY (?)")) {
            query.setArray(1, connection.createArrayOf("text", schemas));
            try (ResultSet row = query.executeQuery()) {
                row.next();
                return row.getString(1);
            }
        }
    }
}
