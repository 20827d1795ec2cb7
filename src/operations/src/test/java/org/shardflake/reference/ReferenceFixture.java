/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.deploy.DeployReport;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.install.Installation;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.shardflake.replication.Replication;
import org.shardflake.server.ServerUrl;

/** An installation of 12 shards, whose rows refer to reference table country. Servers are db1, db2 and so on. */
final class ReferenceFixture {

    static final int SHARDS = 12;

    static final String COUNTRY = """
            --changeset ann:country
            CREATE TABLE country (code text PRIMARY KEY, name text NOT NULL);
            INSERT INTO country VALUES ('DE', 'Germany'), ('FR', 'France'), ('IT', 'Italy');
            """;

    private static final String CUSTOMER = """
            --changeset ann:customer
            CREATE TABLE customer (id bigint PRIMARY KEY, uid bigint NOT NULL, country text REFERENCES reference.country (code));
            CREATE INDEX ON customer (country);
            """;

    private final PostgresExtension postgres;
    private final Path directory;

    ReferenceFixture(PostgresExtension postgres, Path directory) {
        this.postgres = postgres;
        this.directory = directory;
    }

    /** Makes the installation on the first servers, without reference tables. */
    void create(int servers) {
        installation()
                .create(
                        ShardMap.initial(
                                new Sharding(SHARDS),
                                IdLayout.DEFAULT,
                                IntStream.range(0, servers)
                                        .mapToObj(this::server)
                                        .toList(),
                                Spread.CONTIGUOUS),
                        "a test");
    }

    /** As {@link #create}, with countries, written on db1, and customers. */
    void createWithCountries(int servers) throws Exception {
        create(servers);
        deploy("db1", COUNTRY);
        deployShards(CUSTOMER);
    }

    DeployReport deployShards(String changeSets) throws Exception {
        return installation().deploy(file("shards.sql", changeSets), DeploySettings.defaults(directory), done -> {});
    }

    String serverOf(int shard) {
        return ShardCatalog.at(catalog()).load().placement(shard).server().name();
    }

    Server server(int position) {
        return new Server("db" + (position + 1), postgres.database(position).uri());
    }

    ServerUrl catalog() {
        return ServerUrl.parse(postgres.database(0).uri());
    }

    Installation installation() {
        return Installation.at(catalog());
    }

    ReferenceTables tables() {
        ShardMap map = ShardCatalog.at(catalog()).load();
        return new ReferenceTables(catalog(), installation().urls(map));
    }

    Mover mover() {
        return mover(MoveSettings.DEFAULT);
    }

    Mover mover(MoveSettings settings) {
        return Mover.at(catalog(), settings, MoveListener.NONE);
    }

    /** Drops all subscriptions and slots. */
    void dropStreams(int servers) throws SQLException {
        for (int i = 1; i <= servers; i++) {
            try (Connection connection = connect("db" + i)) {
                for (String name : Sql.list(
                        connection,
                        "SELECT subname FROM pg_subscription WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())",
                        row -> row.getString(1))) {
                    Replication.dropSubscription(connection, name, "");
                }
            }
        }
        for (int i = 1; i <= servers; i++) {
            try (Connection connection = connect("db" + i)) {
                for (String name : Sql.list(
                        connection,
                        "SELECT slot_name FROM pg_replication_slots WHERE database = current_database()",
                        row -> row.getString(1))) {
                    Replication.dropSlot(connection, name);
                }
            }
        }
    }

    ReferenceTables.Deployment deploy(String home, String... changeSets) throws IOException {
        return tables().deploy(
                        file("reference.sql", String.join("", changeSets)),
                        DeploySettings.defaults(directory),
                        IdLayout.DEFAULT,
                        home.isEmpty() ? null : home);
    }

    /** Always the same names, which are part of a changeset's. */
    private Path file(String name, String changeSets) throws IOException {
        return Files.writeString(directory.resolve(name), "--liquibase formatted sql\n" + changeSets);
    }

    Connection connect(String server) throws SQLException {
        return postgres.database(position(server)).connect();
    }

    private static int position(String server) {
        return Integer.parseInt(server.substring(2)) - 1;
    }

    void execute(String server, String sql) throws SQLException {
        try (Connection connection = connect(server)) {
            Sql.execute(connection, sql);
        }
    }

    List<String> list(String server, String sql) throws SQLException {
        try (Connection connection = connect(server)) {
            return Sql.list(connection, sql, row -> row.getString(1));
        }
    }

    /** Everything in a table, one text for each server, once all have what the home has now. */
    List<String> contents(String home, int servers, String table) throws SQLException {
        long version = Long.parseLong(
                list(home, "SELECT version FROM shardflake.reference_version").get(0));
        List<String> contents = new ArrayList<>();
        for (int i = 1; i <= servers; i++) {
            await("db" + i, version);
            contents.add(list(
                            "db" + i,
                            "SELECT COALESCE(string_agg(t::text, ' ' ORDER BY t::text COLLATE \"C\"), '') FROM %s t"
                                    .formatted(table))
                    .get(0));
        }
        return contents;
    }

    private void await(String server, long version) throws SQLException {
        try (ReferenceServer its = ReferenceServer.connect(
                server, ServerUrl.parse(postgres.database(position(server)).uri()))) {
            if (!its.reaches(version, Duration.ofSeconds(30))) {
                throw new AssertionError("%s did not get version %s".formatted(server, version));
            }
        }
    }
}
