/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.shardflake.IdLayout;
import org.shardflake.ShardKey;
import org.shardflake.cluster.PostgresExtension;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.simple.SimpleJdbcCall;
import org.springframework.jdbc.core.simple.SimpleJdbcInsert;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Frameworks that look at the tables of the {@code DataSource}, or use it when the application starts. */
class MetadataTest {

    private static final String TABLES = """
            --liquibase formatted sql
            --changeset app:photo
            CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL, title text);
            --changeset app:double splitStatements:false
            CREATE FUNCTION twice(n integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 2 * n';
            """;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private static PhotoInstallation installation;
    private static ConfigurableApplicationContext application;
    private static DataSource dataSource;
    private static ShardTemplate shards;

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {

        /** Of a framework whose tables are elsewhere. */
        @Bean(defaultCandidate = false)
        DataSource jobs() {
            return new DriverManagerDataSource("jdbc:postgresql://localhost:1/jobs");
        }
    }

    @BeforeAll
    static void start(@TempDir Path directory) throws Exception {
        installation = PhotoInstallation.create(postgres, directory, TABLES);
        application = SpringApplication.run(Application.class, installation.arguments());
        dataSource = application.getBean(DataSource.class);
        shards = application.getBean(ShardTemplate.class);
    }

    @AfterAll
    static void stop() {
        application.close();
    }

    @Test
    void anotherDataSourceThatIsNoDefaultLeavesTheShardsTheirOwn() {
        assertThat(application.getBeansOfType(DataSource.class)).hasSize(2);
        assertThat(dataSource).isInstanceOf(CurrentShardDataSource.class);
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class WithAnotherDefault {

        @Bean
        DataSource jobs() {
            return new DriverManagerDataSource("jdbc:postgresql://localhost:1/jobs");
        }
    }

    /** Transactions would be of the other database, and @OnShard would have no effect on them. */
    @Configuration(proxyBeanMethods = false)
    @Import({WithAnotherDefault.class, PhotoService.class})
    static class WithItsTransactionsToo {

        @Bean
        PlatformTransactionManager jobsTransactions(DataSource jobs) {
            return new DataSourceTransactionManager(jobs);
        }
    }

    @ParameterizedTest
    @ValueSource(classes = {WithAnotherDefault.class, WithItsTransactionsToo.class})
    void anotherDefaultDataSourceIsNamedAtTheStart(Class<?> another) {
        assertThatThrownBy(() ->
                        SpringApplication.run(another, installation.arguments()).close())
                .satisfies(e -> {
                    FailureAnalysis analysis = Objects.requireNonNull(new ShardflakeFailureAnalyzer().analyze(e));
                    assertThat(analysis.getDescription()).contains("bean jobs");
                    assertThat(analysis.getAction()).contains("@Bean(defaultCandidate = false)");
                });
    }

    @Test
    void simpleJdbcInsertFindsTheTableOfTheShard() throws SQLException {
        SimpleJdbcInsert insert =
                new SimpleJdbcInsert(dataSource).withTableName("photo").usingGeneratedKeyColumns("id");

        for (int uid : List.of(2, 3)) {
            Number id = shards.write(
                    ShardKey.uid(uid), () -> insert.executeAndReturnKey(Map.of("uid", uid, "title", "sunrise")));
            assertThat(IdLayout.shard(id.longValue())).isEqualTo(uid);
            assertThat(installation.photos(uid)).isEqualTo(1);
        }
    }

    @Test
    void simpleJdbcCallFindsTheFunctionOfTheShard() {
        SimpleJdbcCall call = new SimpleJdbcCall(dataSource).withFunctionName("twice");

        for (int uid : List.of(2, 3)) {
            Integer result =
                    shards.write(ShardKey.uid(uid), () -> call.executeFunction(Integer.class, Map.of("n", 21)));
            assertThat(result).isEqualTo(42);
        }
    }

    @Test
    void outsideOfAnyShardTheTablesAreThoseOfTheFirst() throws SQLException {
        try (Connection connection = dataSource.getConnection()) {
            DatabaseMetaData metaData = connection.getMetaData();
            List<String> schemas = new ArrayList<>();
            try (ResultSet tables = metaData.getTables(null, null, "photo", new String[] {"TABLE"})) {
                while (tables.next()) {
                    schemas.add(tables.getString("TABLE_SCHEM"));
                }
            }
            assertThat(schemas).containsExactly("shard_0000");
            assertThat(connection.getSchema()).isEqualTo("shard_0000");
            assertThat(metaData.getConnection()).isSameAs(connection);
            assertThatThrownBy(() -> metaData.getConnection().createStatement()).hasMessageContaining("@OnShard");
        }
    }

    @Test
    void scriptsAtTheStartAreRefusedByTheNameOfTheProperty(@TempDir Path directory) throws IOException {
        Path script = Files.writeString(directory.resolve("schema.sql"), "CREATE TABLE note (id bigint PRIMARY KEY);");
        assertThatThrownBy(() -> SpringApplication.run(
                                Application.class,
                                installation.arguments(
                                        "--spring.sql.init.mode=always",
                                        "--spring.sql.init.schema-locations=" + script.toUri()))
                        .close())
                .satisfies(e -> assertThat(analysis(e)).contains("spring.sql.init uses", "spring.sql.init.mode=never"));
    }

    @ParameterizedTest
    @CsvSource({
        "flywayInitializer, spring.flyway.url",
        "liquibase, spring.liquibase.url",
        "quartzDataSourceScriptDatabaseInitializer, @QuartzDataSource",
        "batchDataSourceScriptDatabaseInitializer, @BatchDataSource",
        "jdbcSessionDataSourceScriptDatabaseInitializer, @SpringSessionDataSource",
        "somethingElse, @OnShard"
    })
    void aFrameworkIsToldHowItGetsADatabaseOfItsOwn(String bean, String action) {
        assertThat(analysis(new BeanCreationException(bean, "failed", new NoShardException())))
                .contains(action)
                .contains("DataSource");
    }

    @ParameterizedTest
    @CsvSource({
        "org.flywaydb.core.Flyway, FLYWAY",
        "org.springframework.batch.core.repository.dao.JdbcJobInstanceDao, BATCH",
        "org.springframework.session.jdbc.JdbcIndexedSessionRepository, SESSION",
        "org.quartz.impl.jdbcjobstore.JobStoreSupport, QUARTZ",
        "org.hibernate.internal.SessionImpl,",
        "org.hibernate.engine.jdbc.batch.internal.BatchImpl,"
    })
    void aFrameworkIsKnownByItsClasses(String calling, @Nullable OtherFramework expected) {
        assertThat(OtherFramework.calling(
                        new StackTraceElement[] {new StackTraceElement(calling, "run", "Some.java", 1)}))
                .isEqualTo(expected);
    }

    @Test
    void aTransactionOutsideOfAnyShardSaysSoToo() {
        TransactionTemplate outside = new TransactionTemplate(application.getBean(PlatformTransactionManager.class));

        assertThatThrownBy(() -> outside.executeWithoutResult(status -> {}))
                .isInstanceOf(IllegalTransactionStateException.class)
                .satisfies(e -> assertThat(analysis(e)).contains("@OnShard"));
    }

    private static String analysis(Throwable failure) {
        FailureAnalysis analysis = Objects.requireNonNull(new NoShardFailureAnalyzer().analyze(failure));
        return analysis.getDescription() + " " + analysis.getAction();
    }
}
