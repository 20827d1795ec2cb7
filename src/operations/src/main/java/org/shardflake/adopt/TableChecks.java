/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.IdLayout;
import org.shardflake.Sharding;
import org.shardflake.compare.LargeObjects;
import org.shardflake.jdbc.Sql;

/** Checks whether a table's rows fit into the shards' tables. */
final class TableChecks {

    /** Finds the key's collation if it treats different texts as equal. */
    private static final String LOOSE_COLLATION = """
            SELECT format('%I.%I', n.nspname, c.collname)
              FROM pg_attribute a JOIN pg_collation c ON c.oid = a.attcollation JOIN pg_namespace n ON n.oid = c.collnamespace
             WHERE a.attrelid = to_regclass(?) AND a.attname = ? AND NOT c.collisdeterministic
            """;

    /**
     * Finds the columns of the primary key that are compared by operators outside pg_catalog. Our sessions find others, for which equal keys
     * differ.
     */
    private static final String OTHER_OPERATORS = """
            SELECT quote_ident(a.attname) || ' ' || format_type(a.atttypid, a.atttypmod)
              FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey::int2[], i.indclass::oid[]) k (attnum, opclass)
              JOIN pg_opclass o ON o.oid = k.opclass JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
             WHERE i.indrelid = to_regclass(?) AND i.indisprimary AND o.opcnamespace <> 'pg_catalog'::regnamespace
            """;

    private static final String FOREIGN_PARTITIONS =
            "SELECT c.oid::regclass::text FROM pg_partition_tree(to_regclass(?)) p JOIN pg_class c ON c.oid = p.relid WHERE c.relkind = 'f' ORDER BY 1";

    /** The rights that the login lacks, with the statement that gives each. Triggers run as the owner if a superuser adopts. */
    private static final String LACKING = """
            WITH own AS (SELECT c.oid, c.relowner, c.relrowsecurity, c.relforcerowsecurity FROM pg_class c
                          WHERE c.oid = to_regclass(?) OR c.oid IN (SELECT p.relid FROM pg_partition_tree(to_regclass(?)) p))
            SELECT format('role %I does not own %s', current_user, o.oid::regclass), format('GRANT %I TO %I', pg_get_userbyid(o.relowner), current_user)
              FROM own o WHERE NOT pg_has_role(o.relowner, 'USAGE')
             UNION ALL
            SELECT format('row-level security hides rows of %s from role %I', o.oid::regclass, r.rolname),
                   format('ALTER ROLE %I BYPASSRLS, or ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', r.rolname, o.oid::regclass)
              FROM own o JOIN pg_roles m ON m.rolname = current_user JOIN pg_roles r ON r.oid = CASE WHEN m.rolsuper THEN o.relowner ELSE m.oid END
             WHERE o.relrowsecurity AND o.relforcerowsecurity AND NOT r.rolsuper AND NOT r.rolbypassrls
             UNION ALL
            SELECT format('role %I may not create schema shardflake_adopt in %I', current_user, current_database()),
                   format('GRANT CREATE ON DATABASE %I TO %I', current_database(), current_user)
             WHERE to_regnamespace('shardflake_adopt') IS NULL AND NOT has_database_privilege(current_database(), 'CREATE')
             UNION ALL
            SELECT format('role %I may not create temporary tables in %I', current_user, current_database()),
                   format('GRANT TEMPORARY ON DATABASE %I TO %I', current_database(), current_user)
             WHERE NOT has_database_privilege(current_database(), 'TEMPORARY')
             UNION ALL
            SELECT format('schema shardflake_adopt belongs to role %I, which began an adoption, and not to %I', pg_get_userbyid(n.nspowner), current_user),
                   format('GRANT %I TO %I, or log in as that role', pg_get_userbyid(n.nspowner), current_user)
              FROM pg_namespace n WHERE n.nspname = 'shardflake_adopt' AND NOT pg_has_role(n.nspowner, 'USAGE')
            """;

    /**
     * Whether partitioned tables have triggers that fire before a row is written, and new partitions have them disabled if the table has: earlier
     * ones would refuse writes.
     */
    private static final String FENCES_PARTITIONS = "SELECT current_setting('server_version_num')::integer >= 130004";

    private final TableFacts old;
    private final TableFacts shard;
    private final Column key;
    private final Sharding sharding;

    TableChecks(TableFacts old, TableFacts shard, Column key, Sharding sharding) {
        this.old = old;
        this.shard = shard;
        this.key = key;
        this.sharding = sharding;
    }

    boolean isPartitionedInShards() {
        return shard.isPartitioned();
    }

