/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jooq;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** The code in {@code org.shardflake.example.generated} is what jOOQ generates from the changelog of the guide. */
class GeneratedCodeTest {

    private static final Path COMMITTED = Path.of("src/test/java");
    private static final Path PACKAGE = Path.of("org/shardflake/example/generated");

    @Test
    void isUpToDate(@TempDir Path directory) throws Exception {
        GeneratedCode.generate(directory);
        if (Boolean.getBoolean("regenerate")) {
            copy(directory.resolve(PACKAGE), COMMITTED.resolve(PACKAGE));
        }

        assertThat(files(COMMITTED.resolve(PACKAGE)))
                .as(
                        "out of date; generate it again: ./mvnw verify -pl shard-router -am -Dtest=GeneratedCodeTest -Dregenerate=true")
                .isEqualTo(files(directory.resolve(PACKAGE)));
    }

    /** With the libraries of this build, as far as Maven has put them into its local repository, and no network. */
    @Tag("full")
    @Test
    @EnabledIf("hasGradle")
    void gradleGeneratesTheSame(@TempDir Path directory) throws Exception {
        GeneratedCode.writeGradleProject(directory);
        Path h2 = jarOf("org.h2.Driver");
        Path bind = jarOf("jakarta.xml.bind.JAXBContext");
        Path repository = h2.resolve("../../../../..").normalize();
        Path settings = Files.writeString(
                directory.resolve("offline.gradle"), """
                allprojects {
                    repositories { maven { url = '%s' } }
                    configurations.all {
                        resolutionStrategy.force 'com.h2database:h2:%s', 'jakarta.xml.bind:jakarta.xml.bind-api:%s'
                    }
                }
                """.formatted(repository, version(h2), version(bind)));
        Path build = directory.resolve("build.gradle");
        if (gradle(directory, "--version").contains("Gradle 4.")) {
            Files.writeString(build, Files.readString(build).replace("mainClass =", "main ="));
        }

        assertThat(gradle(directory, "--offline", "--no-daemon", "-I", settings.toString(), "compileJava"))
                .contains("BUILD SUCCESSFUL");

        assertThat(files(directory.resolve("build/generated/jooq").resolve(PACKAGE)))
                .isEqualTo(files(COMMITTED.resolve(PACKAGE)));
    }

    private static Path jarOf(String type) throws Exception {
        return Path.of(Class.forName(type)
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
    }

    private static String version(Path jar) {
        return jar.getName(jar.getNameCount() - 2).toString();
    }

    private static String gradle(Path directory, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of("gradle"));
        command.addAll(List.of(arguments));
        ProcessBuilder builder = new ProcessBuilder(command).directory(directory.toFile());
        builder.environment().put("GRADLE_USER_HOME", directory.resolve("home").toString());
        Process process = builder.redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        process.waitFor();
        return output;
    }

    static boolean hasGradle() {
        return Stream.of(System.getenv("PATH").split(File.pathSeparator))
                .anyMatch(directory -> Files.isExecutable(Path.of(directory, "gradle")));
    }

    private static Map<String, String> files(Path directory) throws IOException {
        Map<String, String> files = new TreeMap<>();
        try (Stream<Path> paths = Files.walk(directory)) {
            for (Path path : paths.filter(Files::isRegularFile).toList()) {
                files.put(directory.relativize(path).toString(), Files.readString(path));
            }
        }
        return files;
    }

    private static void copy(Path from, Path to) throws IOException {
        for (Map.Entry<String, String> file : files(from).entrySet()) {
            Path target = to.resolve(file.getKey());
            Files.createDirectories(target.getParent());
            Files.writeString(target, file.getValue());
        }
    }
}
