/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.install.Installation;
import org.shardflake.server.ServerUrl;

/** Photos in 8 shards, in turn on two servers; the catalog is on the first. */
public final class PhotoInstallation {

    public static final int SHARDS = 8;

    /** By the names of Spring Boot 4 and 3. */
    private static final String WITHOUT_JPA = "--spring.autoconfigure.exclude="
            + String.join(
                    ",",
                    "org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration",
                    "org.springframework.boot.data.jpa.autoconfigure.DataJpaRepositoriesAutoConfiguration",
                    "org.springframework.boot.autoconfigure.orm.jpa.HibernateJpaAutoConfiguration",
                    "org.springframework.boot.autoconfigure.data.jpa.JpaRepositoriesAutoConfiguration");

    private static final String TABLES = """
            --liquibase formatted sql
            --changeset app:photo
            CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL, title text, version int NOT NULL DEFAULT 0, album_id bigint);
            CREATE INDEX photo_uid ON photo (uid);
            """;

    private final PostgresExtension postgres;

    private PhotoInstallation(PostgresExtension postgres) {
        this.postgres = postgres;
    }

    public static PhotoInstallation create(PostgresExtension postgres, Path directory) throws Exception {
        return create(postgres, directory, TABLES);
    }

    public static PhotoInstallation create(PostgresExtension postgres, Path directory, String changes)
            throws Exception {
        return create(postgres, directory, changes, null);
    }

    /** An installation with reference tables, too. */
    public static PhotoInstallation create(
            PostgresExtension postgres, Path directory, String changes, @Nullable String reference) throws Exception {
        PhotoInstallation created = new PhotoInstallation(postgres);
        if (reference == null && postgres.take(changes, "shardflake_catalog.server", "url")) {
            return created;
        }
        Installation installation = Installation.at(created.catalog());
        List<Server> servers = IntStream.range(0, 2)
                .mapToObj(i -> new Server("db" + (i + 1), postgres.database(i).uri()))
                .toList();
        ShardMap map = ShardMap.initial(new Sharding(SHARDS), IdLayout.DEFAULT, servers, Spread.ROUND_ROBIN);
        installation.create(map, "a test");
        if (reference != null) {
            installation
                    .referenceTables(map)
                    .deploy(
                            Files.writeString(directory.resolve("reference.sql"), reference),
                            DeploySettings.defaults(directory),
                            map.layout(),
                            "db1");
        }
        Path changelog = Files.writeString(directory.resolve("photos.sql"), changes);
        installation.deploy(changelog, DeploySettings.defaults(directory), done -> {});
        if (reference == null) {
            // Subscriptions can't be copied.
            postgres.share(changes);
        }
        return created;
    }

    public String catalogUrl() {
        return postgres.database(0).uri();
    }

    ServerUrl catalog() {
        return ServerUrl.parse(postgres.database(0).uri());
    }

    /** The properties of an application here without JPA, as arguments of its command line. */
    String[] arguments(String... more) {
        String[] arguments = argumentsForJpa(more);
        String[] withoutJpa = Arrays.copyOf(arguments, arguments.length + 1);
        withoutJpa[arguments.length] = WITHOUT_JPA;
        return withoutJpa;
    }

    /** The properties of an application here with JPA. */
    public String[] argumentsForJpa(String... more) {
        List<String> arguments = new ArrayList<>(List.of(
                "--shardflake.catalog=" + postgres.database(0).uri(),
                "--spring.main.banner-mode=off",
                "--server.port=0", // Applications of several tests run at the same time.
                "--spring.liquibase.enabled=false")); // The tests bring it, and Spring Boot 3 would run it.
        arguments.addAll(List.of(more));
        return arguments.toArray(String[]::new);
    }

    void execute(int server, String sql) throws SQLException {
        try (Connection connection = postgres.database(server).connect();
                Statement statement = connection.createStatement()) {
            statement.execute("SET lock_timeout = '10s'");
            statement.execute(sql);
        }
    }

    /** Runs SQL on the server that has a shard when the installation is new. */
    public void inShard(int shard, String sql) throws SQLException {
        execute(shard % 2, sql.replace("${shard.schema}", Sharding.schema(shard)));
    }

    public long number(int server, String sql) throws SQLException {
        try (Connection connection = postgres.database(server).connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getLong(1);
        }
    }

    /** The rows of a shard, where it is when the installation is new. */
    public long photos(int shard) throws SQLException {
        return number(shard % 2, "SELECT count(*) FROM %s.photo".formatted(Sharding.schema(shard)));
    }

    void empty() throws SQLException {
        for (int shard = 0; shard < SHARDS; shard++) {
            inShard(shard, "DELETE FROM ${shard.schema}.photo");
        }
    }
}
