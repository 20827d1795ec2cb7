/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.example.jpa;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.hibernate.Session;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cluster.PostgresExtension;
import org.shardflake.spring.PhotoInstallation;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * Prints the times of 1,000 inserts with {@code @GeneratedShardflakeId}, of a batch without Hibernate, and of {@code IDENTITY}. To measure,
 * pass {@code -Dbenchmark=inserts -Dtests.jvm=-XX:+UseSerialGC}, so that the JVM compiles as an application's does. Without
 * {@code -Dbenchmark=inserts} each way inserts once.
 */
@Tag("full")
class ThousandInsertsIT {

    private static final boolean MEASURES = "inserts".equals(System.getProperty("benchmark"));
    private static final int WARM_UP = MEASURES ? 20 : 0;
    private static final int ROUNDS = MEASURES ? 11 : 1;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    static class Application {

        @Bean
        PhotoWork work() {
            return new PhotoWork();
        }
    }

    @Test
    void takeATenthOfTheTimeOfIdentityOrSo(@TempDir Path directory) throws Exception {
        PhotoInstallation installation = PhotoInstallation.create(postgres, directory, JpaTest.TABLES);
        for (String rewrite : List.of("false", "true")) {
            try (ConfigurableApplicationContext application = SpringApplication.run(
                    Application.class,
                    installation.argumentsForJpa(
                            "--spring.main.web-application-type=none",
                            "--shardflake.pool.driver.reWriteBatchedInserts=" + rewrite))) {
                printRatios(application.getBean(PhotoWork.class), "rewritten by the driver: " + rewrite);
            }
        }
        assertThat(installation.photos(2)).isEqualTo(6000L * (WARM_UP + ROUNDS));
    }

    private static void printRatios(PhotoWork work, String how) {
        double[] hibernate = new double[ROUNDS];
        double[] jdbc = new double[ROUNDS];
        for (int round = -WARM_UP; round < ROUNDS; round++) {
            double blocks = millis(() -> work.in(2, entities -> {
                JpaTest.manyPhotos(1000).forEach(entities::persist);
                return 1;
            }));
            double batch = millis(() -> work.in(2, entities -> {
                entities.unwrap(Session.class).doWork(ThousandInsertsIT::insertBatch);
                return 1;
            }));
            double identity = millis(() -> work.in(2, entities -> {
                IntStream.range(0, 1000).forEach(i -> entities.persist(new IdentityPhoto(2, "photo " + i)));
                return 1;
            }));
            if (round >= 0) {
                hibernate[round] = blocks / identity;
                jdbc[round] = batch / identity;
            }
        }
        print("with @GeneratedShardflakeId, " + how, hibernate);
        print("without Hibernate, " + how, jdbc);
    }

    private static void insertBatch(Connection connection) throws SQLException {
        try (PreparedStatement draw =
                        connection.prepareStatement("SELECT shardflake.next_ids(2, 'photo_id_seq', 1000)");
                PreparedStatement insert =
                        connection.prepareStatement("INSERT INTO photo (id, uid, title, version) VALUES (?, 2, ?, 0)");
                ResultSet ids = draw.executeQuery()) {
            while (ids.next()) {
                insert.setLong(1, ids.getLong(1));
                insert.setString(2, "photo " + ids.getRow());
                insert.addBatch();
            }
            insert.executeBatch();
        }
    }

    private static void print(String how, double[] ratios) {
        Arrays.sort(ratios);
        System.out.printf(
                "1000 inserts %s: %.3f of IDENTITY's time (%.3f to %.3f)%n",
                how, ratios[ROUNDS / 2], ratios[0], ratios[ROUNDS - 1]);
    }

    private static double millis(Runnable run) {
        long start = System.nanoTime();
        run.run();
        return (System.nanoTime() - start) / 1e6;
    }
}
