/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.reference;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.shardflake.ShardMap;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.Sharding;
import org.shardflake.compare.Rows;
import org.shardflake.compare.Rows.Digest;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.SqlText;

/** Turns a table that each shard has, with the same rows, into a reference table: compares all copies, and uses the rows of one. */
final class TableAdoption {

    /** The shard whose rows are used; all shards have the same. */
    private static final int FIRST = 0;

    private static final int SHOWN = 5;

    /** Matches the characters that a changeset's id may have. */
    private static final Pattern PLAIN = Pattern.compile("\\w+");

    /** The columns of the tables of this name in some schemas, by schema. */
    private static final String COLUMNS = """
            SELECT n.nspname, string_agg(format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)), ', ' ORDER BY a.attname)
              FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
             WHERE c.relname = ? AND n.nspname = ANY (?) AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
             GROUP BY 1
            """;

    private static final String WRITABLE = """
            SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
             WHERE attrelid = ?::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
            """;

    private static final String ADVANCE_SEQUENCES = """
            SELECT format('SELECT setval(%L, max(%I)) FROM %s HAVING max(%2$I) IS NOT NULL',
                          pg_get_serial_sequence(attrelid::regclass::text, attname), attname, attrelid::regclass)
              FROM pg_attribute WHERE attrelid = ?::regclass AND attnum > 0 AND NOT attisdropped
               AND pg_get_serial_sequence(attrelid::regclass::text, attname) IS NOT NULL
            """;

    /** The foreign keys, read with an empty search_path, so that their definitions name the schema. */
    private static final String FOREIGN_KEYS = """
            SELECT format('ALTER TABLE %I DROP CONSTRAINT %I, ADD CONSTRAINT %2$I %s;', c.relname, k.conname,
                          replace(pg_get_constraintdef(k.oid), ' REFERENCES ' || ?::text || '.', ' REFERENCES reference.'))
              FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
             WHERE k.contype = 'f' AND k.confrelid = ?::regclass AND k.conparentid = 0 AND k.conrelid <> k.confrelid ORDER BY 1
            """;

    private final ReferenceSession session;
    private final ShardMap map;
    private final ReferenceServer home;
    private final List<ReferenceStream> streams;
    private final String reference;
    private final String table;

    TableAdoption(ReferenceSession session, Home home, ShardMap map, String name) throws SQLException {
        this.session = session;
        this.map = map;
        this.home = session.server(home.server());
        this.streams = session.streams(home.server(), home.tag());
        this.reference = this.home.table(name);
        this.table = Sql.text(this.home.control(), "SELECT relname FROM pg_class WHERE oid = ?::regclass", reference);
    }

    /** Runs the adoption, as described at {@link ReferenceTables#adopt}. */
    ReferenceTables.Adopted run() throws SQLException {
        requireSameColumns();
        String changeSet = changeSet();
        Rows rows = rows();
        Digest common = requireSameRows(rows);
        Digest now = rows.digest(home.work());
        boolean isEmpty = now.count() == 0;
        if (!isEmpty && !now.equals(common)) {
            throw new ShardflakeException(
                    Kind.VERIFICATION,
                    "%s has other rows than the shards' %s".formatted(reference, table),
                    "make the shards' rows like those, or empty the reference table by a changelog; then run the same command again",
                    null);
        }
        if (isEmpty && common.count() > 0) {
            copy();
        }
        for (ReferenceStream stream : streams) {
            ReferenceSession.awaitVersion(stream, home.version());
        }
        return new ReferenceTables.Adopted(
                reference,
                common.count(),
                isEmpty ? common.count() : 0,
                map.sharding().shardCount(),
                changeSet);
    }

    /** The rows, with hashes that all servers compute in the same way. */
    private Rows rows() throws SQLException {
        List<Connection> connections = new ArrayList<>(List.of(home.work()));
        session.servers().stream()
                .filter(server -> server != home)
                .map(ReferenceServer::work)
                .forEach(connections::add);
        return Rows.of(connections, reference, null);
    }

