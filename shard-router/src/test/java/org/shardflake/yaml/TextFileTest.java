/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.yaml;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TextFileTest {

    @TempDir
    private Path directory;

    private void write(Path file) throws IOException {
        TextFile.write("new", "a test", file);
    }

    private List<String> names() throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void replacesAPlainFileWithItsPermissions() throws IOException {
        Path file = Files.writeString(directory.resolve("a"), "old and longer");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r-----"));
        Object before = Files.getAttribute(file, "unix:ino");

        write(file);

        assertThat(file).hasContent("new");
        assertThat(Files.getAttribute(file, "unix:ino")).isNotEqualTo(before); // replaced, not overwritten
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .isEqualTo("rw-r-----");
        assertThat(names()).containsExactly("a");
    }

    /** They are in {@code /dev}, too. */
    @Test
    void replacesAFileInSharedMemory() throws IOException {
        Path shared = Path.of("/dev/shm");
        assumeThat(shared).isWritable();
        Path file = shared.resolve("shardflake-test-" + UUID.randomUUID());
        try {
            for (int i = 0; i < 2; i++) {
                write(file);
                assertThat(file).hasContent("new");
            }
        } finally {
            Files.deleteIfExists(file);
        }
    }

    @Test
    void writesThroughLinksAlsoWhereTheyLeadToNothingYet() throws IOException {
        Path other = Files.createDirectory(directory.resolve("other"));
        Path link = Files.createSymbolicLink(directory.resolve("link"), Path.of("second"));
        Files.createSymbolicLink(directory.resolve("second"), Path.of("other/file"));

        for (int i = 0; i < 2; i++) {
            write(link);
            assertThat(link).isSymbolicLink();
            assertThat(other.resolve("file")).isRegularFile().hasContent("new");
        }
        Path circle = Files.createSymbolicLink(directory.resolve("circle"), Path.of("circle"));
        assertThatIOException().isThrownBy(() -> write(circle)).withMessageContaining("too many symbolic links");
    }

    @Test
    void writesIntoPipesAndDevices() throws Exception {
        Path pipe = directory.resolve("pipe");
        assertThat(new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor())
                .isZero();
        CompletableFuture<String> read = CompletableFuture.supplyAsync(() -> {
            try {
                return Files.readString(pipe);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });

        write(pipe);

        assertThat(read.get()).isEqualTo("new");
        assertThat(names()).containsExactly("pipe");
        write(Path.of("/dev/null"));
        assertThat(Files.isRegularFile(Path.of("/dev/null"))).isFalse();
        assertThatIOException().isThrownBy(() -> write(Path.of("/dev/full"))).withMessageContaining("space");
        assertThat(Files.isRegularFile(Path.of("/dev/full"))).isFalse();
    }
}
