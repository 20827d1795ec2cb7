/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring.test;

import com.github.dockerjava.api.command.InspectContainerResponse;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.server.ServerUrl;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * A PostgreSQL server in a container that is a whole installation: catalog, shards, and the application's schema in them.
 *
 * <pre>{@code
 * @Bean
 * @ServiceConnection
 * ShardflakeContainer shardflake() {
 *     return new ShardflakeContainer("postgres:18").withChangelog("classpath:db/photos.sql");
 * }
 * }</pre>
 *
 * <p>With {@code @ServiceConnection} of {@code spring-boot-testcontainers} the application needs no
 * {@code shardflake.catalog}. Not thread-safe until started, as other containers.
 */
public final class ShardflakeContainer extends GenericContainer<ShardflakeContainer> {

    private static final int PORT = 5432;
    private static final String USER = "postgres";

    private final String password = UUID.randomUUID().toString();
    private int shards = 8;
    private @Nullable String changelog;
    private String uidColumn = "";
    private String migrations = "";
    private String history = "";

    /**
     * @param image an image that answers to the official one's environment, such as {@code postgres:18}
     */
    public ShardflakeContainer(String image) {
        super(DockerImageName.parse(image));
        withExposedPorts(PORT);
        withEnv("POSTGRES_PASSWORD", password);
        withCommand("postgres", "-c", "fsync=off", "-c", "wal_level=logical", "-c", "max_locks_per_transaction=512");
        // The first time is from the server that only sets the database up.
        waitingFor(Wait.forLogMessage(".*database system is ready to accept connections.*\\s", 2));
    }

    /** Sets the changelog of the shards: {@code classpath:db/photos.sql}, a path below the working directory, or {@code flyway:classpath:db/migration} for Flyway's migrations. */
    public ShardflakeContainer withChangelog(String location) {
        changelog = location;
        return this;
    }

    /**
     * Has the shards take over a history of Flyway's, if the changelog is one that {@code adopt plan} made.
     *
     * @param migrations the directory of the migrations, such as {@code classpath:db/migration}
     * @param history the file that {@code adopt plan} wrote, such as {@code classpath:db/adoption.flyway.yaml}
     */
    public ShardflakeContainer withFlyway(String migrations, String history) {
        this.migrations = migrations;
        this.history = history;
        return this;
    }

    /** Sets the column that holds the uid, as given to {@code schema deploy --uid-column}. */
    public ShardflakeContainer withUidColumn(String column) {
        uidColumn = column;
        return this;
    }

    /** Sets the number of shards, 8 by default. */
    public ShardflakeContainer withShards(int count) {
        shards = count;
        return this;
    }

    /** The URL of the catalog's database, for {@code shardflake.catalog}, once started. */
    public String catalog() {
        return "postgresql://%s@%s:%s/postgres".formatted(USER, getHost(), getMappedPort(PORT));
    }

    /** The user name, for {@code shardflake.username}. */
    public String username() {
        return USER;
    }

    /** The password, for {@code shardflake.password}. */
    public String password() {
        return password;
    }

    @Override
    protected void containerIsStarted(InspectContainerResponse info) {
        String location = changelog;
        if (location == null) {
            throw new IllegalStateException("the container has no schema: call withChangelog before it starts");
        }
        ServerUrl url = ServerUrl.parse(catalog().replace("@", ":" + password + "@"));
        SchemaSource schema = new SchemaSource(location, uidColumn);
        schema.install(
                List.of(new Server("db1", catalog())),
                server -> url,
                shards,
                null,
                schema.then(migrations, history).orElse(null));
    }
}
