/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Constructor;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.cluster.TestDatabase;
import org.shardflake.router.ShardRouter;
import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;
import org.springframework.boot.autoconfigure.service.connection.ConnectionDetailsFactories;
import org.springframework.boot.docker.compose.core.ConnectionPorts;
import org.springframework.boot.docker.compose.core.ImageReference;
import org.springframework.boot.docker.compose.core.RunningService;
import org.springframework.boot.docker.compose.service.connection.DockerComposeConnectionSource;
import org.springframework.core.env.StandardEnvironment;

/** A catalog that Docker Compose says is in one of its services; here the server is one of the test's. */
class ComposeTest {

    private static final String LABEL = "org.springframework.boot.service-connection";

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    @BeforeAll
    static void create(@TempDir Path directory) throws Exception {
        PhotoInstallation.create(postgres, directory);
    }

    /** What Boot would read from {@code docker compose ps} and {@code docker inspect}. */
    private record Service(TestDatabase database, Map<String, String> labels)
            implements RunningService, ConnectionPorts {

        @Override
        public String name() {
            return "catalog";
        }

        @Override
        public ImageReference image() {
            return ImageReference.of("postgres:18");
        }

        @Override
        public String host() {
            return address().getHost();
        }

        private URI address() {
            return URI.create(database.jdbcUrl().substring("jdbc:".length()));
        }

        @Override
        public ConnectionPorts ports() {
            return this;
        }

        @Override
        public int get(int containerPort) {
            assertThat(containerPort).isEqualTo(5432);
            return address().getPort();
        }

        @Override
        public List<Integer> getAll() {
            return List.of(address().getPort());
        }

        @Override
        public List<Integer> getAll(@Nullable String protocol) {
            return getAll();
        }

        @Override
        public Map<String, @Nullable String> env() {
            return Map.of(
                    "POSTGRES_USER", database.server().user(),
                    "POSTGRES_PASSWORD", database.server().password(),
                    "POSTGRES_HOST_AUTH_METHOD",
                            "trust", // Boot wants a password otherwise, and the test's servers have none.
                    "POSTGRES_DB", database.name());
        }
    }

    private static Map<Class<?>, ConnectionDetails> details(Map<String, String> labels) throws Exception {
        return new ConnectionDetailsFactories(null)
                .getConnectionDetails(source(new Service(postgres.database(0), labels)), false);
    }

    /** Boot makes it from a service that it found. */
    private static DockerComposeConnectionSource source(RunningService service) throws ReflectiveOperationException {
        Constructor<?> constructor = DockerComposeConnectionSource.class.getDeclaredConstructors()[0];
        constructor.setAccessible(true);
        Object[] arguments = constructor.getParameterCount() == 1 // Spring Boot 3
                ? new Object[] {service}
                : new Object[] {service, new StandardEnvironment()};
        return (DockerComposeConnectionSource) constructor.newInstance(arguments);
    }

    @Test
    void theLabelledServiceHasTheCatalog() throws Exception {
        ShardflakeConnectionDetails details = (ShardflakeConnectionDetails)
                Objects.requireNonNull(details(Map.of(LABEL, "shardflake")).get(ShardflakeConnectionDetails.class));

        assertThat(details.catalog()).doesNotContain("@");
        try (ShardRouter router = ShardRouter.builder()
                .catalog(details.catalog())
                .credentials(Objects.requireNonNull(details.username()), details.password())
                .build()) {
            assertThat(router.map().sharding().shardCount()).isEqualTo(PhotoInstallation.SHARDS);
        }
    }

    @Test
    void otherServersOfPostgresqlDoNot() throws Exception {
        assertThat(details(Map.of())).doesNotContainKey(ShardflakeConnectionDetails.class);
    }
}
