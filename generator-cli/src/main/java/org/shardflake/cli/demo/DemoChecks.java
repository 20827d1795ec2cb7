/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.demo;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.LongStream;
import org.shardflake.DeployedLayout;
import org.shardflake.IdLayout;
import org.shardflake.Sharding;
import org.shardflake.cli.demo.DemoReport.ServerRows;
import org.shardflake.cli.output.Progress;

/** Reads every row back from the servers and looks for errors. */
final class DemoChecks {

    private static final List<String> TABLES = List.of("photo", "\"like\"");
    private static final int SAMPLES = 3;

    private final Sharding sharding;
    private final Progress.Factory progress;
    private final Map<String, LongStream.Builder> idsByTable = new LinkedHashMap<>();
    private final List<Long> samples = new ArrayList<>();
    private IdLayout layout = IdLayout.DEFAULT;
    private long rows;
    private long wrongShard;
    private long notIncreasing;
    private long largestDifferenceMillis;

    DemoChecks(Sharding sharding, Progress.Factory progress) {
        this.sharding = sharding;
        this.progress = progress;
    }

    DemoReport read(List<DemoServer> servers, DemoLoad.Written written) throws SQLException {
        int shards = servers.stream().mapToInt(server -> server.shards().size()).sum();
        List<ServerRows> rowsOfServers = new ArrayList<>();
        try (Progress checking = progress.start("checking shards", shards)) {
            for (DemoServer server : servers) {
                long before = rows;
                readServer(server, checking);
                rowsOfServers.add(new ServerRows(server.name(), server.shards().size(), rows - before));
            }
        }
        return new DemoReport(
                layout,
                sharding.shardCount(),
                rowsOfServers,
                rows,
                written.rows() - rows,
                idsByTable.values().stream()
                        .mapToLong(ids -> duplicates(ids.build()))
                        .sum(),
                wrongShard,
                notIncreasing,
                largestDifferenceMillis,
                Math.round(rows / written.seconds()),
                samples,
                Optional.empty());
    }

    private void readServer(DemoServer server, Progress checking) throws SQLException {
        try (Connection connection = server.connect()) {
            layout = DeployedLayout.read(connection);
            for (int shard : server.shards()) {
                for (String table : TABLES) {
                    readTable(connection, shard, table);
                }
                checking.advance(1);
            }
        }
    }

    private void readTable(Connection connection, int shard, String table) throws SQLException {
        LongStream.Builder ids = idsByTable.computeIfAbsent(table, name -> LongStream.builder());
        // In physical order, which is insertion order: nothing was updated or deleted.
        String sql = "SELECT id, uid, created_at FROM " + Sharding.schema(shard) + "." + table + " ORDER BY ctid";
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            long previous = Long.MIN_VALUE;
            while (row.next()) {
                long id = row.getLong(1);
                ids.add(id);
                if (IdLayout.shard(id) != shard || IdLayout.shard(id) != sharding.shard(row.getLong(2))) {
                    wrongShard++;
                }
                if (id <= previous) {
                    notIncreasing++;
                }
                previous = id;
                long created =
                        row.getObject(3, OffsetDateTime.class).toInstant().toEpochMilli();
                largestDifferenceMillis = Math.max(largestDifferenceMillis, Math.abs(created - layout.timeMillis(id)));
                rows++;
                sample(id);
            }
        }
    }

    /** Keeps three of all ids, each with equal probability. */
    private void sample(long id) {
        if (samples.size() < SAMPLES) {
            samples.add(id);
        } else if (ThreadLocalRandom.current().nextLong(rows) < SAMPLES) {
            samples.set(ThreadLocalRandom.current().nextInt(SAMPLES), id);
        }
    }

    private static long duplicates(LongStream ids) {
        long[] sorted = ids.sorted().toArray();
        long duplicates = 0;
        for (int i = 1; i < sorted.length; i++) {
            if (sorted[i] == sorted[i - 1]) {
                duplicates++;
            }
        }
        return duplicates;
    }
}
