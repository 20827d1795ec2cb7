/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.docker.compose.core.RunningService;
import org.springframework.boot.docker.compose.service.connection.DockerComposeConnectionDetailsFactory;
import org.springframework.boot.docker.compose.service.connection.DockerComposeConnectionSource;

/** Tells an application that the catalog is in a Docker Compose service whose label names this connection. */
final class ShardflakeComposeDetails extends DockerComposeConnectionDetailsFactory<ShardflakeConnectionDetails> {

    private static final int PORT = 5432;

    ShardflakeComposeDetails() {
        super("shardflake");
    }

    @Override
    protected ShardflakeConnectionDetails getDockerComposeConnectionDetails(DockerComposeConnectionSource source) {
        return new Details(source.getRunningService());
    }

    /** Reads the details from the environment of the official image. */
    private static final class Details extends DockerComposeConnectionDetails implements ShardflakeConnectionDetails {

        private final String catalog;
        private final String username;
        private final @Nullable String password;

        Details(RunningService service) {
            super(service);
            Map<String, @Nullable String> environment = service.env();
            username = value(environment, "POSTGRES_USER", "postgres");
            password = environment.get("POSTGRES_PASSWORD");
            catalog = "postgresql://%s:%s/%s"
                    .formatted(service.host(), service.ports().get(PORT), value(environment, "POSTGRES_DB", username));
        }

        private static String value(Map<String, @Nullable String> environment, String name, String other) {
            String value = environment.get(name);
            return value == null ? other : value;
        }

        @Override
        public String catalog() {
            return catalog;
        }

        @Override
        public String username() {
            return username;
        }

        @Override
        public @Nullable String password() {
            return password;
        }
    }
}
