/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.moves;

import java.io.IOException;
import java.io.InputStream;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.postgresql.PGConnection;
import org.postgresql.copy.PGCopyInputStream;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.benchmarks.installation.BenchmarkInstallation;
import org.shardflake.benchmarks.installation.BenchmarkInstallation.Databases;
import org.shardflake.benchmarks.report.Sessions;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.jdbc.Sql;

/** The machine's limit: the rows of shards from {@code COPY} to {@code COPY}, two tables at a time, into tables without any index. */
final class RowPipe {

    private static final String DATABASE = "piped";
    private static final int AT_A_TIME = 2;

    private RowPipe() {}

    /** Copies the rows to a separate database on a server, and returns the seconds it took. */
    static double seconds(BenchmarkInstallation installation, ShardSet shards, String target) throws Exception {
        String source = DumpComparison.source(target);
        PostgresServer server = installation.server(target);
        Queue<String> tables = new ConcurrentLinkedQueue<>();
        try (Databases piped = new Databases(List.of(server), DATABASE)) {
            try (Connection to = server.connect(DATABASE)) {
                for (int shard : shards.stream().toArray()) {
                    String schema = Sharding.schema(shard);
                    Sql.execute(to, """
                            CREATE SCHEMA %1$s;
                            CREATE TABLE %1$s.photo (id bigint, uid bigint, title text);
                            CREATE TABLE %1$s.tag (id bigint, photo_id bigint)""".formatted(schema));
                    tables.addAll(List.of(schema + ".photo", schema + ".tag"));
                }
            }
            installation.checkpoint();
            long start = System.nanoTime();
            Sessions.run(AT_A_TIME, (number, together) -> {
                try (Connection from = installation.connect(source);
                        Connection to = server.connect(DATABASE)) {
                    to.setAutoCommit(false);
                    for (String table = tables.poll(); table != null; table = tables.poll()) {
                        copy(from, to, table);
                    }
                }
                return number;
            });
            return (System.nanoTime() - start) / 1e9;
        }
    }

    /** Truncated in the same transaction, so that the rows may be written frozen. */
    private static void copy(Connection from, Connection to, String table) throws SQLException, IOException {
        Sql.execute(to, "TRUNCATE " + table);
        try (InputStream rows = new PGCopyInputStream(
                from.unwrap(PGConnection.class), "COPY %s TO STDOUT (FORMAT binary)".formatted(table))) {
            to.unwrap(PGConnection.class)
                    .getCopyAPI()
                    .copyIn("COPY %s FROM STDIN (FORMAT binary, FREEZE)".formatted(table), rows, 1 << 16);
        }
        to.commit();
    }
}
