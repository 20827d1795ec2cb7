/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.marcnuri.helm.Helm;
import com.marcnuri.helm.LintResult;
import com.marcnuri.helm.TemplateCommand;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.shardflake.yaml.YamlNode;
import picocli.CommandLine;

/** Lints and renders the Helm chart with Helm's own code. No test installs it on a cluster. */
final class HelmChartTest {

    private static final Path CHART = Path.of("../src/helm/shardflake");

    @BeforeAll
    static void helmHasALibraryHere() {
        assumeTrue(
                System.getProperty("os.arch").equals("amd64")
                        && System.getProperty("os.name").equals("Linux"),
                "Helm's library is tested on Linux with x86-64");
    }

    private static TemplateCommand template() {
        return new Helm(CHART).template().withKubeVersion("1.31.0");
    }

    private static TemplateCommand required() {
        return template()
                .set("catalog", "postgresql://ops@db1-rw:5432/app")
                .set("image.repository", "registry.example.net/shardflake");
    }

    @Test
    void passesItsLint() {
        LintResult lint = new Helm(CHART).lint().strict().call();

        assertThat(lint.isFailed()).as(lint.getMessages().toString()).isFalse();
        assertThat(lint.getMessages()).noneMatch(message -> message.matches("\\[(WARNING|ERROR)].*"));
    }

    @Test
    void runsCommandsThatThereAreWithOptionsThatTheyTake() {
        List<List<String>> commands = new ArrayList<>();
        for (Map<?, ?> resource : resources(required()
                .set("console.enabled", true)
                .set("console.allowChanges", true)
                .set("password.secret", "shardflake")
                .set("doctor.arguments[0]", "--rows")
                .call())) {
            for (Map<?, ?> pod : pods(resource)) {
                for (Object container : (List<?>) value(pod, "containers")) {
                    commands.add(arguments((Map<?, ?>) container));
                }
            }
        }

        assertThat(commands)
                .extracting(words -> words.get(0))
                .containsExactlyInAnyOrder("exporter", "console", "doctor");
        assertThat(commands).contains(List.of("doctor", "--rows"));
        for (List<String> words : commands) {
            CommandLine.ParseResult parsed = Shardflake.allCommands().parseArgs(words.toArray(String[]::new));
            assertThat(parsed.subcommand().unmatched()).isEmpty();
        }
    }

    /** A pod may not be root, and the image's user has a number that Kubernetes can compare. */
    @Test
    void runsAsTheUserOfTheImageAndGetsThePasswordFromASecret() throws Exception {
        String image = Files.readString(Path.of("src/dist/Dockerfile"));
        for (Map<?, ?> resource :
                resources(required().set("password.secret", "logins").call())) {
            for (Map<?, ?> pod : pods(resource)) {
                Map<?, ?> security = (Map<?, ?>) value(pod, "securityContext");
                assertThat(security).extracting("runAsNonRoot").isEqualTo(true);
                assertThat(image)
                        .contains("useradd --uid " + value(security, "runAsUser") + " ")
                        .contains("USER " + value(security, "runAsUser") + "\n");
                assertThat(pod.toString())
                        .contains("{name=PGPASSWORD, valueFrom={secretKeyRef={name=logins, key=password}}}")
                        .contains("image=registry.example.net/shardflake:0.1.0,");
            }
        }
    }

    @Test
    void wrongValuesAreRefusedByName() {
        assertThatThrownBy(template()::call).hasMessageContaining("set image.repository to an image of the command");
        assertThatThrownBy(template().set("image.repository", "r")::call)
                .hasMessageContaining("set catalog to the URL of the database with the shard map");
        assertThatThrownBy(required().set("exporter.prot", 1)::call).hasMessageContaining("'prot' not allowed");
        assertThatThrownBy(required().set("exporter.port", 80)::call).hasMessageContaining("/exporter/port");
        // Everyone who may read deployments would see it.
        assertThatThrownBy(required().set("catalog", "postgresql://ops:secret@db1/app")::call)
                .hasMessageContaining("/catalog");
    }

    private static List<Map<?, ?>> resources(String rendered) {
        List<Map<?, ?>> resources = new ArrayList<>();
        for (String document : rendered.split("(?m)^---$", -1)) {
            if (YamlNode.load(document, "the chart") instanceof Map<?, ?> resource) {
                resources.add(resource);
            }
        }
        assertThat(resources).isNotEmpty();
        return resources;
    }

    /** The specifications of a resource's pods, if it has any. */
    private static List<Map<?, ?>> pods(Map<?, ?> resource) {
        if (value(resource, "kind").equals("Service")) {
            return List.of();
        }
        Map<?, ?> spec = (Map<?, ?>) value(resource, "spec");
        if (value(resource, "kind").equals("CronJob")) {
            spec = (Map<?, ?>) value((Map<?, ?>) value(spec, "jobTemplate"), "spec");
        }
        return List.of((Map<?, ?>) value((Map<?, ?>) value(spec, "template"), "spec"));
    }

    private static List<String> arguments(Map<?, ?> container) {
        return ((List<?>) value(container, "args"))
                .stream().map(String::valueOf).toList();
    }

    private static Object value(Map<?, ?> map, String name) {
        return Objects.requireNonNull(map.get(name), () -> "no " + name + " in " + map);
    }
}