    static void checkKind(Connection connection, TableFacts table) throws SQLException {
        if (!Set.of("r", "p").contains(table.kind()) || table.hasChildren()) {
            throw new AdoptRefusedException(
                    "%s is not a plain table: %s"
                            .formatted(
                                    table.name(),
                                    table.hasChildren() ? "others inherit from it" : "it is a view or foreign"),
                    "adopt tables that have their rows themselves, or partitions; bring those of children together in one table first");
        }
        if (table.isPartitioned() && !Sql.isTrue(connection, FENCES_PARTITIONS)) {
            throw new AdoptRefusedException(
                    "%s is partitioned, and before PostgreSQL 13.4, triggers cannot refuse writes to partitioned tables, or refuse those to new partitions"
                            .formatted(table.name()),
                    "upgrade the old database first, or let the table stay");
        }
        if (table.primaryKey().isEmpty()) {
            throw new AdoptRefusedException(
                    "%s has no primary key".formatted(table.name()),
                    "give it one: rows are copied in its order, and told apart by it");
        }
    }

    /** Checks that the login may do all that an adoption does in the old database, and sees all rows. */
    static void checkRights(Connection connection, String table) throws SQLException {
        List<String> lacking = new ArrayList<>();
        List<String> remedies = new ArrayList<>();
        Sql.list(
                connection,
                LACKING,
                row -> {
                    remedies.add(row.getString(2));
                    return lacking.add(row.getString(1));
                },
                table,
                table);
        if (!lacking.isEmpty()) {
            throw new AdoptRefusedException(String.join("; ", lacking), String.join("; ", remedies));
        }
    }

    /** Checks that all partitions can have triggers, and that nothing writes to them elsewhere. */
    static void checkPartitions(Connection connection, TableFacts table) throws SQLException {
        List<String> foreign = Sql.list(connection, FOREIGN_PARTITIONS, row -> row.getString(1), table.name());
        if (!foreign.isEmpty()) {
            throw new AdoptRefusedException(
                    "%s has partitions that are foreign tables: %s".formatted(table.name(), String.join(", ", foreign)),
                    "detach them, or bring their rows into partitions of this database");
        }
    }

    /** Checks that our sessions distinguish the primary key's values as its index does. */
    static void checkPrimaryKey(Connection connection, TableFacts table) throws SQLException {
        List<String> others = Sql.list(connection, OTHER_OPERATORS, row -> row.getString(1), table.name());
        if (!others.isEmpty()) {
            throw new AdoptRefusedException(
                    "the primary key of %s has columns of types that an extension compares: %s"
                            .formatted(table.name(), String.join(", ", others)),
                    "give it a primary key of types that PostgreSQL has itself, such as text");
        }
    }

    void checkColumns() {
        for (Column column : old.columns()) {
            if (column.name().startsWith("shardflake_")) {
                throw new AdoptRefusedException(
                        "%s has a column %s, and names that begin with shardflake_ are those of adopt's own columns"
                                .formatted(old.name(), column.name()),
                        "rename the column, in the old table and in the shards");
            }
            Column target = shard.column(column.name()).orElse(null);
            if (target == null && column.generated()) {
                continue;
            }
            if (target == null) {
                throw schemaDiffers("it has no column " + column.name());
            }
            if (!target.takes(column)) {
                throw schemaDiffers("its column %s is of type %s, not %s"
                        .formatted(column.name(), target.shortType(), column.shortType()));
            }
            if (!target.generated()) {
                checkMakeup(column, target);
            }
        }
        for (Column column : shard.columns()) {
            if (old.column(column.name()).isEmpty() && !column.generated() && !column.mayBeLeftOut()) {
                throw schemaDiffers("its column %s is NOT NULL without a default".formatted(column.name()));
            }
        }
        for (String name : shard.primaryKey()) {
            if (shard.column(name).orElseThrow().generated()) {
                throw schemaDiffers("its primary key has the column %s, which it computes itself".formatted(name));
            }
        }
        if (!shard.primaryKey().equals(old.primaryKey())) {
            throw schemaDiffers("its primary key is (%s), not (%s)"
                    .formatted(String.join(", ", shard.primaryKey()), String.join(", ", old.primaryKey())));
        }
    }

    /** Compares the definitions of types, which may differ between databases under the same name. */
    private void checkMakeup(Column column, Column target) {
        if (!target.identity().equals(column.identity())) {
            return;
        }
        for (String label : column.labels()) {
            if (!target.labels().contains(label)) {
                throw schemaDiffers("its column %s is of type %s, which has no '%s'"
                        .formatted(column.name(), target.shortType(), label));
            }
        }
        if (!target.attributes().equals(column.attributes())) {
            throw schemaDiffers("its column %s is of type %s, with other attributes: (%s), not (%s)"
                    .formatted(
                            column.name(),
                            target.shortType(),
                            String.join(", ", target.attributes()),
                            String.join(", ", column.attributes())));
        }
    }

