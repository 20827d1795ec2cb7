/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A short command must not pay for what only the others need. */
@Tag("full")
class StartupTest {

    private static final Pattern LOADED = Pattern.compile("\\[class,load] (\\S+)");
    private static final Pattern HEAVY = Pattern.compile(
            "(liquibase|org\\.postgresql|com\\.fasterxml|org\\.testcontainers|io\\.zonky|org\\.slf4j|org\\.jline)\\..*");

    @ParameterizedTest
    @CsvSource({
        "id decode 5",
        "id decode 5 -o json",
        "id decode 5 -o yaml",
        "id encode --time 1735689600000 --shard 7 --sequence 0",
        "id convert 5 --to shortcode",
        "id range --from 1735689600000 --to 1735689600000",
        "--help",
        "id next --help",
        "id generate --help",
        "init --help",
        "server add --help",
        "map import --help",
        "move --help",
        "move run --help",
        "rebalance plan --help",
        "doctor --help",
        "local --help",
        "local start --help",
        "--version"
    })
    void loadsNoHeavyLibrary(String command) throws Exception {
        assertThat(classesLoadedBy(command))
                .contains("org.shardflake.cli.Shardflake")
                .noneMatch(HEAVY.asMatchPredicate());
    }

    @Test
    void decodingOurOwnIdsLoadsNoOtherScheme() throws Exception {
        assertThat(classesLoadedBy("id decode 5")).noneMatch(name -> name.startsWith("org.shardflake.scheme."));
        assertThat(classesLoadedBy("id decode 5 --scheme serial")).contains("org.shardflake.scheme.SerialScheme");
    }

    private static Stream<String> classesLoadedBy(String command) throws Exception {
        List<String> java = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xlog:class+load",
                "-cp",
                System.getProperty("java.class.path"),
                Shardflake.class.getName()));
        java.addAll(List.of(command.split(" ")));
        Process process = new ProcessBuilder(java).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);

        assertThat(process.waitFor()).as(output).isZero();
        return LOADED.matcher(output).results().map(loaded -> loaded.group(1));
    }
}
