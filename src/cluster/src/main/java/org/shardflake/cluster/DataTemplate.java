/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cluster;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;

/**
 * A new data directory that in-memory servers copy, since {@code initdb} takes ten times as long as copying.
 *
 * <p>Every server needs a system identifier of its own. It is in the control file, which has a checksum, and in the header of the
 * write-ahead log, which has none. If they are not where they are expected, every server runs {@code initdb}. The template lives as
 * long as the JVM.
 */
final class DataTemplate {
    private static final String CONTROL = "global/pg_control";
    private static final String LOG = "pg_wal/000000010000000000000001";

    /** The offset of the identifier in the log's header; in the control file it is 0. */
    private static final int LOG_IDENTIFIER = 24;

    /** The size of the control file's contents, one sector, so that a disk writes them whole (pg_control.h). */
    private static final int CONTROL_SIZE = 512;

    private static @Nullable DataTemplate shared;

    private final Path data;

    /** The offset of the control file's checksum, which covers everything before it; 0 if it was not found. */
    private final int checksum;

    private DataTemplate(Path data, int checksum) {
        this.data = data;
        this.checksum = checksum;
    }

    /** Creates a data directory in memory; {@code initdb}, called with a path, creates one elsewhere. */
    static void create(Path target, Consumer<Path> initdb) throws IOException {
        DataTemplate template = shared(initdb);
        if (template.checksum == 0) {
            initdb.accept(target);
        } else {
            template.copyTo(target);
        }
    }

    private static synchronized DataTemplate shared(Consumer<Path> initdb) throws IOException {
        if (shared == null) {
            Path directory = Files.createTempDirectory(EmbeddedProvider.MEMORY, "shardflake-template-");
            Runtime.getRuntime().addShutdownHook(new Thread(() -> Directories.delete(directory)));
            Path data = directory.resolve("data");
            initdb.accept(data);
            shared = new DataTemplate(data, findChecksum(data));
        }
        return shared;
    }

    private static int findChecksum(Path data) throws IOException {
        if (!Files.exists(data.resolve(LOG))) {
            return 0;
        }
        ByteBuffer control = read(data.resolve(CONTROL), CONTROL_SIZE);
        boolean isKnown = read(data.resolve(LOG), CONTROL_SIZE).getLong(LOG_IDENTIFIER) == control.getLong(0);
        for (int at = Long.BYTES; isKnown && at < CONTROL_SIZE; at += Integer.BYTES) {
            if (control.getInt(at) == checksum(control, at)) {
                return at;
            }
        }
        return 0;
    }

    private void copyTo(Path target) throws IOException {
        Directories.copy(data, target);
        ByteBuffer control = read(target.resolve(CONTROL), CONTROL_SIZE);
        long identifier = ThreadLocalRandom.current().nextLong(Long.MAX_VALUE);
        control.putLong(0, identifier);
        control.putInt(checksum, checksum(control, checksum));
        write(target.resolve(CONTROL), control, 0);
        write(target.resolve(LOG), buffer(Long.BYTES).putLong(0, identifier), LOG_IDENTIFIER);
    }

    private static int checksum(ByteBuffer control, int end) {
        CRC32C crc = new CRC32C();
        crc.update(control.duplicate().position(0).limit(end));
        return (int) crc.getValue();
    }

    private static ByteBuffer read(Path file, int size) throws IOException {
        try (FileChannel channel = FileChannel.open(file)) {
            ByteBuffer content = buffer(size);
            while (content.hasRemaining() && channel.read(content) >= 0) {}
            return content;
        }
    }

    private static void write(Path file, ByteBuffer content, long position) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.write(content.rewind(), position);
        }
    }

    private static ByteBuffer buffer(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.nativeOrder());
    }
}
