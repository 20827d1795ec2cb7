/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.gateway;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.jdbc.Sql;

/**
 * Some shards' rows of a table: a view on their server, and a foreign table of the gateway that reads it.
 *
 * <p>Its name is a digest of all that it consists of, so one that is there already is the right one, and never changes.
 */
record Part(ShardTable table, String server, List<Integer> shards) {

    /** As many as a router reads in one statement: planning and locks grow with each. */
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

    /** Its name, on the server and on the gateway. */
    String name() {
        try {
            byte[] digest =
                    MessageDigest.getInstance("SHA-256").digest((table + " " + server + " " + shards).getBytes(UTF_8));
            String readable =
                    table.name().substring(0, Math.min(40, table.name().length()));
            return readable + "_" + HexFormat.of().formatHex(digest, 0, 8);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    private String numbers() {
        return shards.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    /**
     * Makes the view. Its rows are those of a function, which PostgreSQL puts in its place when it plans, so that conditions reach the
     * shards' indexes; a view of the tables themselves would keep shards from being changed and dropped.
     */
    String createView(String schema) {
        String named = Identifiers.quote(schema) + "." + Identifiers.quote(name());
        String rows = shards.stream().map(table::rowsOf).collect(Collectors.joining(" UNION ALL "));
        return """
                CREATE FUNCTION %1$s() RETURNS TABLE (%2$s) LANGUAGE sql STABLE PARALLEL SAFE ROWS 100000 AS $shardflake$%3$s$shardflake$;
                CREATE VIEW %1$s AS SELECT * FROM %1$s() AS rows WHERE (SELECT %4$s.require_open('{%5$s}'));
                """.formatted(named, table.definition(), rows, Identifiers.quote(schema), numbers());
    }

    /** Makes the foreign table, a partition of the gateway's. */
    String createForeignTable(Gateway gateway) {
        return "CREATE FOREIGN TABLE %s.%s PARTITION OF %s.%s FOR VALUES IN (%s) SERVER %s OPTIONS (schema_name %s, table_name %s);\n"
                .formatted(
                        Identifiers.quote(gateway.partsSchema()),
                        Identifiers.quote(name()),
                        Identifiers.quote(gateway.schema()),
                        Identifiers.quote(table.name()),
                        numbers(),
                        Identifiers.quote(GatewayDatabase.foreignServer(gateway, server)),
                        Sql.quote(gateway.remoteSchema()),
                        Sql.quote(name()));
    }
}