    private AdoptRefusedException schemaDiffers(String how) {
        return new AdoptRefusedException(
                "%s cannot take the rows of %s: %s".formatted(shard.name(), old.name(), how),
                Advice.of("change it on all shards with %s", CliCommand.SCHEMA_DEPLOY));
    }

    /** The columns that are brought over: all but those that the shards compute themselves. */
    List<Column> broughtOver() {
        return old.columns().stream()
                .filter(column -> shard.column(column.name())
                        .filter(target -> !target.generated())
                        .isPresent())
                .toList();
    }

    /** The columns that are brought back from the shards, including those that the shards compute. */
    List<Column> broughtBack() {
        return old.columns().stream().filter(column -> !column.generated()).toList();
    }

    /** The names of the columns that only the shards have, and that they do not compute. */
    List<String> onlyInShards() {
        return shard.columns().stream()
                .filter(column ->
                        !column.generated() && old.column(column.name()).isEmpty())
                .map(Column::name)
                .toList();
    }

    /** The compared columns, including those that the shards compute. */
    List<String> compared() {
        return old.columns().stream()
                .map(Column::name)
                .filter(name -> shard.column(name).isPresent())
                .toList();
    }

    /** Checks that the shards' tables accept the existing nulls. */
    void checkNulls(Connection connection) throws SQLException {
        for (Column column : broughtOver()) {
            if (!column.equals(key)
                    && shard.column(column.name()).orElseThrow().notNull()
                    && hasNull(connection, column)) {
                throw schemaDiffers("its column %s is NOT NULL, and there are rows without".formatted(column.name()));
            }
        }
    }

    /** Checks that each row has a shard, and that equal keys have the same one. */
    void checkKeys(Connection connection) throws SQLException {
        List<String> loose = Sql.list(connection, LOOSE_COLLATION, row -> row.getString(1), old.name(), key.name());
        if (!loose.isEmpty()) {
            throw new AdoptRefusedException(
                    "%s of %s takes different texts as equal, by collation %s, and they would be in different shards"
                            .formatted(key.name(), old.name(), loose.get(0)),
                    "bring the texts into one form, such as lower case, and give the column a deterministic collation");
        }
        if (!hasNull(connection, key)) {
            return;
        }
        if (old.rows().equals(old.own())) {
            throw new AdoptRefusedException(
                    "%s has rows whose %s is null, and no shard".formatted(old.name(), key.name()),
                    "fill it in, and make the column NOT NULL");
        }
        List<String> some = Sql.list(
                connection,
                "SELECT concat_ws(', ', %s) FROM %s t WHERE t.%s IS NULL LIMIT 3"
                        .formatted(old.keyOf("t"), old.rows(), key.quoted()),
                row -> "(" + row.getString(1) + ")");
        throw withoutShard(old.name(), some);
    }

    /** @param some their primary keys */
    static AdoptRefusedException withoutShard(String table, List<String> some) {
        return new AdoptRefusedException(
                "rows of %s have no shard, since neither they nor the rows that they refer to have the key, such as %s"
                        .formatted(table, String.join(" and ", some)),
                "give them what leads to the key, or delete them");
    }

    void checkLargeObjects(Connection connection) throws SQLException {
        Optional<String> columns =
                LargeObjects.named(LargeObjects.referred(connection, "SELECT CAST(to_regclass(?) AS oid)", old.name()));
        if (columns.isPresent()) {
            throw new AdoptRefusedException(
                    "%s has columns that may refer to large objects, which would stay behind: %s"
                            .formatted(old.name(), columns.get()),
                    LargeObjects.REMEDY);
        }
    }

    private boolean hasNull(Connection connection, Column column) throws SQLException {
        String sql = "SELECT EXISTS (SELECT FROM %s t WHERE t.%s IS NULL)".formatted(old.rows(), column.quoted());
        return !column.notNull() && Sql.isTrue(connection, sql);
    }

