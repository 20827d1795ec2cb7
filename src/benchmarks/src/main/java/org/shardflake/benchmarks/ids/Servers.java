/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.ids;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import javax.sql.DataSource;
import org.shardflake.benchmarks.ids.IdCandidate.JavaCandidate;
import org.shardflake.cluster.PostgresCluster;
import org.shardflake.cluster.PostgresProvider;
import org.shardflake.cluster.PostgresServer;
import org.shardflake.jdbc.Sql;
import org.shardflake.scheme.GeneratorSettings;
import org.shardflake.server.ServerUrl;
import org.shardflake.sql.FunctionLibrary;

/** The server with the tables, and two that only give tickets. */
final class Servers implements AutoCloseable {

    private static final String DATABASE = "postgres";

    private final PostgresCluster cluster;

    private Servers(PostgresCluster cluster) {
        this.cluster = cluster;
    }

    /** Starts them, with commits that survive a power cut, and nothing in the background that would fall into one turn. */
    static Servers start() throws SQLException {
        Servers servers = new Servers(PostgresCluster.builder()
                .provider(PostgresProvider.EMBEDDED)
                .servers(3)
                .durable(true)
                .setting("max_connections", "100") // PostgreSQL's default
                .setting("shared_buffers", "512MB")
                .setting("max_wal_size", "8GB")
                .setting("checkpoint_timeout", "1h")
                .setting("autovacuum", "off")
                .start());
        try (Connection connection = servers.connect()) {
            prepare(connection);
            Sql.execute(connection, "CREATE EXTENSION pg_walinspect; CREATE EXTENSION pgstattuple");
            return servers;
        } catch (SQLException | RuntimeException e) {
            servers.close();
            throw e;
        }
    }

    /** Brings what the schemes of a database need. */
    static void prepare(Connection connection) throws SQLException {
        FunctionLibrary.deploy(connection);
        Sql.execute(connection, "SELECT shardflake.create_shard(7)");
        PublishedFunction.create(connection);
    }

    Connection connect() throws SQLException {
        return cluster.server(0).connect(DATABASE);
    }

    /** The settings for a scheme's generators in Java. */
    GeneratorSettings settings(IdCandidate candidate) {
        List<PostgresServer> used = candidate.facts().networkCall()
                ? cluster.servers().subList(1, 3)
                : cluster.servers().subList(0, 1);
        GeneratorSettings settings = GeneratorSettings.DEFAULT.withDataSources(used.stream()
                .map(server -> ServerUrl.parse(server.uri(DATABASE)).dataSource())
                .toArray(DataSource[]::new));
        // The same number for all, as the hardware would give them.
        return candidate instanceof JavaCandidate java && java.numberedByHardware() ? settings.withWorker(1) : settings;
    }

    @Override
    public void close() {
        cluster.close();
    }

    /** Instagram's function to the letter, as in "Sharding &amp; IDs at Instagram", 2012, with shard 7 in place of 5. */
    static final class PublishedFunction {

        /** Makes an id. */
        public static final String CALL = "published.next_id()";

        private PublishedFunction() {}

        /** Makes the function and its sequence. It takes {@code clock_timestamp} from the search path. */
        public static void create(Connection connection) throws SQLException {
            Sql.execute(connection, """
                    CREATE SCHEMA published;
                    CREATE SEQUENCE published.table_id_seq;
                    CREATE FUNCTION published.next_id(OUT result bigint) AS $$
                    DECLARE
                        our_epoch bigint := 1314220021721;
                        seq_id bigint;
                        now_millis bigint;
                        shard_id int := 7;
                    BEGIN
                        SELECT nextval('published.table_id_seq') % 1024 INTO seq_id;
                        SELECT FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) INTO now_millis;
                        result := (now_millis - our_epoch) << 23;
                        result := result | (shard_id << 10);
                        result := result | (seq_id);
                    END;
                    $$ LANGUAGE plpgsql""");
        }
    }
}
