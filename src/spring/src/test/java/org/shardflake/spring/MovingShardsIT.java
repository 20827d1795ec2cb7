/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.SQLException;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.move.MoveListener;
import org.shardflake.move.MoveSettings;
import org.shardflake.move.Mover;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.annotation.Transactional;

/** Shards move there and back under an application whose methods are {@code @OnShard @Transactional}. */
class MovingShardsIT {

    private static final int THREADS = 8;

    private static final int VIRTUAL_THREADS = 64;

    /** One with Spring Boot 3, whose difference is in how a transaction gets to a shard, and not in how often it is moved. */
    private static final int MANY = Integer.getInteger("moves.many", 8);

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
        PhotoService photos(JdbcClient jdbc) {
            return new PhotoService(jdbc);
        }
    }

    static class PhotoService implements MovingPhotos {

        private final JdbcClient jdbc;

        PhotoService(JdbcClient jdbc) {
            this.jdbc = jdbc;
        }

        /** Two statements of one transaction. */
        @Override
        @OnShard("#uid")
        @Transactional
        public long add(long uid, String title) {
            long id = jdbc.sql("INSERT INTO photo (uid) VALUES (?) RETURNING id")
                    .param(uid)
                    .query(Long.class)
                    .single();
            jdbc.sql("UPDATE photo SET title = ? WHERE id = ?")
                    .params(title, id)
                    .update();
            return id;
        }

        @Override
        @OnShard(id = "#id")
        @Transactional
        public String title(long id) {
            return jdbc.sql("SELECT title FROM photo WHERE id = ?")
                    .param(id)
                    .query(String.class)
                    .single();
        }
    }

    @Test
    void nobodyNoticesAMove() throws Exception {
        nobodyNotices(1, Application.class, installation.arguments());
    }

    /** Many more threads than connections, so that those that wait for one must not keep the carriers from those that have one. */
    @Test
    @EnabledForJreRange(min = JRE.JAVA_21, disabledReason = "virtual threads came with Java 21")
    void nobodyNoticesAMoveOnVirtualThreads() throws Exception {
        nobodyNotices(
                1,
                virtualThreads(),
                VIRTUAL_THREADS,
                Application.class,
                installation.arguments("--shardflake.pool.size=2", "--shardflake.pool.connection-timeout=60s"));
    }

    /** Java 17 compiles this. */
    private static ExecutorService virtualThreads() throws ReflectiveOperationException {
        return (ExecutorService)
                Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
    }

    @Test
    @Tag("full")
    void nobodyNoticesManyMoves() throws Exception {
        nobodyNotices(MANY, Application.class, installation.arguments());
    }

    private void nobodyNotices(int rounds, Class<?> applicationClass, String[] arguments) throws Exception {
        nobodyNotices(rounds, Executors.newFixedThreadPool(THREADS), THREADS, applicationClass, arguments);
    }

    private void nobodyNotices(
            int rounds, ExecutorService executor, int threads, Class<?> applicationClass, String[] arguments)
            throws Exception {
        Mover mover = Mover.at(installation.catalog(), MoveSettings.DEFAULT, MoveListener.NONE);
        Map<Long, String> acknowledged = new ConcurrentHashMap<>();
        long before = rows();
        try (ConfigurableApplicationContext application = SpringApplication.run(applicationClass, arguments);
                Load load = Load.start(application.getBean(MovingPhotos.class), acknowledged, executor, threads)) {
            for (int round = 0; round < rounds; round++) {
                load.awaitMore(200);
                mover.carryOut(mover.beginOrResume("db1", "db2", ShardSet.parse("0,2,4,6"), "there"), false);
                load.awaitMore(200);
                mover.carryOut(mover.beginOrResume("db2", "db1", ShardSet.parse("0,2,4,6"), "and back"), false);
            }
            load.awaitMore(200);
            load.close();
            assertThat(load.failures).isEmpty();
        }

        assertThat(rows() - before).isEqualTo(acknowledged.size());
        // The last round has brought every shard back to where it was.
        for (int shard = 0; shard < PhotoInstallation.SHARDS; shard++) {
            assertThat(installation.number(
                            shard % 2,
                            "SELECT count(*) FROM %s.photo WHERE title IS DISTINCT FROM 'photo of ' || uid"
                                    .formatted(Sharding.schema(shard))))
                    .isZero();
        }
    }

    private static long rows() throws SQLException {
        long rows = 0;
        for (int shard = 0; shard < PhotoInstallation.SHARDS; shard++) {
            rows += installation.photos(shard);
        }
        return rows;
    }

    /** Threads that add photos and read them back. */
    private static final class Load implements AutoCloseable {

        private final MovingPhotos photos;
        private final Map<Long, String> acknowledged;
        private final Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
        private final ExecutorService threads;
        private volatile boolean stopped;

        private Load(MovingPhotos photos, Map<Long, String> acknowledged, ExecutorService threads) {
            this.photos = photos;
            this.acknowledged = acknowledged;
            this.threads = threads;
        }

        static Load start(MovingPhotos photos, Map<Long, String> acknowledged, ExecutorService executor, int threads) {
            Load load = new Load(photos, acknowledged, executor);
            for (int i = 0; i < threads; i++) {
                load.threads.execute(load::run);
            }
            return load;
        }

        private void run() {
            while (!stopped) {
                long uid = ThreadLocalRandom.current().nextLong();
                try {
                    String title = "photo of " + uid;
                    long id = photos.add(uid, title);
                    acknowledged.put(id, title);
                    assertThat(photos.title(id)).isEqualTo(title);
                    Thread.sleep(5); // The servers share the machine.
                } catch (Throwable e) {
                    failures.add(e);
                }
            }
        }

        void awaitMore(int more) throws InterruptedException {
            int enough = acknowledged.size() + more;
            long deadline = System.nanoTime() + TimeUnit.MINUTES.toNanos(2);
            while (acknowledged.size() < enough) {
                assertThat(failures).isEmpty();
                assertThat(System.nanoTime()).as("photos come").isLessThan(deadline);
                Thread.sleep(5);
            }
        }

        @Override
        public void close() throws InterruptedException {
            stopped = true;
            threads.shutdown();
            assertThat(threads.awaitTermination(1, TimeUnit.MINUTES)).isTrue();
        }
    }
}