    /** Checks that new ids neither collide with old ones nor sort before them. */
    void checkNewIdsAreAbove(Connection connection, IdLayout layout) throws SQLException {
        if (!(shard.newIds() || shard.newKeys()) || old.primaryKey().size() != 1) {
            return;
        }
        Column id = old.column(old.primaryKey().get(0)).orElseThrow();
        long highest = Sql.number(connection, "SELECT COALESCE(max(%s), 0) FROM %s".formatted(id.quoted(), old.own()));
        Instant now = Instant.now();
        long next = shard.newKeys() ? sharding.key(layout.minId(now)) : layout.minId(now);
        if (highest >= next) {
            long elapsed = shard.newKeys()
                    ? (highest / sharding.shardCount()) >> IdLayout.SEQUENCE_BITS
                    : IdLayout.elapsedMillis(highest);
            Instant epoch = now.minusMillis(elapsed).minusSeconds(3600);
            throw new AdoptRefusedException(
                    "ids of %s go up to %s, and new ones would begin at %s: they would meet"
                            .formatted(old.name(), highest, next),
                    Advice.of(
                            "begin an installation whose ids count from this moment or an earlier one: %s",
                            CliCommand.INIT_EPOCH.with(epoch.toString().substring(0, 10) + "T00:00:00Z")));
        }
    }

    /** Checks that, if rows are placed by the key, rows that the shards create themselves are placed by it, too. */
    void checkKey() {
        String said = shard.shardKey();
        if (said != null && !said.equals(key.name())) {
            throw new AdoptRefusedException(
                    "the shard key of %s is %s, and not %s".formatted(shard.plainName(), said, key.name()),
                    Advice.of(
                            "adopt it by that key, in the plan or with %s",
                            CliCommand.ADOPT_RUN.ofTables(List.of(old.name()), said, null)));
        }
        if (isNewId(key.name())) {
            throw new AdoptRefusedException(
                    "%s is keyed by its own primary key %s, but new rows would get ids that lead to other shards"
                            .formatted(shard.plainName(), key.name()),
                    Advice.of(
                            "say in the changelog that this is its key, while the table is empty: COMMENT ON COLUMN %s.%s IS 'shard key'; then run %s",
                            shard.plainName(), key.quoted(), CliCommand.SCHEMA_DEPLOY));
        }
    }

    /** Checks that the uid column checked by the shards' tables is the one that rows are placed by. */
    void checkUid(List<String> checkedColumns) {
        for (String column : checkedColumns) {
            if (!column.equals(key.name()) && !isNewId(column)) {
                throw new AdoptRefusedException(
                        "%s takes rows of its shard by %s only, and the key is %s"
                                .formatted(shard.name(), column, key.name()),
                        Advice.of(
                                "adopt it by that key, in the plan or with %s; or drop the check %s_of_shard in all shards",
                                CliCommand.ADOPT_RUN.ofTables(List.of(old.name()), column, null), column));
            }
        }
    }

    private boolean isNewId(String column) {
        return shard.newIds() && shard.primaryKey().equals(List.of(column));
    }

    /**
     * The id column, if the shards' tables check ids and some old ids do not encode their shard.
     *
     * @param shardOfRow the shard of row {@code t} of the old table
     */
    Optional<Column> idThatIsNotOfItsShard(Connection connection, List<String> checkedColumns, String shardOfRow)
            throws SQLException {
        Optional<String> checked = checkedColumns.stream().filter(this::isNewId).findFirst();
        if (checked.isEmpty()) {
            return Optional.empty();
        }
        Column id = old.column(checked.get()).orElseThrow();
        String sql = "SELECT EXISTS (SELECT FROM %s t WHERE t.%s::bigint >> 10 & 8191 <> %s)"
                .formatted(old.rows(), id.quoted(), shardOfRow);
        return Sql.isTrue(connection, sql) ? Optional.of(id) : Optional.empty();
    }

    /** The differences that the application will notice. */
    List<String> warnings() {
        List<String> warnings = new ArrayList<>();
        for (List<String> unique : shard.uniqueKeys()) {
            boolean isNewId = unique.equals(shard.primaryKey()) && shard.newIds();
            if (!isNewId && !unique.contains(key.name())) {
                warnings.add("(%s) will be unique within a shard, not over all of them"
                        .formatted(String.join(", ", unique)));
            }
        }
        for (Column column : old.columns()) {
            if (!column.generated()
                    && shard.column(column.name()).filter(Column::generated).isPresent()) {
                warnings.add("the shards compute %s themselves: it is not brought over, but compared at the end"
                        .formatted(column.name()));
            }
        }
        if (shard.newIds()) {
            warnings.add("old ids do not contain their shard: look such rows up by %s".formatted(key.name()));
        }
        shard.column(shard.primaryKey().get(0))
                .filter(id -> shard.primaryKey().size() == 1 && id.filled() && !shard.newIds() && !shard.newKeys())
                .ifPresent(id -> warnings.add(
                        "new values of %s in a shard come from its own default, not from next_id, and may meet those brought over"
                                .formatted(id.name())));
        return warnings;
    }
}
