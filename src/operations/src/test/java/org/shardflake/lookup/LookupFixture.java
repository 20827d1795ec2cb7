/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.lookup;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.catalog.LookupDefinition;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.install.Installation;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardRouterBuilder;
import org.shardflake.server.ServerUrl;

/** An installation of 6 shards on servers db1 and db2, with accounts that have an e-mail address and tags. */
final class LookupFixture {

    static final int SHARDS = 6;

    /** The shard's fence, no such table, no such schema. */
    private static final Set<String> MOVED = Set.of("SF001", "42P01", "3F000");

    static final String ACCOUNT = """
            --liquibase formatted sql
            --changeset ann:account
            CREATE TABLE account (id bigint PRIMARY KEY, uid bigint, email text, tag text);
            """;

    private final PostgresExtension postgres;
    private final Path directory;

    LookupFixture(PostgresExtension postgres, Path directory) {
        this.postgres = postgres;
        this.directory = directory;
    }

    void create() throws Exception {
        create(ACCOUNT);
    }

    void create(String changelog) throws Exception {
        List<Server> servers = IntStream.range(0, 2)
                .mapToObj(i -> new Server("db" + (i + 1), postgres.database(i).uri()))
                .toList();
        installation()
                .create(ShardMap.initial(new Sharding(SHARDS), IdLayout.DEFAULT, servers, Spread.CONTIGUOUS), "a test");
        deploy(changelog);
    }

    void deploy(String changelog) throws Exception {
        Path file = Files.writeString(directory.resolve("app.sql"), changelog);
        installation().deploy(file, DeploySettings.defaults(directory), done -> {});
    }

    Connection connect(int server) throws SQLException {
        return postgres.database(server).connect();
    }

    ServerUrl catalog() {
        return ServerUrl.parse(postgres.database(0).uri());
    }

    Installation installation() {
        return Installation.at(catalog());
    }

    LookupTables lookups() {
        return new LookupTables(catalog(), server -> ServerUrl.parse(server.url()));
    }

    /** Of a column of table account. */
    static LookupPlan plan(String column, boolean unique) {
        return new LookupPlan(
                "account." + column,
                unique,
                false,
                false,
                Optional.of(new LookupDefinition.Source("account", column, "uid", "id")));
    }

    static LookupPlan free(String name) {
        return new LookupPlan(name, true, false, false, Optional.empty());
    }

    ShardRouterBuilder router() {
        return ShardRouter.builder().catalog(catalog());
    }

    static long insert(ShardRouter router, long uid, @Nullable String email) throws SQLException {
        return router.<Long, SQLException>write(uid, tx -> insert(tx.connection(), tx.schema(), uid, email));
    }

    static long insert(Connection connection, String schema, long uid, @Nullable String email) throws SQLException {
        return Sql.list(
                        connection,
                        "INSERT INTO %s.account (uid, email) VALUES (?, ?::text) RETURNING id".formatted(schema),
                        row -> row.getLong(1),
                        uid,
                        email)
                .get(0);
    }

    /**
     * What a statement gives in all shards, with one round trip to each server; the shards' order is not kept. Goes on until no shard is
     * moved in between.
     */
    List<String> everywhere(String sql) throws SQLException {
        List<String> rows = new ArrayList<>();
        boolean wereThere = Poll.everyMillis(20, Duration.ofMinutes(1)).until(() -> {
            rows.clear();
            ShardMap before = ShardCatalog.at(catalog()).load();
            try {
                for (Server server : before.servers()) {
                    rows.addAll(onServer(server, before.shards(server), sql));
                }
            } catch (SQLException e) {
                if (MOVED.contains(e.getSQLState())) {
                    return false;
                }
                throw e;
            }
            return ShardCatalog.at(catalog()).load().version() == before.version();
        });
        if (!wereThere) {
            throw new IllegalStateException("shards are moved all the time");
        }
        return rows;
    }

    private static List<String> onServer(Server server, ShardSet shards, String sql) throws SQLException {
        List<String> rows = new ArrayList<>();
        StringBuilder texts = new StringBuilder();
        for (int shard : shards.stream().toArray()) {
            texts.append(sql.replace("${shard.schema}", Sharding.schema(shard))).append(';');
        }
        try (Connection connection = ServerUrl.parse(server.url()).connect("a test");
                var statement = connection.createStatement()) {
            boolean isQuery = statement.execute(texts.toString());
            for (int i = 0; i < shards.size(); i++) {
                while (isQuery && statement.getResultSet().next()) {
                    rows.add(statement.getResultSet().getString(1));
                }
                isQuery = statement.getMoreResults();
            }
        }
        return rows;
    }

    /** What a query gives in all shards, on the server that has each. */
    List<String> all(String sql) throws SQLException {
        ShardMap map = ShardCatalog.at(catalog()).load();
        List<String> rows = new ArrayList<>();
        for (int shard = 0; shard < SHARDS; shard++) {
            String text = sql.replace("${shard.schema}", Sharding.schema(shard));
            try (Connection connection =
                    ServerUrl.parse(map.server(shard).url()).connect("a test")) {
                rows.addAll(Sql.list(connection, text, row -> row.getString(1)));
            }
        }
        return rows;
    }
}
