/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move.internal.copy;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveException;

/** The indexes and constraints of a shard that are dropped on the target during a copy, and restored afterwards. */
public final class DeferredIndexes {

    /** The setting of memory for a transaction that builds indexes. */
    static final String MEMORY = "SET LOCAL maintenance_work_mem = '256MB'";

    private static final String FOREIGN_KEY_VIOLATION = "23503";

    /**
     * Objects that are faster to build after the rows: indexes, primary keys and unique constraints, and the foreign keys within the
     * shard that need them. In dropping order; statements that drop, and statements that rebuild. Of a constraint with an index that may
     * be built before it, also that index, and statements that build it and make it the constraint's. Leaves out objects that something
     * else depends on, and those with properties missing from their definition.
     */
    private static final String BUILT_LAST = """
            WITH plain AS (
                SELECT t.oid, format('%I.%I', n.nspname, t.relname) AS name
                  FROM pg_namespace n JOIN pg_class t ON t.relnamespace = n.oid
                 WHERE n.nspname = ? AND t.relkind = 'r' AND NOT t.relispartition),
            foreign_key AS (
                SELECT k.oid, t.name AS of_table, k.conname
                  FROM plain t JOIN pg_constraint k ON k.conrelid = t.oid
                 WHERE k.contype = 'f' AND k.confrelid IN (SELECT oid FROM plain)
                   AND NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgconstraint = k.oid AND g.tgenabled <> 'O')
                   AND NOT EXISTS (SELECT FROM pg_description d WHERE d.objoid = k.oid)),
            built AS (
                SELECT t.name AS of_table, k.oid AS constraint_oid, k.conname, x.indexrelid, i.relname AS index_name,
                       CASE WHEN x.indisunique AND x.indimmediate AND i.relam = (SELECT oid FROM pg_am WHERE amname = 'btree') THEN
                            CASE k.contype WHEN 'p' THEN 'PRIMARY KEY' WHEN 'u' THEN 'UNIQUE' END END AS kind
                  FROM plain t JOIN pg_index x ON x.indrelid = t.oid JOIN pg_class i ON i.oid = x.indexrelid
                  LEFT JOIN pg_constraint k ON k.conindid = x.indexrelid AND k.contype IN ('p', 'u', 'x')
                 WHERE NOT x.indisreplident AND NOT x.indisclustered AND x.indisvalid
                   AND COALESCE(k.contype, 'u') IN ('p', 'u')
                   AND i.reltablespace = 0 AND (k.oid IS NULL OR i.reloptions IS NULL)
                   AND NOT EXISTS (SELECT FROM pg_depend d
                                    WHERE (d.refclassid = 'pg_class'::regclass AND d.refobjid = x.indexrelid
                                           OR d.refclassid = 'pg_constraint'::regclass AND d.refobjid = k.oid)
                                      AND d.deptype <> 'i'
                                      AND NOT (d.classid = 'pg_constraint'::regclass AND d.objid IN (SELECT oid FROM foreign_key)))
                   AND NOT EXISTS (SELECT FROM pg_description d WHERE d.objoid IN (x.indexrelid, k.oid))
                   AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = x.indexrelid AND a.attstattarget >= 0))
            SELECT concat_ws(' ', of_table, conname, 'constraint'), format('ALTER TABLE %s DROP CONSTRAINT %I', of_table, conname),
                   format('ALTER TABLE %s ADD CONSTRAINT %I %s', of_table, conname, pg_get_constraintdef(oid)), NULL, NULL, NULL, 1 AS turn
              FROM foreign_key
             UNION ALL
            SELECT concat_ws(' ', of_table, index_name, CASE WHEN constraint_oid IS NULL THEN 'index' ELSE 'constraint' END), CASE WHEN constraint_oid IS NULL THEN format('DROP INDEX %s', indexrelid::regclass)
                        ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', of_table, conname) END,
                   CASE WHEN constraint_oid IS NULL THEN pg_get_indexdef(indexrelid)
                        ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s', of_table, conname, pg_get_constraintdef(constraint_oid)) END,
                   CASE WHEN constraint_oid IS NULL OR kind IS NOT NULL THEN concat_ws(' ', of_table, index_name, 'index') END,
                   pg_get_indexdef(indexrelid),
                   CASE WHEN kind IS NOT NULL THEN format('ALTER TABLE %s ADD CONSTRAINT %I %s USING INDEX %I', of_table, conname, kind, index_name) END, 2
              FROM built
             ORDER BY turn
            """;

