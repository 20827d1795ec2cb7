/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.website;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The pages that list modules and engines, against the POMs and the packages. */
class ModulesTest {

    private static final Path ROOT = Path.of("../..").toAbsolutePath().normalize();

    private static final Pattern DEPENDENCY = Pattern.compile("<dependency>(.*?)</dependency>", Pattern.DOTALL);

    private static final Pattern ARTIFACT = Pattern.compile("<artifactId>(shardflake-[^<]+)</artifactId>");

    @Test
    void theArchitectureListsEveryModuleBelowThoseThatItDependsOn() throws IOException {
        List<String> listed = firstCells("src/docs/architecture.md");
        List<String> modules = modules();
        Map<String, String> directories = new LinkedHashMap<>();
        for (String module : modules) {
            directories.put(artifact(pom(module)), module);
        }

        assertThat(listed).containsExactlyInAnyOrderElementsOf(modules);
        for (String module : modules) {
            for (String dependency : dependencies(pom(module))) {
                assertThat(listed.subList(0, listed.indexOf(module)))
                        .as("modules above %s, which depends on %s", module, dependency)
                        .contains(directories.get(dependency));
            }
        }
    }

    @Test
    void operatingFromJavaListsEveryPackageOfTheEngines() throws IOException {
        Path packages = ROOT.resolve("src/operations/src/main/java/org/shardflake");
        List<String> engines;
        try (Stream<Path> files = Files.walk(packages)) {
            engines = files.filter(file -> file.endsWith("package-info.java"))
                    .map(file -> "org.shardflake."
                            + packages.relativize(file.getParent()).toString().replace('/', '.'))
                    .filter(name -> !name.contains(".internal."))
                    .toList();
        }

        assertThat(firstCells("src/docs/guide/operating-from-java.md")).containsExactlyInAnyOrderElementsOf(engines);
    }

    static List<String> modules() throws IOException {
        return all("<module>([^<]+)</module>", Files.readString(ROOT.resolve("pom.xml")))
                .toList();
    }

    /** The names in the first column of a page's tables, in their order. */
    private static List<String> firstCells(String page) throws IOException {
        return Files.readAllLines(ROOT.resolve(page)).stream()
                .filter(line -> line.startsWith("| `"))
                .flatMap(line -> all("`([^`]+)`", line.split("\\|", -1)[1]))
                .toList();
    }

    private static Stream<String> all(String pattern, String text) {
        return Pattern.compile(pattern).matcher(text).results().map(match -> match.group(1));
    }

    private static String pom(String module) throws IOException {
        return Files.readString(ROOT.resolve(module).resolve("pom.xml"));
    }

    private static String artifact(String pom) {
        return ARTIFACT.matcher(pom.replaceFirst("(?s)<parent>.*?</parent>", ""))
                .results()
                .findFirst()
                .orElseThrow()
                .group(1);
    }

    /** The modules that another one needs to compile or run, without those of its tests. */
    private static List<String> dependencies(String pom) {
        return DEPENDENCY
                .matcher(pom)
                .results()
                .map(MatchResult::group)
                .filter(dependency -> !dependency.contains("<scope>test</scope>"))
                .flatMap(dependency -> ARTIFACT.matcher(dependency).results().map(match -> match.group(1)))
                .toList();
    }
}
