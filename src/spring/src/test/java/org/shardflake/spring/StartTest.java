/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.jooq.DSLContext;
import org.jooq.SQLDialect;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardKey;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.jooq.JooqRouter;
import org.shardflake.router.ShardRouter;
import org.shardflake.router.ShardTransaction;
import org.shardflake.router.health.PoolStatus;
import org.shardflake.server.PasswordSource;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

/** What an application gets from its properties, and what it is told when they are wrong. */
class StartTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private static PhotoInstallation installation;

    @BeforeAll
    static void create(@TempDir Path directory) throws Exception {
        installation = PhotoInstallation.create(postgres, directory);
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {

        @Bean
        MeterRegistry meters() {
            return new SimpleMeterRegistry();
        }
    }

    @Test
    void theBeansAreThere(@TempDir Path directory) throws Exception {
        Path cache = directory.resolve("map.yaml");
        ShardRouter router;
        try (ConfigurableApplicationContext application = SpringApplication.run(
                Application.class,
                installation.arguments(
                        "--shardflake.pool.size=3",
                        "--shardflake.pool.connection-timeout=2s",
                        "--shardflake.pool.driver.ApplicationName=photos of a test",
                        "--shardflake.map-cache=" + cache,
                        "--shardflake.close-timeout=1s",
                        "--shardflake.jooq.schema=app"))) {
            router = application.getBean(ShardRouter.class);

            assertThat(router.pools()).extracting(PoolStatus::size).containsOnly(3);
            assertThat(cache).exists();
            assertThat(router.<String, SQLException>read(0, StartTest::applicationName))
                    .isEqualTo("photos of a test");
            assertThat(application.getBean(PlatformTransactionManager.class))
                    .isInstanceOf(JdbcTransactionManager.class)
                    .isInstanceOf(ShardTransactionManager.class);
            assertThat(application.getBean(JooqRouter.class)).isNotNull();
            assertThat(application.getBean(DSLContext.class).dialect()).isEqualTo(SQLDialect.POSTGRES);

            application
                    .getBean(ShardTemplate.class)
                    .on(
                            ShardKey.shard(1),
                            () -> application.getBean(DSLContext.class).fetchValue("SELECT count(*) FROM photo"));
            application
                    .getBean(ShardTemplate.class)
                    .read(
                            ShardKey.shard(1),
                            () -> application.getBean(DSLContext.class).fetchValue("SELECT count(*) FROM photo"));
            assertThat(application
                            .getBean(MeterRegistry.class)
                            .get("shardflake.transactions")
                            .tags("server", "db2", "kind", "read", "outcome", "committed")
                            .timer()
                            .count())
                    .isEqualTo(1);
        }
        assertThatThrownBy(() -> router.run(1, tx -> {})).hasMessage("the router is closed");
    }

    @Configuration(proxyBeanMethods = false)
    static class AskedPasswords {

        static final AtomicInteger ASKED = new AtomicInteger();

        @Bean
        PasswordSource passwords() {
            return login -> "password " + ASKED.incrementAndGet();
        }
    }

    @Test
    void aBeanIsAskedForPasswords() throws Exception {
        try (ConfigurableApplicationContext application =
                new SpringApplicationBuilder(Application.class, AskedPasswords.class).run(installation.arguments())) {
            int before = AskedPasswords.ASKED.get();

            application.getBean(ShardRouter.class).read(1, StartTest::applicationName);

            assertThat(before).isPositive();
            assertThat(AskedPasswords.ASKED).hasValueGreaterThan(before);
        }
        assertThatThrownBy(() -> new SpringApplicationBuilder(Application.class, AskedPasswords.class)
                        .run(installation.arguments("--shardflake.username=app", "--shardflake.password=secret")))
                .rootCause()
                .hasMessageStartingWith("There are two passwords: shardflake.password is set");
    }

    private static String applicationName(ShardTransaction tx) throws SQLException {
        try (Statement statement = tx.connection().createStatement();
                ResultSet row = statement.executeQuery("SHOW application_name")) {
            row.next();
            return row.getString(1);
        }
    }

    @Test
    void healthShowsEveryServer() {
        try (ConfigurableApplicationContext application =
                SpringApplication.run(Application.class, installation.arguments())) {
            Map<String, HealthIndicator> indicators = application.getBeansOfType(HealthIndicator.class);

            assertThat(indicators).containsKey("shardflakeHealthIndicator").doesNotContainKey("dbHealthContributor");
            Health health = Objects.requireNonNull(Objects.requireNonNull(indicators.get("shardflakeHealthIndicator"))
                    .health());
            assertThat(health.getStatus()).isEqualTo(Status.UP);
            assertThat(health.getDetails().toString()).contains("db1", "db2", "version");
        }
    }

    @Test
    void theDataSourceAnswersWithoutAShard() throws Exception {
        try (ConfigurableApplicationContext application =
                        SpringApplication.run(Application.class, installation.arguments());
                var connection = application.getBean(DataSource.class).getConnection()) {
            assertThat(connection.isValid(1)).isTrue();
            assertThat(connection.getMetaData().getDatabaseProductName()).isEqualTo("PostgreSQL");
            assertThatThrownBy(connection::createStatement).hasMessageContaining("@OnShard");
        }
    }

    @Test
    void saysWhatIsWrongWithTheConfiguration(@TempDir Path directory) throws Exception {
        assertFails("neither shardflake.catalog nor shardflake.map-file is set", "postgresql://app@db1/app");
        assertFails(
                "shardflake.pool.size cannot be used: pool size is 0, allowed: 1 or more",
                "Correct shardflake.pool.size",
                installation.arguments("--shardflake.pool.size=0"));
        assertFails(
                "shardflake.retry.max-tries cannot be used: maxTries is -1, allowed: 1 or more",
                "Correct shardflake.retry.max-tries",
                installation.arguments("--shardflake.retry.max-tries=-1"));
        assertFails(
                "shardflake.pool.driver.rewrite cannot be used: the driver has no property rewrite",
                "Correct shardflake.pool.driver.rewrite",
                installation.arguments("--shardflake.pool.driver.rewrite=true"));
        assertFails(
                "shardflake.catalog cannot be used",
                "Correct shardflake.catalog",
                "--shardflake.catalog=mysql://db1/app");
        assertFails(
                "shardflake.password is set, but not shardflake.username",
                "Set shardflake.username",
                installation.arguments("--shardflake.password=secret"));
        assertFails(
                "shardflake.old-database has settings, but not shardflake.old-database.url",
                "Set shardflake.old-database.url",
                installation.arguments("--shardflake.old-database.dark-reads=0.1"));
        assertFails(
                "shardflake.old-database cannot be used: the schema of the old database is \"Shop\"",
                "Correct shardflake.old-database",
                installation.arguments(
                        "--shardflake.old-database.url=postgresql://app@old/app",
                        "--shardflake.old-database.schema=Shop"));
        assertFails(
                "both set",
                "Keep shardflake.catalog",
                installation.arguments("--shardflake.map-file=" + Files.createTempFile(directory, "map", "")));
        assertFails(
                "has no shard map",
                "shardflake init",
                "--shardflake.catalog=" + installation.catalogUrl().replaceFirst("/[^/?]*(\\?|$)", "/postgres$1"));
        assertFails(
                "The catalog cannot be asked",
                "Check that the server of shardflake.catalog runs",
                "--shardflake.catalog=postgresql://app@localhost:1/app");
    }

    private static void assertFails(String description, String action, String... arguments) {
        assertThatThrownBy(() ->
                        SpringApplication.run(Application.class, arguments).close())
                .satisfies(e -> {
                    FailureAnalysis analysis = Objects.requireNonNull(new ShardflakeFailureAnalyzer().analyze(e));
                    assertThat(analysis.getDescription()).contains(description).doesNotContain("..");
                    assertThat(analysis.getAction()).contains(action);
                });
    }

    @Test
    void thePropertiesAreDescribed() throws IOException {
        assertThat(metadata())
                .contains("\"shardflake.catalog\"", "\"shardflake.pool.size\"", "\"shardflake.retry.deadline\"")
                .contains("File to keep a copy of the shard map in");
    }

    /** What an editor completes properties from. */
    static String metadata() throws IOException {
        return Files.readString(Path.of("target/classes/META-INF/spring-configuration-metadata.json"));
    }
}