    /**
     * The triggers and foreign keys that fire for copied rows, including the fence. Those to reference tables stay, since dropping them would lock
     * tables that others read; the rows that they need are there already.
     */
    private static final String FIRING = """
            WITH own AS (
                SELECT t.oid, format('%I.%I', n.nspname, t.relname) AS name
                  FROM pg_namespace n JOIN pg_class t ON t.relnamespace = n.oid WHERE n.nspname = ? AND t.relkind IN ('r', 'p'))
            SELECT concat_ws(' ', t.name, k.conname, 'constraint'), format('ALTER TABLE %s DROP CONSTRAINT %I', t.name, k.conname),
                   format('ALTER TABLE %s ADD CONSTRAINT %I %s', t.name, k.conname, pg_get_constraintdef(k.oid))
                   || COALESCE((SELECT format('; COMMENT ON CONSTRAINT %I ON %s IS %L', k.conname, t.name, d.description)
                                  FROM pg_description d WHERE d.objoid = k.oid AND d.classoid = 'pg_constraint'::regclass), ''), NULL, NULL, NULL, 1 AS turn
              FROM own t JOIN pg_constraint k ON k.conrelid = t.oid WHERE k.contype = 'f' AND k.conparentid = 0 AND k.confrelid IN (SELECT oid FROM own)
             UNION ALL
            SELECT concat_ws(' ', t.name, g.tgname, 'trigger'), format('ALTER TABLE %s DISABLE TRIGGER %I', t.name, g.tgname),
                   format('ALTER TABLE %s ENABLE TRIGGER %I', t.name, g.tgname), NULL, NULL, NULL, 2
              FROM own t JOIN pg_trigger g ON g.tgrelid = t.oid WHERE NOT g.tgisinternal AND g.tgenabled = 'O'
             ORDER BY turn
            """;

    /** Names of indexes and constraints of shards. */
    private static final String NAMES = """
            SELECT right(n.nspname, 4)::integer, concat_ws(' ', format('%I.%I', n.nspname, t.relname), named.name, named.kind)
              FROM pg_namespace n JOIN pg_class t ON t.relnamespace = n.oid
             CROSS JOIN LATERAL (
                   SELECT i.relname, 'index' FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = t.oid AND x.indisvalid
                    UNION SELECT k.conname, 'constraint' FROM pg_constraint k WHERE k.conrelid = t.oid AND k.contype IN ('p', 'u', 'x', 'f')) named (name, kind)
             WHERE n.nspname = ANY (?) AND t.relkind = 'r'
            """;

    private DeferredIndexes() {}

    /**
     * An object that can be dropped and restored later.
     *
     * @param name its table, its name and what it is, the same on every server
     * @param drop the statement that takes it away
     * @param build the statement that brings it back
     * @param index the index, of a constraint the one under it; null if it can only be built as part of the constraint
     */
    record Late(
            String name,
            String drop,
            String build,
            @Nullable Index index) {

        private static Late read(ResultSet row) throws SQLException {
            String index = row.getString(4);
            return new Late(
                    row.getString(1),
                    row.getString(2),
                    row.getString(3),
                    index == null ? null : new Index(index, row.getString(5), row.getString(6)));
        }

        /** The statement that restores the index, as far as its prerequisites exist. */
        private String buildBeside(Set<String> there) {
            return index != null && there.contains(index.name) ? index.attach : build;
        }
    }

