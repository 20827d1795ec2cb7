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
    private final Path files;

    private SmallDisk(PostgresServer server, Path files) {
        this.server = server;
        this.files = files;
    }

    /** Moves a server's files to a disk of this size, such as {@code 200m}; restarts it. */
    public static SmallDisk of(PostgresServer server, String size)
            throws IOException, SQLException, InterruptedException {
        return of(server, "", size);
    }

    /** Moves a server's write-ahead log only: the server stops when this disk is full, where it might first fail to extend a table. */
    public static SmallDisk ofLog(PostgresServer server, String size)
            throws IOException, SQLException, InterruptedException {
        return of(server, "pg_wal", size);
    }

    private static SmallDisk of(PostgresServer server, String directory, String size)
            throws IOException, SQLException, InterruptedException {
        assumeTrue("root".equals(System.getProperty("user.name")), "only root may mount a small disk");
        Path files;
        try (Connection connection = server.connect()) {
            files = Path.of(Sql.text(connection, "SELECT current_setting('data_directory')"), directory);
        }
        server.stop();
        Path before = files.resolveSibling("before");
        Files.move(files, before);
        Files.createDirectory(files);
        assumeTrue(
                run("mount", "-t", "tmpfs", "-o", "mode=700,size=" + size, "small", files.toString()) == 0,
                "no small disk can be mounted here");
        assertThat(run("cp", "-a", before + "/.", files.toString())).isZero();
        assertThat(run("rm", "-r", before.toString())).isZero();
        server.start();
        return new SmallDisk(server, files);
    }

    /** Makes it larger, and starts the server again, whatever state it is in. */
    public void makeRoom() throws IOException, InterruptedException {
        assertThat(run("mount", "-o", "remount,size=1g", files.toString())).isZero();
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
        run("umount", "--lazy", files.toString());
    }
}
