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
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.LongStream;
import org.shardflake.DeployedLayout;
import org.shardflake.IdLayout;
import org.shardflake.Sharding;
import org.shardflake.cli.output.Progress;

/** Reads every row back from the servers and looks for what must not be. */
final class DemoChecks {

    private static final List<String> TABLES = List.of("photo", "\"like\"");

    private final Sharding sharding;
    private final Progress.Factory progress;
    private final Map<String, LongStream.Builder> idsByTable = new LinkedHashMap<>();
    private final Map<String, Long> rowsByServer = new LinkedHashMap<>();
    private final List<Long> samples = new ArrayList<>();
    private IdLayout layout = IdLayout.DEFAULT;
    private long wrongShard;
    private long notIncreasing;
    private long largestDifferenceMillis;

    DemoChecks(Sharding sharding, Progress.Factory progress) {
        this.sharding = sharding;
        this.progress = progress;
    }

    DemoReport read(List<DemoServer> servers, double secondsToWrite) throws SQLException {
        int shards = servers.stream().mapToInt(server -> server.shards().size()).sum();
        try (Progress checking = progress.start("checking shards", shards)) {
            for (DemoServer server : servers) {
                try (Connection connection = server.connect()) {
                    layout = DeployedLayout.read(connection);
                    for (int shard : server.shards()) {
                        for (String table : TABLES) {
                            rowsByServer.merge(server.name(), readTable(connection, shard, table), Long::sum);
                        }
                        checking.advance(1);
                    }
                }
            }
        }
        long rows = rowsByServer.values().stream().mapToLong(Long::longValue).sum();
        return new DemoReport(
                layout,
                sharding.shardCount(),
                rowsByServer,
                rows,
                idsByTable.values().stream().mapToLong(ids -> duplicates(ids.build())).sum(),
                wrongShard,
                notIncreasing,
                largestDifferenceMillis,
                Math.round(rows / secondsToWrite),
                samples);
    }

    private long readTable(Connection connection, int shard, String table) throws SQLException {
        LongStream.Builder ids = idsByTable.computeIfAbsent(table, name -> LongStream.builder());
        // In the order on disk, which is the order of insertion: nothing was updated or deleted.
        String sql = "SELECT id, uid, created_at FROM " + Sharding.schema(shard) + "." + table + " ORDER BY ctid";
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            long rows = 0;
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
                long created = row.getObject(3, OffsetDateTime.class).toInstant().toEpochMilli();
                largestDifferenceMillis = Math.max(largestDifferenceMillis, Math.abs(created - layout.timeMillis(id)));
                sample(id);
                rows++;
            }
            return rows;
        }
    }

    /** Keeps three ids, each read so far with the same chance. */
    private void sample(long id) {
        int wanted = 3;
        if (samples.size() < wanted) {
            samples.add(id);
            return;
        }
        long seen = rowsByServer.values().stream().mapToLong(Long::longValue).sum() + 1;
        if (ThreadLocalRandom.current().nextLong(seen) < wanted) {
            samples.set(ThreadLocalRandom.current().nextInt(wanted), id);
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
