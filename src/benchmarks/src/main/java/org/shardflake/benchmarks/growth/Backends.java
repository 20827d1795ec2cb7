/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.growth;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.jdbc.Sql;

/** The backends of an application on a server of this machine, as Linux sees them. */
final class Backends {

    private static final double MILLIS_PER_TICK = 10;

    private final Connection observer;
    private final Map<Long, Double> millisByPid = new HashMap<>();

    Backends(Connection observer) {
        this.observer = observer;
    }

    private List<Long> pids() throws SQLException {
        List<Long> pids = new ArrayList<>();
        try (Statement statement = observer.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND application_name NOT LIKE 'shardflake %'")) {
            while (row.next()) {
                pids.add(row.getLong(1));
            }
        }
        return pids;
    }

    /**
     * The private memory of the largest, in MB. Without shared buffers, and so without those that it alone has touched, which Linux counts as private
     * to it.
     */
    double largest() throws SQLException {
        double largest = 0;
        for (long pid : pids()) {
            largest = Math.max(largest, privateMegabytes(pid));
        }
        return largest;
    }

    private static double privateMegabytes(long pid) {
        try {
            return Files.readAllLines(Path.of("/proc", String.valueOf(pid), "smaps_rollup")).stream()
                            .filter(line -> line.startsWith("Pss_Anon"))
                            .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")))
                            .sum()
                    / 1024.0;
        } catch (IOException e) {
            return 0; // It has ended.
        }
    }

    /** The processor time that all have used since this was asked before, in milliseconds. */
    double processorMillis() throws SQLException {
        double used = 0;
        for (long pid : pids()) {
            try {
                String stat = Files.readString(Path.of("/proc", String.valueOf(pid), "stat"));
                String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
                double millis = (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) * MILLIS_PER_TICK;
                Double before = millisByPid.put(pid, millis);
                used += millis - (before == null ? 0 : before);
            } catch (IOException e) {
                millisByPid.remove(pid);
            }
        }
        return used;
    }

    /**
     * How often a commit has asked whether its shard is open: each answer looks at one sequence. Sessions report that within a second or so of
     * their work.
     */
    double questions() throws SQLException {
        return Sql.number(
                observer,
                "SELECT blks_hit + blks_read FROM pg_statio_all_sequences WHERE schemaname = 'shardflake' AND relname = 'last_fence'");
    }
}
