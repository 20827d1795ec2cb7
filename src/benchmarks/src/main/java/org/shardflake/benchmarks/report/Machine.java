/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.report;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Optional;
import java.util.stream.Stream;

/** The machine of a measurement, as far as figures depend on it, without anything that identifies its owner. */
public final class Machine {

    private static final Path PROCESSORS = Path.of("/proc/cpuinfo");

    private Machine() {}

    /** Processor, cores, memory, operating system and Java, as Markdown. */
    public static String describe() {
        Runtime runtime = Runtime.getRuntime();
        return Markdown.escape("%s, %d cores, %.0f GiB of memory, %s, Java %s with a heap of up to %.1f GiB"
                .formatted(
                        processor(),
                        runtime.availableProcessors(),
                        gib(((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                                .getTotalMemorySize()),
                        System.getProperty("os.name"),
                        Runtime.version().feature(),
                        gib(runtime.maxMemory())));
    }

    /** The same with PostgreSQL's version and the settings that decide what a commit costs. */
    public static String describe(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("""
                        SELECT current_setting('server_version'), current_setting('fsync'),
                               current_setting('synchronous_commit'), current_setting('shared_buffers')""")) {
            row.next();
            return describe()
                    + Markdown.escape("; PostgreSQL %s, fsync %s, synchronous_commit %s, shared_buffers %s"
                            .formatted(row.getString(1), row.getString(2), row.getString(3), row.getString(4)));
        }
    }

    private static double gib(long bytes) {
        return bytes / (double) (1 << 30);
    }

    private static String processor() {
        String architecture = System.getProperty("os.arch");
        if (!Files.isReadable(PROCESSORS)) {
            return architecture;
        }
        try (Stream<String> lines = Files.lines(PROCESSORS)) {
            Optional<String> model = lines.filter(line -> line.startsWith("model name"))
                    .map(line -> line.substring(line.indexOf(':') + 1).trim())
                    .findFirst();
            return model.orElse(architecture);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + PROCESSORS, e);
        }
    }
}
