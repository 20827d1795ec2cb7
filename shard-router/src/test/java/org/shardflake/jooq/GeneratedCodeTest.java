/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.jooq;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
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
