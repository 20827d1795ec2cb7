/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.TimeUnit;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.jdbc.Sql;

/** A file system in memory with the files of an embedded server. Without the right to mount one, which root has, tests are skipped. */
public final class SmallDisk implements AutoCloseable {

    private final PostgresServer server;
    private final Path data;

    private SmallDisk(PostgresServer server, Path data) {
        this.server = server;
        this.data = data;
    }

    /** Moves a server's files to a disk of this size, such as {@code 200m}; restarts it. */
    public static SmallDisk of(PostgresServer server, String size)
            throws IOException, SQLException, InterruptedException {
        assumeTrue("root".equals(System.getProperty("user.name")), "only root may mount a small disk");
        Path data;
        try (Connection connection = server.connect()) {
            data = Path.of(Sql.text(connection, "SELECT current_setting('data_directory')"));
        }
        server.stop();
        Path before = data.resolveSibling("before");
        Files.move(data, before);
        Files.createDirectory(data);
        assumeTrue(
                run("mount", "-t", "tmpfs", "-o", "mode=700,size=" + size, "small", data.toString()) == 0,
                "no small disk can be mounted here");
        assertThat(run("cp", "-a", before + "/.", data.toString())).isZero();
        assertThat(run("rm", "-r", before.toString())).isZero();
        server.start();
        return new SmallDisk(server, data);
    }

    /** Makes it larger, and starts the server again, whatever state it is in. */
    public void makeRoom() throws IOException, InterruptedException {
        assertThat(run("mount", "-o", "remount,size=1g", data.toString())).isZero();
        server.crash();
        server.start();
    }

    private static int run(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        assertThat(process.waitFor(1, TimeUnit.MINUTES))
                .as(String.join(" ", command))
                .isTrue();
        return process.exitValue();
    }

    /** Takes the disk away from the server, which it kills. */
    @Override
    public void close() throws IOException, InterruptedException {
        server.crash();
        run("umount", "--lazy", data.toString());
    }
}
