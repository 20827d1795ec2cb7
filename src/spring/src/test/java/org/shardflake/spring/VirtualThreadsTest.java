/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cluster.PostgresExtension;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.task.AsyncTaskExecutor;

/** More virtual threads than connections, by far. */
@EnabledForJreRange(min = JRE.JAVA_21, disabledReason = "virtual threads came with Java 21")
class VirtualThreadsTest {

    private static final int TASKS = 500;

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import(PhotoService.class)
    static class Application {}

    @Test
    void writeOnShards(@TempDir Path directory) throws Exception {
        PhotoInstallation installation = PhotoInstallation.create(postgres, directory);
        try (ConfigurableApplicationContext application = SpringApplication.run(
                Application.class,
                installation.arguments(
                        "--spring.threads.virtual.enabled=true",
                        "--shardflake.pool.size=2",
                        "--shardflake.pool.connection-timeout=60s"))) {
            PhotoService photos = application.getBean(PhotoService.class);
            AsyncTaskExecutor executor = application.getBean(AsyncTaskExecutor.class);
            List<Future<Boolean>> wereVirtual = new ArrayList<>();
            for (int i = 0; i < TASKS; i++) {
                long uid = i;
                wereVirtual.add(executor.submit(() -> {
                    photos.add(uid, "by a virtual thread");
                    return isVirtual(Thread.currentThread());
                }));
            }
            for (Future<Boolean> wasVirtual : wereVirtual) {
                assertThat(wasVirtual.get()).isTrue();
            }
        }
        long rows = 0;
        for (int shard = 0; shard < PhotoInstallation.SHARDS; shard++) {
            rows += installation.photos(shard);
        }
        assertThat(rows).isEqualTo(TASKS);
    }

    /** Java 17 compiles this. */
    private static boolean isVirtual(Thread thread) throws ReflectiveOperationException {
        return (boolean) Thread.class.getMethod("isVirtual").invoke(thread);
    }
}
