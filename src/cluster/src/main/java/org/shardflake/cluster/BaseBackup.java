/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;

/** A base backup made by copying a running server's files, since the bundled binaries lack {@code pg_basebackup}. */
final class BaseBackup {

    /** The directories whose contents a base backup leaves out; the slot provides the WAL. */
    private static final Set<String> WITHOUT_CONTENTS = Set.of(
            "pg_wal",
            "pg_replslot",
            "pg_dynshmem",
            "pg_notify",
            "pg_serial",
            "pg_snapshots",
            "pg_stat_tmp",
            "pg_subtrans");

    private static final Set<String> LEFT_OUT =
            Set.of("postmaster.pid", "postmaster.opts", "standby.signal", "backup_label", "tablespace_map");

    private BaseBackup() {}

    /**
     * Copies a data directory, without its write-ahead log.
     *
     * @param connection to the server whose directory it is
     * @param archived whether to wait until the write-ahead log that the copy needs is in the archive
     */
    static void take(Connection connection, Path from, Path to, boolean archived) throws IOException, SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("SELECT pg_backup_start('shardflake', true)");
            copy(from, to);
            try (ResultSet row = statement.executeQuery("SELECT labelfile FROM pg_backup_stop(" + archived + ")")) {
                row.next();
                Files.writeString(to.resolve("backup_label"), row.getString(1));
            }
        }
    }

    /** Copies files that may change during the copy. */
    static void copy(Path from, Path to) throws IOException {
        Files.walkFileTree(from, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes)
                    throws IOException {
                Path copy = to.resolve(from.relativize(directory));
                Files.createDirectories(copy.getParent());
                // Copied with its permissions, which PostgreSQL insists on, but without its contents.
                Files.copy(directory, copy, StandardCopyOption.COPY_ATTRIBUTES);
                boolean isEmptied = from.equals(directory.getParent())
                        && WITHOUT_CONTENTS.contains(directory.getFileName().toString());
                return isEmptied ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                if (!LEFT_OUT.contains(file.getFileName().toString())) {
                    try {
                        Files.copy(file, to.resolve(from.relativize(file)), StandardCopyOption.COPY_ATTRIBUTES);
                    } catch (NoSuchFileException e) {
                        // The file was dropped during the copy, which the WAL will repeat.
                    }
                }
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
                if (e instanceof NoSuchFileException) {
                    return FileVisitResult.CONTINUE;
                }
                throw e;
            }
        });
    }
}
