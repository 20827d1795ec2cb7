/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.spring;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.shardflake.jpa.ShardflakeIdConverter;
import org.springframework.aot.generate.ClassNameGenerator;
import org.springframework.aot.generate.DefaultGenerationContext;
import org.springframework.aot.generate.GeneratedFiles;
import org.springframework.aot.generate.InMemoryGeneratedFiles;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.core.env.MapPropertySource;
import org.springframework.javapoet.ClassName;
import org.springframework.util.ClassUtils;

/** The hints for native images; nothing here builds one. */
class NativeImageTest {

    private static final Path SOURCES = Path.of("../spring/src/main/java/org/shardflake/spring");

    @Configuration(proxyBeanMethods = false)
    @EnableAutoConfiguration
    @Import(PhotoService.class)
    static class Application {}

    /** Spring prepares an application for a native image, and gets to know of what Spring does not see itself. */
    @Test
    void springPreparesAnApplication() {
        InMemoryGeneratedFiles files = new InMemoryGeneratedFiles();
        DefaultGenerationContext prepared =
                new DefaultGenerationContext(new ClassNameGenerator(ClassName.get(Application.class)), files);
        try (AnnotationConfigApplicationContext application = new AnnotationConfigApplicationContext()) {
            application
                    .getEnvironment()
                    .getPropertySources()
                    .addFirst(new MapPropertySource(
                            "a test", Map.of("shardflake.catalog", "postgresql://app@localhost:1/app")));
            application.register(Application.class);
            new ApplicationContextAotGenerator().processAheadOfTime(application, prepared);
            prepared.writeGeneratedContent();
        }

        assertThat(files.getGeneratedFiles(GeneratedFiles.Kind.SOURCE).keySet())
                .anyMatch(name -> name.endsWith("ShardflakeAutoConfiguration__BeanDefinitions.java"));
        RuntimeHints hints = prepared.getRuntimeHints();
        assertThat(RuntimeHintsPredicates.proxies().forInterfaces(Connection.class))
                .accepts(hints);
        assertThat(RuntimeHintsPredicates.proxies().forInterfaces(DatabaseMetaData.class))
                .accepts(hints);
        assertThat(RuntimeHintsPredicates.reflection().onType(ShardflakeIdGenerator.class))
                .accepts(hints);
        assertThat(RuntimeHintsPredicates.reflection().onType(ShardflakeIdConverter.class))
                .accepts(hints);
        Stream.of(BootThreeBean.HEALTH_INDICATOR, "org.hibernate.event.spi.SaveOrUpdateEventListener")
                .filter(type -> ClassUtils.isPresent(type, null))
                .map(type -> ClassUtils.resolveClassName(type, null))
                .forEach(type -> assertThat(RuntimeHintsPredicates.proxies().forInterfaces(type))
                        .accepts(hints));
    }

    /** One more proxy needs one more hint. */
    @Test
    void onlyTheseMakeProxies() throws IOException {
        List<String> makers;
        try (Stream<Path> files = Files.walk(SOURCES)) {
            makers = files.filter(file -> file.toString().endsWith(".java"))
                    .filter(file -> reads(file).contains("Proxy.newProxyInstance("))
                    .map(file -> String.valueOf(file.getFileName()))
                    .sorted()
                    .toList();
        }

        assertThat(makers)
                .containsExactly(
                        "BootThreeBean.java", "JoinedConnection.java", "NoShardConnection.java", "SavedEntities.java");
    }

    private static String reads(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
