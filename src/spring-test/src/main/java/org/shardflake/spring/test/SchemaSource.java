/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring.test;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.RowChecks;
import org.shardflake.flyway.AppliedMigrations;
import org.shardflake.flyway.FlywayOrder;
import org.shardflake.install.Installation;
import org.shardflake.server.ServerUrl;
import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;
import org.springframework.util.ResourceUtils;

/**
 * The changelog that a test's installation gets.
 *
 * @param location {@code classpath:} and a path, or the path of a file below the working directory; or {@code flyway:} and the same for a directory
 * @param uidColumn the column that holds the uid, or empty
 * @param history the location of the history that shards take over, for Flyway's migrations; or empty
 */
record SchemaSource(String location, String uidColumn, String history) {

    private static final String FLYWAY = "flyway:";

    SchemaSource(String location, String uidColumn) {
        this(location, uidColumn, "");
    }

    /**
     * The migrations that shards get after the changelog of this, whose history they take over; none if neither is given.
     *
     * @throws IllegalArgumentException if one of the two is missing, or this has Flyway's migrations itself
     */
    Optional<SchemaSource> then(String migrations, String applied) {
        if (migrations.isEmpty() && applied.isEmpty()) {
            return Optional.empty();
        }
        if (migrations.isEmpty() || applied.isEmpty() || isFlyway()) {
            throw new IllegalArgumentException(
                    "a history of Flyway is taken over by shards with the changelog that adopt plan made, and needs the directory of the migrations and the file that adopt plan wrote; changelog: %s, migrations: %s, history: %s"
                            .formatted(location, migrations, applied));
        }
        return Optional.of(
                new SchemaSource(migrations.startsWith(FLYWAY) ? migrations : FLYWAY + migrations, uidColumn, applied));
    }

    /**
     * Sets up an installation, whose catalog is on the first server.
     *
     * @param urls what leads to a server, with the password, which the map may not have
     */
    void install(List<Server> servers, Function<Server, ServerUrl> urls, int shards) {
        install(servers, urls, shards, null, null);
    }

    /**
     * Sets up an installation, whose catalog is on the first server, with more than a changelog.
     *
     * @param reference reference tables, to which the shards' may refer; they are written on the first server
     * @param later what the shards get afterwards
     */
    void install(
            List<Server> servers,
            Function<Server, ServerUrl> urls,
            int shards,
            @Nullable SchemaSource reference,
            @Nullable SchemaSource later) {
        root(); // refuses what is not there before anything is made
        Installation installation = new Installation(urls.apply(servers.get(0)), urls);
        ShardMap map = ShardMap.initial(new Sharding(shards), IdLayout.DEFAULT, servers, Spread.ROUND_ROBIN);
        installation.create(map, "for tests");
        if (reference != null) {
            Path its = reference.root();
            installation
                    .referenceTables(map)
                    .deploy(
                            its.resolve(reference.path()),
                            reference.settings(its),
                            map.layout(),
                            servers.get(0).name());
        }
        deploy(installation, shards);
        if (later != null) {
            later.deploy(installation, shards);
        }
    }

    private void deploy(Installation installation, int shards) {
        Path root = root();
        try {
            installation.deploy(root.resolve(path()), settings(root, shards), done -> {});
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while deploying " + location, e);
        }
    }

    private DeploySettings settings(Path root, int shards) {
        DeploySettings defaults = settings(root);
        return uidColumn.isEmpty() ? defaults : defaults.withChecks(new RowChecks(true, uidColumn, shards));
    }

    private DeploySettings settings(Path root) {
        DeploySettings defaults = DeploySettings.defaults(root);
        DeploySettings mine = isFlyway() ? defaults.withFlyway(FlywayOrder.STRICT) : defaults;
        return history.isEmpty() ? mine : mine.withApplied(applied());
    }

    private AppliedMigrations applied() {
        SchemaSource file = new SchemaSource(history, "");
        try {
            return AppliedMigrations.read(file.root().resolve(file.path()));
        } catch (IOException e) {
            throw new IllegalArgumentException("cannot read the history of Flyway, %s".formatted(history), e);
        }
    }

    private boolean isFlyway() {
        return location.startsWith(FLYWAY);
    }

    /** The location of the file or directory, without the prefix for the tool. */
    private String place() {
        return isFlyway() ? location.substring(FLYWAY.length()) : location;
    }

    private boolean isResource() {
        return place().startsWith(ResourceUtils.CLASSPATH_URL_PREFIX);
    }

    /** The path relative to the root. */
    private String path() {
        return isResource() ? place().substring(ResourceUtils.CLASSPATH_URL_PREFIX.length()) : place();
    }

    /** The directory in which the changelog's includes are searched for. */
    private Path root() {
        try {
            Path root = isResource() ? rootOfResource() : Path.of("").toAbsolutePath();
            Path its = root.resolve(path());
            if (isFlyway() ? !Files.isDirectory(its) : !Files.isRegularFile(its)) {
                throw new FileNotFoundException(root.resolve(path()) + " does not exist");
            }
            return root;
        } catch (IOException e) {
            throw new IllegalArgumentException(
                    (isFlyway()
                                    ? "there is no directory %s: name a resource, as flyway:classpath:db/migration, or a directory below the working directory, %s"
                                    : "there is no changelog %s: name a resource, as classpath:db/photos.sql, or a file below the working directory, %s")
                            .formatted(location, Path.of("").toAbsolutePath()),
                    e);
        }
    }

    private Path rootOfResource() throws IOException {
        URL url = ResourceUtils.getURL(place());
        if (ResourceUtils.isJarURL(url)) {
            return unpacked();
        }
        Path root = ResourceUtils.getFile(url).toPath();
        for (int i = 0; i < Path.of(path()).getNameCount(); i++) {
            root = Objects.requireNonNull(root.getParent());
        }
        return root;
    }

    /** Unpacks the changelog's directory for Liquibase if integration tests have the application as a jar. */
    private Path unpacked() throws IOException {
        Path root = Files.createTempDirectory("shardflake-changelog");
        String first = path().contains("/") || isFlyway() ? path().replaceFirst("/.*|$", "/**") : path();
        for (Resource resource : new PathMatchingResourcePatternResolver().getResources("classpath:" + first)) {
            Path copy = root.resolve(resource.getURL().toString().replaceFirst(".*!/", ""));
            if (resource.isReadable()) {
                Files.createDirectories(Objects.requireNonNull(copy.getParent()));
                try (InputStream content = resource.getInputStream()) {
                    Files.copy(content, copy);
                }
            }
        }
        return root;
    }
}
