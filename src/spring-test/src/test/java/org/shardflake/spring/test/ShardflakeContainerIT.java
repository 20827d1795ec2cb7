/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.testcontainers.service.connection.ServiceConnection;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.testcontainers.DockerClientFactory;

/** An application whose only configuration is a container. */
class ShardflakeContainerIT {

    @Configuration(proxyBeanMethods = false)
    static class Containers {

        @Bean
        @ServiceConnection
        ShardflakeContainer shardflake() {
            return new ShardflakeContainer("postgres:18").withChangelog("classpath:db/photos.sql");
        }
    }

    @BeforeAll
    static void requireDocker() {
        assumeTrue(DockerClientFactory.instance().isDockerAvailable(), "needs Docker");
    }

    @Test
    void theApplicationNeedsNoConfiguration() {
        try (ConfigurableApplicationContext application = SpringApplication.run(
                new Class<?>[] {PhotoApplication.class, Containers.class},
                new String[] {"--spring.main.banner-mode=off"})) {
            PhotoService photos = application.getBean(PhotoService.class);

            photos.add(42, "sunrise");

            assertThat(photos.newest()).containsExactly("sunrise");
        }
    }
}
