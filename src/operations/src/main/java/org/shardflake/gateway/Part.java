/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.gateway;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.server.SqlText;

/**
 * Some shards' rows of a table: a view on their server, and a foreign table of the gateway that reads it.
 *
 * <p>Its name is a digest of all that it consists of, so one that is there already is the right one, and never changes.
 */
record Part(ShardTable table, String server, List<Integer> shards) {

    /** The number of shards that one statement reads, as in the router: planning and locks grow with each. */
    private static final int SHARDS = 100;

    /** The parts of a table under a shard map. */
    static List<Part> of(ShardTable table, ShardMap map) {
        List<Part> parts = new ArrayList<>();
        for (Server server : map.servers()) {
            List<Integer> its = map.shards(server).stream().boxed().toList();
            for (int from = 0; from < its.size(); from += SHARDS) {
                parts.add(new Part(table, server.name(), its.subList(from, Math.min(from + SHARDS, its.size()))));
            }
        }
        return parts;
    }

    /** The name of the part, on the server and on the gateway. */
    String name() {
        String whole = table.rowsOf(0) + " " + table.definition() + " " + SqlText.literal(server) + " " + shards;
        return SqlText.start(table.name(), 40) + "_" + SqlText.digest(whole);
    }

    private String numbers() {
        return shards.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    /**
     * The SQL that creates the view. Its rows are those of a function, which PostgreSQL puts in its place when it plans, so that conditions
     * reach the shards' indexes; a view of the tables themselves would keep shards from being changed and dropped.
     */
    String createView(String schema) {
        String named = SqlText.name(schema) + "." + SqlText.name(name());
        String rows = shards.stream().map(table::rowsOf).collect(Collectors.joining(" UNION ALL "));
        return """
                CREATE FUNCTION %1$s() RETURNS TABLE (%2$s) LANGUAGE sql STABLE PARALLEL SAFE ROWS 100000 AS %3$s;
                CREATE VIEW %1$s AS SELECT * FROM %1$s() AS rows WHERE (SELECT %4$s.require_open('{%5$s}'));
                """.formatted(named, table.definition(), SqlText.literal(rows), SqlText.name(schema), numbers());
    }

    /** The SQL that creates the foreign table, a partition of the gateway's table. */
    String createForeignTable(Gateway gateway) {
        return "CREATE FOREIGN TABLE %s.%s PARTITION OF %s.%s FOR VALUES IN (%s) SERVER %s OPTIONS (schema_name %s, table_name %s);\n"
                .formatted(
                        SqlText.name(gateway.partsSchema()),
                        SqlText.name(name()),
                        SqlText.name(gateway.schema()),
                        SqlText.name(table.name()),
                        numbers(),
                        SqlText.name(GatewayDatabase.foreignServer(gateway, server)),
                        SqlText.literal(gateway.remoteSchema()),
                        SqlText.literal(name()));
    }
}
