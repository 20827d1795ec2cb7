/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cluster.PostgresExtension;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;

/** The page of the guide: its table, its service, its calls. */
class SpringPageTest {

    private static final Path PAGE = Path.of("../docs/guide/spring.md");
    private static final Path JPA = Path.of("src/test/java/org/shardflake/example/jpa");
    private static final Path HERE = Path.of("src/test/java/org/shardflake/spring");
    private static final Path TESTS = Path.of("../spring-test/src/test/java/org/shardflake/spring/test");

    @RegisterExtension
    static final PostgresExtension postgres = PostgresExtension.servers(2);

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import(PhotoService.class)
    static class Application {}

    @Test
    void thePageWorks(@TempDir Path directory) throws Exception {
        PhotoInstallation installation =
                PhotoInstallation.create(postgres, directory, blocks("sql").get(0));
        try (ConfigurableApplicationContext application =
                SpringApplication.run(Application.class, installation.arguments())) {
            PhotoService photos = application.getBean(PhotoService.class);

            long id = photos.add(42, "sunrise");
            photos.rename(id, "sunset");
            List<String> titles = photos.titles(42);

            assertThat(titles).containsExactly("sunset");
        }
        assertThat(installation.photos(42 % PhotoInstallation.SHARDS)).isEqualTo(1);
    }

    @Test
    void everyLineOfJavaOnThePageIsHere() throws IOException {
        String here = Files.readString(HERE.resolve("PhotoService.java"))
                + Files.readString(HERE.resolve("SpringPageTest.java"))
                + Files.readString(HERE.resolve("WebTest.java"))
                + Files.readString(JPA.resolve("Photo.java"))
                + Files.readString(JPA.resolve("PhotoLibrary.java"))
                + Files.readString(TESTS.resolve("PhotoServiceTest.java"))
                + Files.readString(TESTS.resolve("ShardflakeContainerIT.java"));
        List<String> blocks = blocks("java");

        assertThat(blocks).hasSize(8);
        blocks.forEach(block -> assertThat(withoutSpace(here)).contains(withoutSpace(block)));
    }

    @Test
    void everyPropertyOnThePageIsThere() throws IOException {
        String metadata = StartTest.metadata();
        List<String> properties = Pattern.compile("`(shardflake\\.[a-z.-]+)`")
                .matcher(Files.readString(PAGE))
                .results()
                .map(found -> found.group(1))
                .filter(name -> !name.equals("shardflake.retry"))
                .toList();

        assertThat(properties).hasSizeGreaterThan(8);
        properties.forEach(name -> assertThat(metadata).contains('"' + name + '"'));
    }

    private static List<String> blocks(String language) throws IOException {
        return Pattern.compile("```" + language + "\n(.*?)```", Pattern.DOTALL)
                .matcher(Files.readString(PAGE))
                .results()
                .map((MatchResult block) -> block.group(1))
                .toList();
    }

    private static String withoutSpace(String text) {
        return text.replaceAll("\\s+", "");
    }
}