    /**
     * An index that can be built concurrently with others of its table.
     *
     * @param name as that of a {@link Late}
     * @param create the statement that builds it
     * @param attach the statement that makes it the index of its constraint
     */
    record Index(String name, String create, String attach) {}

    /** The indexes and foreign keys that a server has, in the order in which to drop them. */
    static List<Late> indexes(Connection server, int shard) throws SQLException {
        return Sql.list(server, BUILT_LAST, Late::read, Sharding.schema(shard));
    }

    /** The indexes and foreign keys that both servers have, so that the source can restore them. */
    static List<Late> indexesOfBoth(Connection source, Connection target, int shard) throws SQLException {
        Set<String> ofSource = indexes(source, shard).stream()
                .flatMap(late -> Stream.of(
                        late.name(),
                        late.index() == null ? late.name() : late.index().name()))
                .collect(Collectors.toSet());
        return indexes(target, shard).stream()
                .filter(late -> ofSource.contains(late.name()))
                .toList();
    }

    /** The triggers and foreign keys that a server has, in the order in which to disable or drop them. */
    static List<Late> firing(Connection server, int shard) throws SQLException {
        return Sql.list(server, FIRING, Late::read, Sharding.schema(shard));
    }

    /** The shards that lack an index or a foreign key of the source, as an interrupted copy in parts leaves them. */
    public static ShardSet lacking(Connection source, Connection target, ShardSet shards) throws SQLException {
        Map<Integer, Set<String>> there = names(target, shards);
        List<Integer> lacking = new ArrayList<>();
        names(source, shards).forEach((shard, names) -> {
            if (!there.getOrDefault(shard, Set.of()).containsAll(names)) {
                lacking.add(shard);
            }
        });
        return ShardSet.of(lacking);
    }

    private static Map<Integer, Set<String>> names(Connection server, ShardSet shards) throws SQLException {
        Map<Integer, Set<String>> names = new TreeMap<>();
        Sql.list(
                server,
                NAMES,
                row -> names.computeIfAbsent(row.getInt(1), shard -> new HashSet<>())
                        .add(row.getString(2)),
                shards);
        return names;
    }

    /** Statements that build the indexes that the target lacks; they may run concurrently. */
    static List<String> missingIndexes(Connection source, Connection target, int shard) throws SQLException {
        Set<String> there = names(target, shard);
        return definitions(source, shard).stream()
                .flatMap(late -> Stream.ofNullable(late.index()))
                .filter(index -> !there.contains(index.name()))
                .map(Index::create)
                .toList();
    }

    /** Builds the indexes and constraints that the target lacks. */
    static void buildMissing(Connection source, Connection target, int shard) throws SQLException {
        Set<String> there = names(target, shard);
        Deque<String> builds = new ArrayDeque<>();
        for (Late late : definitions(source, shard)) {
            if (!there.contains(late.name())) {
                builds.push(late.buildBeside(there));
            }
        }
        for (String build : builds) {
            Sql.execute(target, build);
        }
    }

    private static Set<String> names(Connection server, int shard) throws SQLException {
        return names(server, ShardSet.of(shard)).getOrDefault(shard, Set.of());
    }

    /** The indexes and foreign keys that a server has, with statements that name schemas. */
    private static List<Late> definitions(Connection server, int shard) throws SQLException {
        return indexes(server, shard);
    }

    /** Adds advice to a failure of a foreign key on the target if a row on the source violates it. */
    static void explainBroken(Exception failure, int shard) {
        if (failure instanceof SQLException broken && FOREIGN_KEY_VIOLATION.equals(broken.getSQLState())) {
            throw new MoveException(
                    "shard %s cannot be copied, since rows on the source break a foreign key. Fix them there, and run the same command again. %s"
                            .formatted(
                                    shard, String.valueOf(broken.getMessage()).replaceAll("\\s*\n\\s*", ". ")),
                    broken);
        }
    }
}
