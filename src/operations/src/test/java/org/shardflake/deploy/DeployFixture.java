/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.shardflake.IdLayout;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.server.ServerUrl;

/** Shards over two test databases, and a changelog in a directory that tests write to. */
final class DeployFixture {

    static final String PHOTOS = """
            <databaseChangeLog xmlns="http://www.liquibase.org/xml/ns/dbchangelog"
                xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
                xsi:schemaLocation="http://www.liquibase.org/xml/ns/dbchangelog http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-latest.xsd">
              <changeSet id="photo" author="ann">
                <createTable tableName="photo">
                  <column name="id" type="bigint"><constraints primaryKey="true"/></column>
                  <column name="uid" type="bigint"><constraints nullable="false"/></column>
                  <column name="title" type="text"/>
                </createTable>
                <createIndex indexName="photo_uid" tableName="photo"><column name="uid"/></createIndex>
              </changeSet>
              <changeSet id="like" author="ann">
                <createTable tableName="like">
                  <column name="id" type="bigint"><constraints primaryKey="true"/></column>
                  <column name="photo_id" type="bigint">
                    <constraints nullable="false" foreignKeyName="like_photo" references="photo(id)"/>
                  </column>
                </createTable>
              </changeSet>
              <!-- more -->
            </databaseChangeLog>
            """;

    private final List<TestDatabase> databases;
    private final int shards;
    private final Path directory;

    DeployFixture(PostgresExtension postgres, int servers, int shards, Path directory) {
        this.databases =
                IntStream.range(0, servers).mapToObj(postgres::database).toList();
        this.shards = shards;
        this.directory = directory;
    }

    Path write(String file, String text) throws IOException {
        Path path = directory.resolve(file);
        Files.createDirectories(path.getParent());
        return Files.writeString(path, text);
    }

    /** The photos' changelog, with more changesets at its end. */
    Path photos(String... more) throws IOException {
        return write("app.xml", PHOTOS.replace("<!-- more -->", String.join("\n", more)));
    }

    DeploySettings settings() {
        return DeploySettings.defaults(directory);
    }

    List<DeployTarget> targets() {
        List<DeployTarget> targets = new ArrayList<>();
        for (int server = 0; server < databases.size(); server++) {
            int position = server;
            targets.add(new DeployTarget(
                    "db" + (server + 1),
                    ServerUrl.parse(databases.get(server).uri()),
                    ShardSet.of(IntStream.range(0, shards)
                            .filter(shard -> shard % databases.size() == position)
                            .toArray())));
        }
        return targets;
    }

    DeployReport deploy(Path changelog) throws SQLException, InterruptedException {
        return deploy(changelog, targets(), settings());
    }

    DeployReport deploy(Path changelog, List<DeployTarget> targets, DeploySettings settings)
            throws SQLException, InterruptedException {
        try (SchemaDeployer deployer = SchemaDeployer.prepare(changelog, targets, IdLayout.DEFAULT, settings)) {
            return deployer.deploy(done -> {});
        }
    }

    void execute(int shard, String sql) throws SQLException {
        try (Connection connection = database(shard).connect();
                Statement statement = connection.createStatement()) {
            statement.execute("SET search_path = %s, public; %s".formatted(Sharding.schema(shard), sql));
        }
    }

    String text(int shard, String sql) throws SQLException {
        try (Connection connection = database(shard).connect();
                Statement statement = connection.createStatement()) {
            statement.execute("SET search_path = %s, public".formatted(Sharding.schema(shard)));
            try (ResultSet row = statement.executeQuery(sql)) {
                row.next();
                return String.valueOf(row.getString(1));
            }
        }
    }

    /** How many changesets the history of a shard has. */
    int history(int shard) throws SQLException {
        return Integer.parseInt(text(
                shard,
                "SELECT count(*) FROM %s WHERE filename LIKE '%s/%%'"
                        .formatted(ShardHistory.TABLE, Sharding.schema(shard))));
    }

    TestDatabase database(int shard) {
        return databases.get(shard % databases.size());
    }

    /** Takes everything away again. */
    void drop() throws SQLException {
        for (int server = 0; server < databases.size(); server++) {
            for (int shard = server; shard < shards; shard += databases.size()) {
                execute(server, "DROP SCHEMA IF EXISTS %s CASCADE".formatted(Sharding.schema(shard)));
            }
            execute(server, "DROP SCHEMA IF EXISTS %s CASCADE".formatted(ShardHistory.SCHEMA));
        }
    }
}
