/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cluster.PostgresExtension;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.annotation.Transactional;

/** What an application with Boot's registry of observations sees of its methods on shards. */
class ObservationsTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private static PhotoInstallation installation;
    private static ConfigurableApplicationContext application;
    private static Recorder recorder;

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {

        @Bean
        Recorder recorder() {
            return new Recorder();
        }

        @Bean
        Work work() {
            return new Work();
        }
    }

    static class Recorder implements ObservationHandler<Observation.Context> {

        private final List<Observation.Context> ended = new CopyOnWriteArrayList<>();

        @Override
        public void onStop(Observation.Context context) {
            ended.add(context);
        }

        @Override
        public boolean supportsContext(Observation.Context context) {
            return true;
        }
    }

    @OnShard("#uid")
    @Transactional
    static class Work {

        public long in(long uid, LongSupplier work) {
            return work.getAsLong();
        }

        @Transactional(readOnly = true)
        public long read(long uid, LongSupplier work) {
            return work.getAsLong();
        }
    }

    @BeforeAll
    static void start(@TempDir Path directory) throws Exception {
        installation = PhotoInstallation.create(postgres, directory);
        application = SpringApplication.run(Application.class, installation.arguments());
        recorder = application.getBean(Recorder.class);
    }

    @AfterAll
    static void stop() {
        application.close();
    }

    @BeforeEach
    void forget() {
        recorder.ended.clear();
    }

    private static long insert(long uid) {
        return application
                .getBean(JdbcClient.class)
                .sql("INSERT INTO photo (uid, title) VALUES (?, 'observed') RETURNING id")
                .param(uid)
                .query(Long.class)
                .single();
    }

    private static String value(String key) {
        return recorder.ended.get(recorder.ended.size() - 1).getAllKeyValues().stream()
                .filter(found -> found.getKey().equals(key))
                .findFirst()
                .orElseThrow()
                .getValue();
    }

    @Test
    void aMethodThatMeetsAFenceIsOneObservationWithTwoTries() throws SQLException {
        installation.inShard(3, "SELECT shardflake.fence_shard(3)");
        int[] runs = {0};

        application.getBean(Work.class).in(3, () -> {
            if (++runs[0] == 2) {
                unfence();
            }
            return insert(3);
        });

        assertThat(recorder.ended).extracting(Observation.Context::getName).containsExactly("shardflake.work");
        assertThat(value("tries")).isEqualTo("2");
        assertThat(value("shard")).isEqualTo("3");
        assertThat(value("server")).isEqualTo("db2");
        assertThat(value("kind")).isEqualTo("write");
        assertThat(value("outcome")).isEqualTo("returned");
    }

    private static void unfence() {
        try {
            installation.inShard(3, "SELECT shardflake.unfence_shard(3)");
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aMethodThatReadsIsARead() {
        application.getBean(Work.class).read(2, () -> 1);

        assertThat(value("kind")).isEqualTo("read");
    }

    @Test
    void whatTheMethodObservesIsInside() {
        ObservationRegistry registry = application.getBean(ObservationRegistry.class);

        application.getBean(Work.class).in(2, () -> {
            Observation.createNotStarted("statement", registry).observe((Runnable) () -> insert(2));
            return 1;
        });

        assertThat(recorder.ended)
                .extracting(Observation.Context::getName)
                .containsExactly("statement", "shardflake.work");
        assertThat(Objects.requireNonNull(recorder.ended.get(0).getParentObservation())
                        .getContextView())
                .isSameAs(recorder.ended.get(1));
    }
}
