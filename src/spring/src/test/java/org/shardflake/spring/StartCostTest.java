/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.ShardKey;
import org.shardflake.cluster.PostgresExtension;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * Measures, and asserts nothing about, how much later an application with the starter has answered its first query than the
 * same application with one pool of HikariCP. Each start is a JVM of its own; the two take turns.
 *
 * <pre>{@code ./mvnw -Dquick -pl src/spring test -Dtest=StartCostTest -Dbenchmark=start}</pre>
 */
@EnabledIfSystemProperty(named = "benchmark", matches = "start")
class StartCostTest {

    private static final int ROUNDS = 15;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration(
            excludeName = {
                "org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration",
                "org.springframework.boot.data.jpa.autoconfigure.DataJpaRepositoriesAutoConfiguration"
            })
    static class Application {

        /** Prints the milliseconds from the start of the JVM to the answer of a query, before and after which nothing is done. */
        public static void main(String[] arguments) {
            try (ConfigurableApplicationContext application = SpringApplication.run(Application.class, arguments)) {
                JdbcClient jdbc = application.getBean(JdbcClient.class);
                if (application.getBeanNamesForType(ShardTemplate.class).length > 0) {
                    application.getBean(ShardTemplate.class).read(ShardKey.uid(1), () -> one(jdbc));
                } else {
                    one(jdbc);
                }
                long started = ManagementFactory.getRuntimeMXBean().getStartTime();
                System.out.println("MILLISECONDS " + (System.currentTimeMillis() - started));
            }
        }

        private static int one(JdbcClient jdbc) {
            return jdbc.sql("SELECT 1").query(Integer.class).single();
        }
    }

    @Test
    void measure(@TempDir Path directory) throws Exception {
        PhotoInstallation installation = PhotoInstallation.create(postgres, directory);
        List<String> starter = List.of(installation.arguments());
        List<String> plain = List.of(
                "--spring.main.banner-mode=off",
                "--server.port=0",
                "--spring.datasource.url=" + postgres.database(0).jdbcUrl(),
                "--spring.datasource.username=" + postgres.database(0).user(),
                "--spring.autoconfigure.exclude=org.shardflake.spring.ShardflakeAutoConfiguration,"
                        + "org.shardflake.spring.ShardIdAutoConfiguration,org.shardflake.spring.ShardsEndpointAutoConfiguration");
        List<Long> plainTimes = new ArrayList<>();
        List<Long> starterTimes = new ArrayList<>();
        List<Long> differences = new ArrayList<>();
        start(plain);
        start(starter);
        for (int round = 0; round < ROUNDS; round++) {
            plainTimes.add(start(plain));
            starterTimes.add(start(starter));
            differences.add(starterTimes.get(round) - plainTimes.get(round));
        }
        System.out.printf(
                "one HikariCP data source %s, starter %s, starter later by %s (median, least..most of %s starts, ms)%n",
                shown(plainTimes), shown(starterTimes), shown(differences), ROUNDS);
    }

    private static long start(List<String> arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                Application.class.getName()));
        command.addAll(arguments);
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(output).contains("MILLISECONDS ");
        return Long.parseLong(output.replaceFirst("(?s).*MILLISECONDS (\\d+).*", "$1"));
    }

    private static String shown(List<Long> times) {
        List<Long> sorted = new ArrayList<>(times);
        Collections.sort(sorted);
        return "%s (%s..%s)".formatted(sorted.get(ROUNDS / 2), sorted.get(0), sorted.get(ROUNDS - 1));
    }
}
