/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.quartz.Job;
import org.quartz.JobBuilder;
import org.quartz.JobExecutionContext;
import org.quartz.JobKey;
import org.quartz.Scheduler;
import org.shardflake.cluster.PostgresExtension;
import org.springframework.batch.core.job.parameters.JobParameters;
import org.springframework.batch.core.repository.JobRepository;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.batch.autoconfigure.BatchTransactionManager;
import org.springframework.boot.batch.jdbc.autoconfigure.BatchDataSource;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.quartz.autoconfigure.QuartzDataSource;
import org.springframework.boot.quartz.autoconfigure.QuartzTransactionManager;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.session.Session;
import org.springframework.session.SessionRepository;
import org.springframework.session.jdbc.config.annotation.SpringSessionDataSource;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** Frameworks with tables of their own, as Boot starts them: refused on the shards by name, and at work once the advice is followed. */
class FrameworksTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(3);

    private static PhotoInstallation installation;

    @BeforeAll
    static void create(@TempDir Path directory) throws Exception {
        installation = PhotoInstallation.create(postgres, directory);
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {}

    /** A database that has no shards. */
    private static DataSource own() {
        return new DriverManagerDataSource(
                postgres.database(2).jdbcUrl(),
                postgres.database(2).user(),
                postgres.database(2).password());
    }

    @Test
    void flyway(@TempDir Path directory) throws Exception {
        Files.writeString(directory.resolve("V1__note.sql"), "CREATE TABLE note (id bigint PRIMARY KEY)");
        String migrations = "--spring.flyway.locations=filesystem:" + directory;
        assertThat(refusal("Flyway", migrations))
                .contains("Flyway uses", "spring.flyway.enabled=false", "spring.flyway.url");

        start(Application.class, "Flyway", "--spring.flyway.enabled=false").close();
        start(
                        Application.class,
                        "Flyway",
                        migrations,
                        "--spring.flyway.url=" + postgres.database(2).jdbcUrl(),
                        "--spring.flyway.user=" + postgres.database(2).user(),
                        "--spring.flyway.password=" + postgres.database(2).password())
                .close();
        assertThat(JdbcClient.create(own())
                        .sql("SELECT count(*) FROM note")
                        .query(Long.class)
                        .single())
                .isZero();
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class WithJobsElsewhere {

        @Bean(defaultCandidate = false)
        @QuartzDataSource
        DataSource jobs() {
            return own();
        }

        @Bean(defaultCandidate = false)
        @QuartzTransactionManager
        PlatformTransactionManager jobTransactions(@QuartzDataSource DataSource jobs) {
            return new JdbcTransactionManager(jobs);
        }
    }

    /** Does nothing. */
    public static final class Nothing implements Job {
        @Override
        public void execute(JobExecutionContext context) {}
    }

    @Test
    void quartz() throws Exception {
        String[] properties = {
            "--spring.quartz.job-store-type=jdbc",
            "--spring.quartz.jdbc.initialize-schema=always",
            "--spring.quartz.properties.org.quartz.jobStore.driverDelegateClass=org.quartz.impl.jdbcjobstore.PostgreSQLDelegate"
        };
        assertThat(refusal("Quartz", properties))
                .contains(
                        "Quartz uses",
                        "spring.quartz.job-store-type=memory",
                        "@QuartzDataSource",
                        "@QuartzTransactionManager");

        start(Application.class, "Quartz", "--spring.quartz.job-store-type=memory")
                .close();
        try (ConfigurableApplicationContext application = start(WithJobsElsewhere.class, "Quartz", properties)) {
            Scheduler scheduler = application.getBean(Scheduler.class);
            scheduler.addJob(
                    JobBuilder.newJob(Nothing.class)
                            .withIdentity("nothing")
                            .storeDurably()
                            .build(),
                    true);
            assertThat(scheduler.checkExists(JobKey.jobKey("nothing"))).isTrue();
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class WithBatchesElsewhere {

        @Bean(defaultCandidate = false)
        @BatchDataSource
        DataSource batches() {
            return own();
        }

        @Bean(defaultCandidate = false)
        @BatchTransactionManager
        PlatformTransactionManager batchTransactions(@BatchDataSource DataSource batches) {
            return new JdbcTransactionManager(batches);
        }
    }

    @Test
    void batch() {
        String[] properties = {"--spring.batch.jdbc.initialize-schema=always"};
        assertThat(refusal("Batch", properties))
                .contains("Spring Batch uses", "@BatchDataSource", "@BatchTransactionManager");

        try (ConfigurableApplicationContext application = start(WithBatchesElsewhere.class, "Batch", properties)) {
            JobRepository repository = application.getBean(JobRepository.class);
            repository.createJobInstance("import", new JobParameters());
            assertThat(repository.getJobNames()).containsExactly("import");
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class WithSessionsElsewhere {

        @Bean(defaultCandidate = false)
        @SpringSessionDataSource
        DataSource sessions() {
            return own();
        }

        @Bean(defaultCandidate = false)
        TransactionTemplate springSessionTransactionOperations(@SpringSessionDataSource DataSource sessions) {
            return new TransactionTemplate(new JdbcTransactionManager(sessions));
        }
    }

    @Test
    void session() {
        String[] properties = {"--spring.session.jdbc.initialize-schema=always"};
        assertThat(refusal("Session", properties))
                .contains("Spring Session uses", "@SpringSessionDataSource", "springSessionTransactionOperations");

        try (ConfigurableApplicationContext application = start(WithSessionsElsewhere.class, "Session", properties)) {
            SessionRepository<?> sessions = application.getBean(SessionRepository.class);
            assertThat(isFoundAgain(sessions)).isTrue();
        }
    }

    private static <S extends Session> boolean isFoundAgain(SessionRepository<S> repository) {
        S session = repository.createSession();
        repository.save(session);
        return repository.findById(session.getId()) != null;
    }

    private static String refusal(String framework, String... properties) {
        Throwable failure = Objects.requireNonNull(catchThrowable(
                () -> start(Application.class, framework, properties).close()));
        FailureAnalysis analysis = Objects.requireNonNull(new NoShardFailureAnalyzer().analyze(failure));
        return analysis.getDescription() + " " + analysis.getAction();
    }

    private static ConfigurableApplicationContext start(Class<?> application, String framework, String... properties) {
        String[] arguments = Arrays.copyOf(properties, properties.length + 1);
        arguments[properties.length] = "--%s=%s".formatted(WantedFrameworks.PROPERTY, framework);
        return SpringApplication.run(application, installation.arguments(arguments));
    }
}
