/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.router.ShardRouter;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.annotation.Transactional;

/** An application that stops while a method runs on a shard. */
class ShutdownTest {

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    private static PhotoInstallation installation;

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {

        @Bean
        Work work() {
            return new Work();
        }
    }

    @OnShard("#uid")
    @Transactional
    static class Work {

        public long in(long uid, LongSupplier work) {
            return work.getAsLong();
        }
    }

    @BeforeAll
    static void create(@TempDir Path directory) throws Exception {
        installation = PhotoInstallation.create(postgres, directory);
    }

    @BeforeEach
    void empty() throws SQLException {
        installation.empty();
    }

    @Test
    void aTransactionEndsBeforeTheApplicationStops() throws Exception {
        ConfigurableApplicationContext application =
                SpringApplication.run(Application.class, installation.arguments("--shardflake.close-timeout=5m"));
        ShardRouter router = application.getBean(ShardRouter.class);
        Running running = new Running(application);
        CompletableFuture<Void> closing = CompletableFuture.runAsync(application::close);
        awaitRefusal(router);

        assertThat(closing).isNotDone();
        running.goOn.countDown();

        assertThat(running.id.get()).isPositive();
        closing.get();
        assertThat(installation.photos(2)).isEqualTo(1);
    }

    @Test
    void aTransactionThatTakesLongerThanTheTimeoutIsRolledBack() throws Exception {
        ConfigurableApplicationContext application =
                SpringApplication.run(Application.class, installation.arguments("--shardflake.close-timeout=0"));
        Running running = new Running(application);

        application.close();
        running.goOn.countDown();

        assertThatThrownBy(running.id::get).hasRootCauseInstanceOf(SQLException.class);
        assertThat(installation.photos(2)).isZero();
    }

    /** A transaction that has written and waits. */
    private static final class Running {

        private final CountDownLatch goOn = new CountDownLatch(1);
        private final CompletableFuture<Long> id;

        Running(ConfigurableApplicationContext application) throws InterruptedException {
            CountDownLatch hasWritten = new CountDownLatch(1);
            Work work = application.getBean(Work.class);
            JdbcClient jdbc = application.getBean(JdbcClient.class);
            id = CompletableFuture.supplyAsync(() -> work.in(2, () -> {
                long made = jdbc.sql("INSERT INTO photo (uid, title) VALUES (2, 'the last') RETURNING id")
                        .query(Long.class)
                        .single();
                hasWritten.countDown();
                await(goOn);
                return made;
            }));
            hasWritten.await();
        }

        private static void await(CountDownLatch latch) {
            try {
                latch.await();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    /** Returns once the router takes no more work. */
    private static void awaitRefusal(ShardRouter router) throws InterruptedException {
        for (int i = 0; i < 30_000; i++) {
            try {
                router.run(3, tx -> {});
            } catch (IllegalStateException e) {
                assertThat(e).hasMessage("the router is closed");
                return;
            }
            Thread.sleep(2);
        }
        throw new AssertionError("the router still takes work");
    }
}
