/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.shardflake.cli.Cli.Result;
import org.shardflake.cli.error.ExitCodes;
import org.shardflake.cluster.LocalCluster;

/** The local cluster, from nothing to a shard that was moved, as someone does who tries Shardflake. */
class LocalCommandsTest {

    @TempDir
    Path directory;

    private Path local;

    @BeforeEach
    void choose() {
        local = directory.resolve("local");
    }

    @AfterEach
    void stop() {
        LocalCluster.in(local).stop();
    }

    private Result launch(String... args) {
        return Cli.launch(InputStream.nullInputStream(), Map.of("SHARDFLAKE_LOCAL", local.toString()), args);
    }

    @Test
    void fromNothingToAMovedShard() throws IOException {
        assertThat(launch().out()).startsWith("No catalog is set, and there is no local cluster here. To begin:\n");
        assertThat(launch("local", "status").out())
                .isEqualTo("there is no local cluster in %s; shardflake local start creates one\n".formatted(local));

        Result start = launch("local", "start", "--shards=16");
        assertThat(start.exitCode()).as(start.toString()).isZero();
        assertThat(start.out())
                .containsPattern("db1 +running +postgresql://postgres@localhost:[0-9]+/app\n")
                .containsPattern("db2 +running +postgresql://postgres@localhost:[0-9]+/app\n");
        assertThat(launch().out())
                .contains("from the local cluster in " + local)
                .contains("16 shards on 2 servers; version 1 of the shard map\nNext:\n  shardflake schema deploy");

        Path changelog = Files.writeString(directory.resolve("app.sql"), """
                --liquibase formatted sql
                --changeset ann:photo
                CREATE TABLE photo (id bigint PRIMARY KEY, uid bigint NOT NULL);
                """);
        Result deploy = launch("schema", "deploy", "--changelog=" + changelog, "--search-path=" + directory);
        assertThat(deploy.exitCode()).as(deploy.toString()).isZero();
        Result run = launch("move", "run", "--shards=3", "--to=db2");
        assertThat(run.exitCode()).as(run.toString()).isZero();
        assertThat(launch("local", "stop").out())
                .containsPattern("db1 +stopped ")
                .containsPattern("db2 +stopped ");
        Result stopped = launch("map", "show");
        assertThat(stopped.exitCode()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(stopped.err()).isEqualTo("""
                error: no catalog is set, and the local cluster in %s is stopped
                hint: start it with shardflake local start
                """.formatted(local));

        assertThat(launch("local", "start", "--servers=3").exitCode()).isZero();
        assertThat(launch("map", "locate", "--shard=3", "-o", "json").out())
                .isEqualTo("{\"shard\":3,\"schema\":\"shard_0003\",\"server\":\"db2\",\"epoch\":2}\n");
        assertThat(launch("server", "list").out()).contains("\ndb3     0 ");
        assertThat(launch("doctor").out()).isEqualTo("3 servers with 16 shards: nothing found\n");
        oneStopped("db2");
        assertThat(launch("map", "locate", "--shard=1").exitCode()).isZero();
        assertThat(launch("local", "status").out())
                .containsPattern("db1 +running")
                .containsPattern("db2 +stopped");
        oneStopped("db1");
        assertThat(launch("map", "show").err()).isEqualTo("""
                        error: no catalog is set, and db1, which has that of the local cluster in %s, is stopped
                        hint: start it with shardflake local start
                        """.formatted(local));
        Result both = launch("local", "start", "--servers=3");
        assertThat(both.exitCode()).isZero();
        assertThat(both.err()).isEqualTo("starting db1, db2 in %s\n".formatted(local));
        Result other = launch("local", "start", "--shards=32");
        assertThat(other.exitCode()).isEqualTo(ExitCodes.PRECONDITION);
        assertThat(other.err()).startsWith("error: the cluster runs, but it has 16 shards, and that never changes\n");
    }

    /** As after a crash of its machine. */
    private void oneStopped(String name) throws IOException {
        Path pidFile = local.resolve(name).resolve("data/postmaster.pid");
        long pid = Long.parseLong(Files.readAllLines(pidFile).get(0).strip());
        ProcessHandle.of(pid).orElseThrow().destroy();
        await().atMost(Duration.ofMinutes(1))
                .until(() -> LocalCluster.in(local).servers().stream()
                        .noneMatch(server -> server.name().equals(name) && server.isRunning()));
    }

    @Test
    void nonsense() {
        assertThat(launch("local", "start", "--servers=0"))
                .isEqualTo(new Result(2, "", "error: servers 0 is out of range 1..16\n"));
        assertThat(launch("local", "start", "--shards=9000").exitCode()).isEqualTo(2);
        assertThat(local).doesNotExist();
    }
}
