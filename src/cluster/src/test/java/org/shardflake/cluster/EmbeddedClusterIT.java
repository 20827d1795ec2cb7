/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@Tag("full")
class EmbeddedClusterIT implements OwnedClusterContract {
    @Override
    public PostgresProvider provider() {
        return PostgresProvider.EMBEDDED;
    }

    @Override
    public List<String> remains(String trace) {
        Stream<String> processes = ProcessHandle.allProcesses()
                .filter(process -> process.info()
                        .commandLine()
                        .filter(line -> line.contains("postgres") && line.contains(trace))
                        .isPresent())
                // The JVM itself has the directory as its temporary one.
                .filter(process -> process.info()
                        .command()
                        .filter(command -> !command.contains("java"))
                        .isPresent())
                .map(process -> "process " + process.pid());
        File[] files = Path.of(trace).toFile().listFiles();
        return Stream.concat(
                        processes, Stream.ofNullable(files).flatMap(Stream::of).map(File::getPath))
                .toList();
    }

    @Test
    void aFailureHalfwayLeavesNothingBehind() {
        List<Path> directories = new ArrayList<>();
        var good = new EmbeddedProvider(SystemProperties.version(), ServerSettings.of(false, Map.of()), Map.of());
        var bad = new EmbeddedProvider(SystemProperties.version(), Map.of("no_such_setting", "on"), Map.of());
        ServerProvider provider = new ServerProvider() {
            @Override
            public ClusterServer newServer(String name) {
                EmbeddedServer server = (EmbeddedServer) (name.equals("db2") ? bad : good).newServer(name);
                directories.add(server.directory().getParent());
                return server;
            }

            @Override
            public void close() {
                good.close();
                bad.close();
            }
        };

        assertThatThrownBy(() -> PostgresCluster.start(provider, 3))
                .isInstanceOf(PostgresClusterException.class)
                .hasMessageContaining("db2")
                .hasMessageContaining("no_such_setting");

        assertThat(directories).hasSize(3).allSatisfy(directory -> {
            assertThat(directory).doesNotExist();
            assertThat(remains(directory.toString())).isEmpty();
        });
    }

    @Test
    @DisabledOnOs(OS.WINDOWS)
    void aSignalDuringTheStartLeavesNothingBehind(@TempDir Path directory) throws Exception {
        try (ChildCluster child = ChildCluster.launch(directory, "postgres.provider=embedded")) {
            for (int look = 0;
                    remains(directory.toString()).stream().noneMatch(what -> what.startsWith("process"));
                    look++) {
                assertThat(look).as("waits for a server to start").isLessThan(12_000);
                Thread.sleep(10);
            }

            child.signal("TERM");

            assertThat(remains(directory.toString())).isEmpty();
        }
    }

    @Test
    void refusesAVersionItHasNoBinariesFor() {
        int bundled = SystemProperties.version().orElse(SystemProperties.LATEST);
        int other = bundled == 18 ? 17 : 18;

        assertThatThrownBy(builder().servers(1).version(other)::start)
                .isInstanceOf(PostgresClusterException.class)
                .hasMessageContaining("runs PostgreSQL " + bundled + ", but " + other
                        + " is asked for: build with -Dpostgres.version=" + other);
    }

    @Test
    void isTakenWhereTheDockerEngineHasNoImage(@TempDir Path directory) throws Exception {
        try (ChildCluster child =
                ChildCluster.launch(directory, "postgres.provider=auto", "postgres.image=localhost:1/none:1")) {
            String trace = child.awaitTrace();

            assertThat(trace).startsWith(directory.toString());
            assertThat(child.lines())
                    .filteredOn(line -> line.startsWith("PostgreSQL: "))
                    .singleElement()
                    .asString()
                    .startsWith("PostgreSQL: embedded servers, since ");
            child.signal("TERM");
        }
    }
}
