/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.router;

import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;
import org.apache.shardingsphere.driver.api.yaml.YamlShardingSphereDataSourceFactory;
import org.shardflake.benchmarks.router.Peer.JdbcPeer;
import org.shardflake.benchmarks.router.Peer.Photo;

/** Apache ShardingSphere-JDBC: a logical table over an actual table for each shard, and statements that name only the first. */
final class ShardingSphere extends JdbcPeer {

    /** The candidate's separate database on each server, since it reads everything in a database. */
    static final String DATABASE = "shardingsphere";

    private final DataSource source;
    private final List<HikariDataSource> pools;

    ShardingSphere(Layout layout) throws SQLException {
        super(layout);
        pools = layout.pools(DATABASE);
        Map<String, DataSource> byName = new LinkedHashMap<>();
        for (int server = 0; server < pools.size(); server++) {
            byName.put("ds_" + server, pools.get(server));
        }
        byte[] yaml = yaml(layout).getBytes(StandardCharsets.UTF_8);
        try {
            source = YamlShardingSphereDataSourceFactory.createDataSource(byName, yaml);
        } catch (IOException e) {
            throw new SQLException("ShardingSphere does not take its configuration", e);
        }
    }

    /** The configuration; its data sources are handed over beside it, so that its pools are those of the others. */
    static String yaml(Layout layout) {
        return """
                rules:
                - !SHARDING
                  tables:
                    photo:
                      actualDataNodes: %3$s
                      databaseStrategy:
                        complex:
                          shardingColumns: uid, id
                          shardingAlgorithmName: server_of_photo
                      tableStrategy:
                        complex:
                          shardingColumns: uid, id
                          shardingAlgorithmName: table_of_photo
                  shardingAlgorithms:
                    server_of_photo:
                      type: CLASS_BASED
                      props:
                        strategy: COMPLEX
                        algorithmClassName: %4$s
                        prefix: ds_
                        shards: %1$d
                        modulo: %2$d
                    table_of_photo:
                      type: CLASS_BASED
                      props:
                        strategy: COMPLEX
                        algorithmClassName: %4$s
                        prefix: photo_
                        shards: %1$d
                        modulo: %1$d
                """.formatted(layout.shards(), layout.servers().size(), nodes(layout), PhotoSharding.class.getName());
    }

    private static String nodes(Layout layout) {
        StringBuilder nodes = new StringBuilder();
        int servers = layout.servers().size();
        for (int server = 0; server < servers; server++) {
            int last = layout.shardsOf(server).size() - 1;
            nodes.append(server == 0 ? "" : ",")
                    .append("ds_%d.photo_${(0..%d).collect{it * %d + %d}}".formatted(server, last, servers, server));
        }
        return nodes.toString();
    }

    @Override
    Connection connection(int shard) throws SQLException {
        return source.getConnection();
    }

    /** The logical table. */
    @Override
    String table(int shard) {
        return "photo";
    }

    /** The table of a shard, as ShardingSphere has it. */
    static String actualTable(int shard) {
        return "photo_" + shard;
    }

    @Override
    public List<Photo> photos(List<Long> ids) throws SQLException {
        String sql = "SELECT id, uid, title FROM photo WHERE id IN ("
                + String.join(", ", Collections.nCopies(ids.size(), "?")) + ")";
        try (Connection connection = source.getConnection();
                PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < ids.size(); i++) {
                statement.setLong(i + 1, ids.get(i));
            }
            return HandWritten.photos(statement);
        }
    }

    @Override
    public List<Photo> newest(int limit) throws SQLException {
        try (Connection connection = source.getConnection();
                PreparedStatement statement = connection.prepareStatement(
                        "SELECT id, uid, title FROM photo ORDER BY id DESC LIMIT " + limit)) {
            return HandWritten.photos(statement);
        }
    }

    @Override
    public void close() {
        try {
            ((AutoCloseable) source).close();
        } catch (Exception e) {
            throw new IllegalStateException("ShardingSphere does not close", e);
        } finally {
            pools.forEach(HikariDataSource::close);
        }
    }
}