    private void requireSameColumns() throws SQLException {
        String wanted = columns(home, List.of("reference")).get("reference");
        List<String> different = new ArrayList<>();
        for (ReferenceServer server : session.servers()) {
            List<String> schemas = schemas(server);
            Map<String, String> found = columns(server, schemas);
            schemas.stream()
                    .filter(schema -> !String.valueOf(wanted).equals(found.get(schema)))
                    .map(schema -> "%s on %s has %s"
                            .formatted(schema, server.name(), found.getOrDefault(schema, "no such table")))
                    .forEach(different::add);
        }
        if (!different.isEmpty()) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "%s has %s; in %s of %s shards %s is different: %s"
                            .formatted(
                                    reference,
                                    wanted,
                                    different.size(),
                                    map.sharding().shardCount(),
                                    table,
                                    some(different)),
                    "deploy %s with the columns and types that it has in the shards".formatted(reference),
                    null);
        }
    }

    private static String some(List<String> all) {
        return String.join("; ", all.subList(0, Math.min(SHOWN, all.size()))) + (all.size() > SHOWN ? "; ..." : "");
    }

    private List<String> schemas(ReferenceServer server) {
        return map.servers().stream()
                .filter(its -> its.name().equals(server.name()))
                .flatMapToInt(its -> map.shards(its).stream())
                .mapToObj(Sharding::schema)
                .toList();
    }

    private Map<String, String> columns(ReferenceServer server, List<String> schemas) throws SQLException {
        Map<String, String> columns = new LinkedHashMap<>();
        Sql.list(
                server.control(),
                COLUMNS,
                row -> columns.put(row.getString(1), row.getString(2)),
                table,
                server.control().createArrayOf("text", schemas.toArray()));
        return columns;
    }

    private Digest requireSameRows(Rows rows) throws SQLException {
        Map<Digest, List<String>> shards = new LinkedHashMap<>();
        for (ReferenceServer server : session.servers()) {
            for (String schema : schemas(server)) {
                Rows its = rows.in(name(server, schema));
                shards.computeIfAbsent(its.digest(server.work()), digest -> new ArrayList<>())
                        .add("%s on %s".formatted(schema, server.name()));
            }
        }
        Digest most = shards.entrySet().stream()
                .max(Comparator.comparingInt(entry -> entry.getValue().size()))
                .orElseThrow()
                .getKey();
        List<String> others = shards.entrySet().stream()
                .filter(entry -> !entry.getKey().equals(most))
                .flatMap(entry -> entry.getValue().stream())
                .toList();
        if (!others.isEmpty()) {
            throw new ShardflakeException(
                    Kind.VERIFICATION,
                    "%s does not have the same rows in all shards: %s of %s differ from the rest: %s"
                            .formatted(table, others.size(), map.sharding().shardCount(), some(others)),
                    "make their rows the same, and run the same command again",
                    null);
        }
        return most;
    }

    private String name(ReferenceServer server, String schema) throws SQLException {
        return Sql.text(server.control(), "SELECT format('%I.%I', ?::text, ?::text)", schema, table);
    }

    private void copy() throws SQLException {
        ReferenceServer from = session.server(map.placement(FIRST).server().name());
        String columns = Sql.text(home.control(), WRITABLE, reference);
        Sql.inTransaction(home.work(), () -> {
            RowCopy.transfer(
                    from.work(),
                    "SELECT %s FROM %s".formatted(columns, name(from, Sharding.schema(FIRST))),
                    home.work(),
                    "%s (%s)".formatted(reference, columns));
            for (String advance : Sql.list(home.work(), ADVANCE_SEQUENCES, row -> row.getString(1), reference)) {
                Sql.call(home.work(), advance);
            }
            return true;
        });
    }

    /** The changeset that points each shard's foreign keys at the reference table, and drops the shard's table unless its rows have changed since. */
    private String changeSet() throws SQLException {
        String schema = Sharding.schema(FIRST);
        ReferenceServer server = session.server(map.placement(FIRST).server().name());
        String columns = Sql.text(home.control(), WRITABLE, reference);
        List<String> foreignKeys = Sql.inTransaction(server.work(), () -> {
            Sql.execute(server.work(), "SET LOCAL search_path = ''");
            return Sql.list(server.work(), FOREIGN_KEYS, row -> row.getString(1), schema, name(server, schema));
        });
        String name = Sql.text(home.control(), "SELECT quote_ident(?)", table);
        String all = name + columns + String.join("", foreignKeys);
        if (all.contains("\n") || all.contains("\r")) {
            throw new ShardflakeException(
                    Kind.PRECONDITION,
                    "%s, or what refers to it, has a line break in a name, which formatted SQL cannot have"
                            .formatted(name),
                    "rename it with a changeset first",
                    null);
        }
        String check = """
                 BEGIN -- not while a shard is recreated, with the rows of the changelog at most
                    IF current_setting('shardflake.creating', true) IS DISTINCT FROM 'on' AND EXISTS (
                        (SELECT ROW(%2$s)::text FROM %1$s EXCEPT SELECT ROW(%2$s)::text FROM %3$s)
                        UNION ALL (SELECT ROW(%2$s)::text FROM %3$s EXCEPT SELECT ROW(%2$s)::text FROM %1$s)) THEN
                        RAISE EXCEPTION 'the rows of %% are not those of %% any more', %4$s, %5$s;
                    END IF;
                END\s""".formatted(name, columns, reference, SqlText.literal(name), SqlText.literal(reference));
        return """
                --changeset reference:adopt-%1$s splitStatements:false
                LOCK TABLE %2$s IN SHARE MODE;
                DO %3$s;
                %4$sDROP TABLE %2$s;
                """.formatted(
                        PLAIN.matcher(table).matches() ? table : SqlText.digest(table),
                        name,
                        SqlText.body(check),
                        foreignKeys.isEmpty() ? "" : String.join("\n", foreignKeys) + "\n");
    }
}
