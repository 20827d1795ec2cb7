/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.samples.photos;

import java.net.URL;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.shardflake.IdLayout;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.Sharding;
import org.shardflake.Spread;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.deploy.DeploySettings;
import org.shardflake.deploy.RowChecks;
import org.shardflake.install.Installation;
import org.shardflake.lookup.LookupPlan;
import org.shardflake.lookup.LookupTables;
import org.shardflake.server.ServerUrl;
import org.springframework.boot.SpringApplication;

/** Starts the application on its own servers, which are removed when it ends. */
public class DemoServers {

    private static final int SHARDS = 16;

    public static void main(String[] args) throws Exception {
        PostgresCluster cluster = PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(2)
                .setting("wal_retrieve_retry_interval", "200ms")
                .start();
        List<Server> servers = cluster.servers().stream()
                .map(server -> new Server(server.name(), server.uri("postgres")))
                .toList();
        String catalog = servers.get(0).url();
        install(catalog, servers);
        SpringApplication application = new SpringApplication(PhotosApplication.class);
        application.setDefaultProperties(Map.of("shardflake.catalog", catalog));
        application.run(args);
    }

    /** Does in Java what the commands {@code init}, {@code reference deploy}, {@code schema deploy} and {@code lookup create} do. */
    private static void install(String catalog, List<Server> servers) throws Exception {
        Installation installation = Installation.at(ServerUrl.parse(catalog));
        ShardMap map = ShardMap.initial(new Sharding(SHARDS), IdLayout.DEFAULT, servers, Spread.ROUND_ROBIN);
        installation.create(map, "a demo");
        URL changelog = Objects.requireNonNull(DemoServers.class.getResource("/db/photos.sql"));
        Path root = Path.of(changelog.toURI()).resolve("../..").normalize();
        installation
                .referenceTables(map)
                .deploy(
                        root.resolve("db/reference.sql"),
                        DeploySettings.defaults(root),
                        map.layout(),
                        servers.get(0).name());
        installation.deploy(
                root.resolve("db/photos.sql"),
                DeploySettings.defaults(root).withChecks(new RowChecks(true, "uid", SHARDS)),
                done -> {});
        new LookupTables(ServerUrl.parse(catalog), server -> ServerUrl.parse(server.url()))
                .create(new LookupPlan("person.email", true, true, false, Optional.empty()));
    }
}
