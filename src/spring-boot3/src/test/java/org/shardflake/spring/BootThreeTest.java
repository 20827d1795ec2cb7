/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
import org.jooq.DSLContext;
import org.jooq.SQLDialect;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardKey;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jooq.JooqRouter;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.actuate.health.Status;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** The service of the guide in Spring Boot 3, and what has another package there. */
class BootThreeTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import(PhotoService.class)
    static class Application {}

    @Test
    void theStarterWorks(@TempDir Path directory) throws Exception {
        PhotoInstallation installation = PhotoInstallation.create(postgres, directory);
        try (ConfigurableApplicationContext application = SpringApplication.run(
                Application.class, installation.arguments("--shardflake.jooq.schema=app"))) {
            assertThat(SpringBootVersion.getVersion()).startsWith("3.5.");
            PhotoService photos = application.getBean(PhotoService.class);
            long id = photos.add(42, "sunrise");
            photos.rename(id, "sunset");
            assertThat(photos.titles(42)).containsExactly("sunset");

            Map<String, HealthIndicator> indicators = application.getBeansOfType(HealthIndicator.class);
            assertThat(indicators).containsKey("shardflakeHealthIndicator").doesNotContainKey("dbHealthContributor");
            Health health = application
                    .getBean("shardflakeHealthIndicator", HealthIndicator.class)
                    .getHealth(true);
            assertThat(health.getStatus()).isEqualTo(Status.UP);
            assertThat(health.getDetails().toString()).contains("db1", "db2", "version");

            assertThat(application.getBean(JooqRouter.class)).isNotNull();
            DSLContext jooq = application.getBean(DSLContext.class);
            assertThat(jooq.dialect()).isEqualTo(SQLDialect.POSTGRES);
            assertThat(application
                            .getBean(ShardTemplate.class)
                            .read(ShardKey.uid(42), () -> jooq.fetchValue("SELECT count(*) FROM photo")))
                    .isEqualTo(1L);
        }
    }
}
