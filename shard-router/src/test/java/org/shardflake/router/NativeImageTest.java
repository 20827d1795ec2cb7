/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.router;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** The metadata for native images, compared with the sources. */
class NativeImageTest {

    private static final String METADATA =
            "/META-INF/native-image/org.shardflake/shardflake-router/reachability-metadata.json";

    private static final Path SOURCES = Path.of("src/main/java");
    private static final Path RESOURCES = Path.of("src/main/resources");

    private static final Pattern IMPORT = Pattern.compile("(?m)^import (java\\.sql\\.\\w+);$");
    private static final Pattern PROXY =
            Pattern.compile("new Class<\\?>\\[] \\{(\\w+)\\.class}|\\bproxy\\((\\w+)\\.class,");

    /** Reflective calls that the metadata does not cover. */
    private static final Pattern OTHER = Pattern.compile(
            "\\b(Class\\.forName|ServiceLoader\\.load|ResourceBundle|loadClass|setAccessible|getDeclared(Method|Field|Constructor)|newInstance)\\b");

    @Test
    void knowsEachProxy() throws IOException {
        TreeSet<String> made = new TreeSet<>();
        for (Path file : files(SOURCES)) {
            String source = Files.readString(file);
            if (!source.contains("Proxy.newProxyInstance(")) {
                continue;
            }
            Map<String, String> imports = IMPORT.matcher(source)
                    .results()
                    .collect(Collectors.toMap(
                            found -> found.group(1).replaceFirst(".*\\.", ""), found -> found.group(1)));
            List<MatchResult> types = PROXY.matcher(source).results().toList();
            assertThat(types).as("interfaces of the proxies in " + file).isNotEmpty();
            for (MatchResult type : types) {
                String name = type.group(1) != null ? type.group(1) : type.group(2);
                made.add(Objects.requireNonNull(imports.get(name), () -> file + " makes a proxy of " + name));
            }
        }

        List<String> told = new ArrayList<>();
        for (Map<String, Map<String, List<String>>> entry :
                this.<Map<String, Map<String, List<String>>>>section("reflection")) {
            entry.values().forEach(type -> type.values().forEach(told::addAll));
        }
        assertThat(told).containsExactlyElementsOf(made);
    }

    @Test
    void knowsEachResource() throws IOException {
        List<String> globs = this.<Map<String, String>>section("resources").stream()
                .map(entry -> entry.get("glob"))
                .toList();

        assertThat(files(RESOURCES))
                .isNotEmpty()
                .map(file -> RESOURCES.relativize(file))
                .filteredOn(file -> !file.startsWith("META-INF"))
                .allMatch(file -> globs.stream()
                        .anyMatch(glob -> FileSystems.getDefault()
                                .getPathMatcher("glob:" + glob)
                                .matches(file)));
    }

    @Test
    void nothingElseIsFoundByName() throws IOException {
        for (Path file : files(SOURCES)) {
            assertThat(Files.readString(file)).as(file.toString()).doesNotContainPattern(OTHER);
        }
    }

    private static List<Path> files(Path directory) throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.filter(Files::isRegularFile).sorted().toList();
        }
    }

    @SuppressWarnings({"unchecked", "TypeParameterUnusedInFormals"})
    private <T> List<T> section(String name) throws IOException {
        try (InputStream file = Objects.requireNonNull(getClass().getResourceAsStream(METADATA))) {
            Map<String, List<T>> metadata = (Map<String, List<T>>)
                    new Load(LoadSettings.builder().build()).loadFromString(new String(file.readAllBytes(), UTF_8));
            return Objects.requireNonNull(metadata.get(name));
        }
    }
}
