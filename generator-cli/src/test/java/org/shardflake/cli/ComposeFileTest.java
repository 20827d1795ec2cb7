/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.shardflake.yaml.YamlNode;
import picocli.CommandLine;

/** Reads the file of Docker Compose and what it builds from. No test starts it. */
final class ComposeFileTest {

    private static final Path ROOT = Path.of("..");
    private static final Path COMPOSE = ROOT.resolve("src/compose");
    private static final Pattern COPIED = Pattern.compile("(?m)^(?:COPY|ADD) (?!--from)(.+) \\S+$");
    private static final Pattern COMMAND = Pattern.compile("(?m)^shardflake ((?:.*\\\\\n)*.*)$");

    private static Map<String, Map<?, ?>> services() throws IOException {
        Map<?, ?> file = (Map<?, ?>)
                Objects.requireNonNull(YamlNode.load(Files.readString(COMPOSE.resolve("compose.yaml")), "compose"));
        Map<String, Map<?, ?>> services = new TreeMap<>();
        ((Map<?, ?>) Objects.requireNonNull(file.get("services")))
                .forEach((name, service) -> services.put(String.valueOf(name), (Map<?, ?>) service));
        return services;
    }

    @Test
    void namesFilesAndServicesThatThereAre() throws IOException {
        Map<String, Map<?, ?>> services = services();
        TreeSet<String> files = new TreeSet<>();
        services.forEach((name, service) -> {
            if (service.get("depends_on") instanceof Map<?, ?> needed) {
                needed.keySet().forEach(other -> assertThat(services).containsKey(String.valueOf(other)));
            } else if (service.get("depends_on") instanceof List<?> needed) {
                needed.forEach(other -> assertThat(services).containsKey(String.valueOf(other)));
            }
            if (service.get("volumes") instanceof List<?> volumes) {
                volumes.forEach(volume -> files.add(String.valueOf(volume).replaceFirst(":.*", "")));
            }
            if (service.get("ports") instanceof List<?> ports) { // What they publish has no password.
                assertThat(ports).as(name).allMatch(port -> String.valueOf(port).startsWith("127.0.0.1:"));
            }
        });

        assertThat(files)
                .hasSizeGreaterThan(4)
                .allSatisfy(file -> assertThat(COMPOSE.resolve(file)).exists());
        assertThat(COPIED.matcher(Files.readString(COMPOSE.resolve("Dockerfile")))
                        .results()
                        .flatMap(copied -> Stream.of(copied.group(1).split(" ", -1))))
                .contains("src/compose/install", "src/compose/load")
                .allSatisfy(file -> assertThat(ROOT.resolve(file)).exists());
    }

    @Test
    void runsCommandsThatThereAreWithOptionsThatTheyTake() throws IOException {
        List<String> lines = Stream.concat(
                        services().values().stream().map(service -> String.valueOf(service.get("command"))),
                        Files.readString(COMPOSE.resolve("install")).lines())
                .toList();
        String text = String.join("\n", lines)
                .replaceAll(" > /dev/null.*\\|\\| ", "\n")
                .replace("\\\n", " ");
        List<String[]> commands = COMMAND.matcher(text)
                .results()
                .map(command -> command.group(1).strip().split(" +", -1))
                .toList();

        assertThat(commands)
                .extracting(words -> words[0])
                .containsExactlyInAnyOrder("map", "init", "reference", "schema", "lookup", "exporter", "console");
        for (String[] words : commands) {
            CommandLine.ParseResult parsed = Shardflake.allCommands().parseArgs(words);
            assertThat(parsed.subcommand().unmatched())
                    .as(Arrays.toString(words))
                    .isEmpty();
        }
    }
}
