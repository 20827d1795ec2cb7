/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import static java.util.stream.Collectors.joining;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyIn;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.compare.ForeignKeys;
import org.shardflake.compare.ForeignKeys.ForeignKey;
import org.shardflake.compare.Rows;
import org.shardflake.grants.OwnersCode;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;

/**
 * The tables in one server's shards that receive rows. For one thread.
 *
 * <p>Rows arrive by COPY in a temporary table, each with its shard; then every shard takes its own. Rows with an existing primary key
 * replace it, so bringing rows twice is harmless.
 */
final class ShardTables {

    /** The number of shards in one transaction, small enough for the lock table of a server with ordinary settings. */
    private static final int SHARDS_AT_A_TIME = 100;

    private static final Duration LOCK_PATIENCE = Duration.ofSeconds(10);

    private static final int BUFFER = 1 << 16;

    /** The number of lines up to which the stage is emptied by DELETE, since TRUNCATE waits for the disk. */
    private static final int DELETED_LINES = 1000;

    private static final String SILENCE = "SET LOCAL session_replication_role = replica";

    /** Reads a text for each table that changes whenever the table's owner changes code that runs with it. */
    private static final String STATES = """
            SELECT given.shard, pg_current_xact_id()::text::bigint, shardflake.is_fenced(given.shard), concat_ws(' ', c.oid, c.relowner,
                   (SELECT string_agg(concat(attnum, ':', atttypid, attgenerated), ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0),
                   (SELECT string_agg(concat(oid, ':', tgenabled), ',' ORDER BY oid) FROM pg_trigger WHERE tgrelid = c.oid),
                   (SELECT string_agg(oid::text, ',' ORDER BY oid) FROM pg_constraint WHERE conrelid = c.oid AND contype = 'c'),
                   (SELECT string_agg(oid::text, ',' ORDER BY oid) FROM pg_attrdef WHERE adrelid = c.oid),
                   (SELECT string_agg(indexrelid::text, ',' ORDER BY indexrelid) FROM pg_index WHERE indrelid = c.oid))
              FROM unnest(?::integer[], ?::text[]) given (shard, name) JOIN pg_class c ON c.oid = to_regclass(given.name) AND c.relkind IN ('r', 'p')
            """;

    /** The code that runs with a table, as of a state of the table. */
    private record Known(String state, Optional<OwnersCode> code) {}

    private final String server;
    private final Connection connection;
    private final ShardSet shards;
    private final String table;
    private final TreeSet<Integer> staged = new TreeSet<>();
    private final List<Long> written = new ArrayList<>();
    private final Map<Integer, Known> known = new HashMap<>();
    private final Set<Integer> fenced = new HashSet<>();
    private final byte[] buffer = new byte[BUFFER];
    private String stage = "";
    private int buffered;
    /** The number of lines since the stage was created or truncated. */
    private long lines;

    private @Nullable Boolean isSilenced;
    private @Nullable String transactionScope;
    private @Nullable CopyIn copy;

    /** @param table without a schema, as written in SQL */
    ShardTables(String server, Connection connection, ShardSet shards, String table) {
        this.server = server;
        this.connection = connection;
        this.shards = shards;
        this.table = table;
    }

    String server() {
        return server;
    }

    String table() {
        return table;
    }

    /** Allows this adoption to bring rows to shards that it has fenced. */
    void admit(Set<Integer> some) {
        fenced.addAll(some);
    }

    ShardSet shards() {
        return shards;
    }

    Connection connection() {
        return connection;
    }

    String table(int shard) {
        return Sharding.schema(shard) + "." + table;
    }

    /** The schemas of the shards that lack the table. */
    List<String> missing() throws SQLException {
        return Sql.list(
                connection,
                "SELECT s FROM unnest(?::text[]) s WHERE to_regclass(s || '.' || ?) IS NULL ORDER BY 1",
                row -> row.getString(1),
                shards,
                table);
    }

    /** Whether triggers and foreign keys can be kept from firing for written rows, which not every role may ask for. */
    boolean isSilenced() throws SQLException {
        if (isSilenced == null) {
            isSilenced = maySilence();
        }
        return isSilenced;
    }

    /** The statement that keeps triggers from firing in a transaction, if the role may do that. */
    String silence() throws SQLException {
        return isSilenced() ? SILENCE + "; " : "";
    }

    private boolean maySilence() throws SQLException {
        try {
            Sql.execute(connection, SILENCE.replace("LOCAL ", "") + "; SET session_replication_role = origin");
            return true;
        } catch (SQLException e) {
            if (!Sql.isNotAllowed(e)) {
                throw e;
            }
            return false;
        }
    }

    /** The triggers, other than the fence, that fire for written rows. */
    List<String> firing() throws SQLException {
        return Sql.list(connection, """
                WITH own AS (SELECT c.oid FROM unnest(?::text[]) s JOIN pg_class c ON c.oid = to_regclass(s || '.' || ?))
                SELECT DISTINCT 'foreign key ' || quote_ident(conname) FROM pg_constraint
                 WHERE contype = 'f' AND (conrelid IN (SELECT oid FROM own) OR confrelid IN (SELECT oid FROM own))
                 UNION
                SELECT DISTINCT 'trigger ' || quote_ident(tgname) FROM pg_trigger
                 WHERE tgrelid IN (SELECT oid FROM own) AND NOT tgisinternal AND tgenabled <> 'D' AND tgfoid <> to_regproc('shardflake.fence_write')
                 ORDER BY 1
                """, row -> row.getString(1), shards, table);
    }

    /** The foreign keys of the tables, and those of other tables that refer to them. */
    List<ForeignKey> foreignKeys() throws SQLException {
        return ForeignKeys.of(
                connection, "SELECT CAST(to_regclass(s || '.' || ?) AS oid) FROM unnest(?::text[]) s", table, shards);
    }

    /** The columns that checks tie to their shard, as read in the first shard; all shards have the same. */
    List<String> checkedColumns() throws SQLException {
        return Sql.list(
                connection,
                """
                SELECT a.attname FROM pg_constraint k JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = ALL (k.conkey)
                 WHERE k.conrelid = ?::regclass AND k.contype = 'c' AND cardinality(k.conkey) = 1
                   AND k.conname = shardflake.check_name(a.attname)
                """,
                row -> row.getString(1),
                table(shards.stream().findFirst().orElseThrow()));
    }

    /**
     * The check of a shard's table that ids encode the shard.
     *
     * @param column the id
     * @param validated whether it is known to hold for all rows
     */
    record IdCheck(int shard, String column, boolean validated) {}

    /** The checks of ids as deployments create them, without lifted ones and without constraints of the same name that others have created. */
    List<IdCheck> idChecks(Column id) throws SQLException {
        return Sql.list(
                connection,
                """
                SELECT right(s, 4)::integer, k.convalidated
                  FROM unnest(?::text[]) s JOIN pg_constraint k ON k.conrelid = to_regclass(s || '.' || ?)
                 WHERE k.contype = 'c' AND k.conname = shardflake.check_name(?)
                   AND pg_get_constraintdef(k.oid) ~ ('^CHECK \\(.* >> 10\\) & \\(?8191\\)?(::bigint)?\\) = ' || right(s, 4)::integer || '\\)+( NOT VALID)?$')
                """,
                row -> new IdCheck(row.getInt(1), id.name(), row.getBoolean(2)),
                shards,
                table,
                id.name());
    }

    /**
     * Lifts a check, so that the table accepts ids that do not encode their shard. The constraint stays, so that nobody adds another and moves
     * carry it.
     */
    void lift(IdCheck check) throws SQLException {
        change(
                "SELECT format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %2$I CHECK (true)', ?, shardflake.check_name(?))",
                check);
    }

    /** Restores a lifted check, unless someone else has changed or dropped it since. */
    void restore(IdCheck check) throws SQLException {
        change("""
                SELECT format('ALTER TABLE %%s DROP CONSTRAINT %%I, ADD CONSTRAINT %%2$I CHECK ((%%I >> 10 & 8191) = %s)%s', k.conrelid::regclass, k.conname, c.name)
                  FROM (SELECT ? AS target, ?::text AS name) c JOIN pg_constraint k ON k.conrelid = to_regclass(c.target) AND k.conname = shardflake.check_name(c.name)
                 WHERE pg_get_constraintdef(k.oid) = 'CHECK (true)'
                """.formatted(check.shard(), check.validated() ? "" : " NOT VALID"), check);
    }

    /**
     * Runs a statement that a query composes. Writers queue behind a statement that waits for the table's lock, so each waits a moment only.
     */
    private void change(String query, IdCheck check) throws SQLException {
        for (String sql : Sql.list(connection, query, row -> row.getString(1), table(check.shard()), check.column())) {
            if (!Poll.everyMillis(300, LOCK_PATIENCE).until(() -> isChanged(sql))) {
                Sql.execute(connection, "SET lock_timeout = '1s'; " + sql);
            }
        }
        Sql.execute(connection, "SET lock_timeout = 0");
    }

    private boolean isChanged(String sql) throws SQLException {
        try {
            Sql.execute(connection, "SET lock_timeout = '1s'; " + sql);
            return true;
        } catch (SQLException e) {
            if (!Sql.isInTheWay(e)) {
                throw e;
            }
            return false;
        }
    }

    /** The shards whose table is not empty. */
    List<Integer> filled() throws SQLException {
        List<Integer> filled = new ArrayList<>();
        for (List<Integer> some : inParts(shards.stream().boxed().toList())) {
            String sql = some.stream()
                    .map(shard -> "SELECT %s WHERE EXISTS (SELECT FROM %s)".formatted(shard, table(shard)))
                    .collect(joining(" UNION ALL "));
            filled.addAll(Sql.list(connection, sql, row -> row.getInt(1)));
        }
        return filled;
    }

    /**
     * Creates the temporary table that receives rows. A domain may refuse the nulls of a row that is only a primary key, and a type
     * in the shards' own schemas differs between shards.
     *
     * @param adoption its number, since a session may work on several tables
     */
    void prepare(int adoption, List<Column> columns) throws SQLException {
        stage = "pg_temp.shardflake_stage_" + adoption;
        lines = 0;
        String names = columns.stream()
                .map(column -> column.stagedAsText() ? "NULL::text AS " + column.quoted() : column.quoted())
                .collect(joining(", "));
        Sql.execute(connection, """
                DROP TABLE IF EXISTS %3$s;
                CREATE TEMP TABLE shardflake_stage_%4$s AS
                SELECT NULL::integer AS shardflake_shard, NULL::boolean AS shardflake_gone, %1$s FROM %2$s WITH NO DATA;
                CREATE INDEX ON %3$s (shardflake_shard);
                GRANT SELECT ON %3$s TO PUBLIC
                """.formatted(
                        names, table(shards.stream().findFirst().orElseThrow()), stage, adoption));
    }

    /** Stages a line of COPY: the shard, whether the row is gone, and its columns. */
    void stage(int shard, byte[] line) throws SQLException {
        if (copy == null) {
            empty();
            copy = connection.unwrap(PGConnection.class).getCopyAPI().copyIn("COPY %s FROM STDIN".formatted(stage));
        }
        staged.add(shard);
        lines++;
        if (buffered + line.length > BUFFER) {
            send();
        }
        if (line.length > BUFFER) {
            copy.writeToCopy(line, 0, line.length);
        } else {
            System.arraycopy(line, 0, buffer, buffered, line.length);
            buffered += line.length;
        }
    }

    private void empty() throws SQLException {
        if (lines > DELETED_LINES) {
            Sql.execute(connection, "TRUNCATE " + stage);
            lines = 0;
        } else if (lines > 0) {
            Sql.execute(connection, "DELETE FROM " + stage);
        }
    }

    private void send() throws SQLException {
        if (copy != null && buffered > 0) {
            copy.writeToCopy(buffer, 0, buffered);
            buffered = 0;
        }
    }

    /** Merges the staged rows into the shards; they are durable when this returns. */
    void merge(List<Column> columns, List<Column> primaryKey) throws SQLException {
        if (copy == null) {
            return;
        }
        send();
        copy.endCopy();
        copy = null;
        List<List<Integer>> parts = inParts(List.copyOf(staged));
        for (int i = 0; i < parts.size(); i++) {
            merge(parts.get(i), i == 0, i == parts.size() - 1, columns, primaryKey);
        }
        staged.clear();
    }

    /** Merges rows; only the last commit waits for the disk, which makes the others durable too. */
    private void merge(
            List<Integer> some, boolean isFirst, boolean isLast, List<Column> columns, List<Column> primaryKey)
            throws SQLException {
        // In the same transaction: a separate one would wait for the disk, too.
        String statistics = isFirst ? "ANALYZE %s; ".formatted(stage) : "";
        // Without an id, a transaction that changed nothing would not write to the log, and so not wait for the disk.
        String durability = isLast
                ? "SET LOCAL synchronous_commit = on; SELECT pg_current_xact_id(); "
                : "SET LOCAL synchronous_commit = off; ";
        change(some, durability + statistics, shard -> mergeOf(shard, columns, primaryKey));
    }

    /** Changes the tables of some shards in one transaction, if this server accepts their writes. */
    void change(List<Integer> some, String settings, IntFunction<String> statements) throws SQLException {
        String silence = silence();
        String tables = some.stream().map(this::table).collect(joining(", "));
        written.add(Sql.inTransaction(connection, () -> {
            Sql.execute(
                    connection,
                    settings
                            + silence
                            + "SET LOCAL lock_timeout = '10s'; LOCK TABLE "
                            + tables + " IN ROW EXCLUSIVE MODE");
            long transaction = learn(some);
            List<String> all = new ArrayList<>();
            for (int shard : some) {
                Optional<OwnersCode> code =
                        Objects.requireNonNull(known.get(shard)).code();
                String its = statements.apply(shard);
                all.add(code.isPresent() ? code.get().run(connection, its) : its);
            }
            Sql.execute(connection, String.join(";\n", all));
            return transaction;
        }));
    }

    /** A table, as its owner has made it, in the transaction that is to write to it. */
    private record Found(int shard, long transaction, boolean isFenced, String state) {}

    /**
     * Finds out which code of the tables' owners this session would run with more rights than they have, unless nothing has changed since the
     * last time. The tables are locked, so that nothing changes before the transaction ends, and no fence can be raised: that is checked, too, since triggers
     * may not fire in this session.
     *
     * @return the number of the transaction
     */
    private long learn(List<Integer> some) throws SQLException {
        Object[] names = some.stream().map(this::table).toArray();
        Map<Integer, Found> all = new HashMap<>();
        Sql.list(
                connection,
                STATES,
                row -> all.put(
                        row.getInt(1), new Found(row.getInt(1), row.getLong(2), row.getBoolean(3), row.getString(4))),
                connection.createArrayOf("integer", some.toArray()),
                connection.createArrayOf("text", names));
        for (int shard : some) {
            if (!all.containsKey(shard)) {
                throw new AdoptException("%s on %s is not a table any more".formatted(table(shard), server));
            }
        }
        refuseFenced(all.values());
        for (Found found : all.values()) {
            Known before = known.get(found.shard());
            if (before == null || !before.state().equals(found.state())) {
                known.put(found.shard(), new Known(found.state(), OwnersCode.of(connection, table(found.shard()))));
            }
        }
        return all.values().iterator().next().transaction();
    }

    /** Returns and forgets the numbers of the transactions that have brought rows. */
    List<Long> takeWritten() {
        List<Long> taken = List.copyOf(written);
        written.clear();
        return taken;
    }

    /** The scope in which transaction numbers are unique. */
    String transactionScope() throws SQLException {
        if (transactionScope == null) {
            transactionScope = server
                    + Sql.systemIdentifier(connection).map(id -> " " + id).orElse("");
        }
        return transactionScope;
    }

    private void refuseFenced(Collection<Found> some) {
        List<Integer> others = some.stream()
                .filter(found -> found.isFenced() && !fenced.contains(found.shard()))
                .map(Found::shard)
                .toList();
        if (!others.isEmpty()) {
            ShardSet moving = ShardSet.of(others);
            throw new AdoptException("%s on %s %s being moved, or %s moved; run it again when that is done"
                    .formatted(
                            Plural.shards(moving),
                            server,
                            Plural.choose(moving, "is", "are"),
                            Plural.choose(moving, "has", "have")));
        }
    }

    private String mergeOf(int shard, List<Column> columns, List<Column> primaryKey) {
        String names = columns.stream().map(Column::quoted).collect(joining(", "));
        String values =
                columns.stream().map(column -> staged(column, "", shard)).collect(joining(", "));
        String same = primaryKey.stream()
                .map(column -> "t.%s = %s".formatted(column.quoted(), staged(column, "s.", shard)))
                .collect(joining(" AND "));
        return """
                DELETE FROM %1$s t USING %2$s s WHERE s.shardflake_shard = %3$s AND %4$s;
                INSERT INTO %1$s (%5$s) OVERRIDING SYSTEM VALUE SELECT %6$s FROM %2$s WHERE shardflake_shard = %3$s AND NOT shardflake_gone
                """.formatted(table(shard), stage, shard, same, names, values);
    }

    private static String staged(Column column, String row, int shard) {
        String value = row + column.quoted();
        return column.stagedAsText() ? value + "::" + column.typeIn(Sharding.schema(shard)) : value;
    }

    /** Discards rows that were staged but not merged, after a failure. */
    void forget() throws SQLException {
        CopyIn open = copy;
        copy = null;
        buffered = 0;
        staged.clear();
        if (open != null) {
            Sql.cancel(open);
        }
    }

    /** Processes all shards, some at a time. */
    void inParts(Part part) throws SQLException {
        for (List<Integer> some : inParts(shards.stream().boxed().toList())) {
            part.of(some);
        }
    }

    /** Work on some shards. */
    @FunctionalInterface
    interface Part {
        void of(List<Integer> some) throws SQLException;
    }

    /** Count and hash of the rows of each of these shards, without those with the given primary keys. */
    Map<Integer, Rows.Digest> digests(
            Rows rows, Set<Integer> those, List<List<String>> without, List<Column> primaryKey) throws SQLException {
        Map<Integer, Rows.Digest> digests = new HashMap<>();
        each(
                those,
                without,
                shard -> rows.digestsBy(Integer.toString(shard), table(shard) + " t")
                        + (without.isEmpty() ? "" : " WHERE NOT " + isGiven(shard, primaryKey)),
                row -> digests.put(row.getInt(1), new Rows.Digest(row.getLong(2), row.getString(3))));
        return digests;
    }

    /** The rows of these shards with the given primary keys, each as the text of a row of its shard and its key. */
    List<String> present(Set<Integer> those, List<List<String>> keys, List<Column> primaryKey) throws SQLException {
        String key = primaryKey.stream().map(column -> "t." + column.quoted()).collect(joining(", "));
        List<String> found = new ArrayList<>();
        if (!keys.isEmpty()) {
            each(
                    those,
                    keys,
                    shard -> "SELECT ROW(%s, %s)::text FROM %s t WHERE %s"
                            .formatted(shard, key, table(shard), isGiven(shard, primaryKey)),
                    row -> found.add(row.getString(1)));
        }
        return found;
    }

    /** Runs a query over the shards of this server among these; it may use {@link #isGiven}. */
    private void each(
            Set<Integer> those, List<List<String>> keys, Function<Integer, String> query, Sql.RowReader<?> reader)
            throws SQLException {
        int columns = keys.isEmpty() ? 0 : keys.get(0).size();
        List<String> names =
                IntStream.range(0, columns).mapToObj(i -> "shardflake_" + i).toList();
        Object[] values = new Object[columns];
        for (int i = 0; i < columns; i++) {
            int column = i;
            values[i] = connection.createArrayOf(
                    "text", keys.stream().map(key -> key.get(column)).toArray());
        }
        String given = columns == 0
                ? ""
                : "WITH given (%s) AS MATERIALIZED (SELECT * FROM unnest(%s)) "
                        .formatted(
                                String.join(", ", names), String.join(", ", Collections.nCopies(columns, "?::text[]")));
        List<Integer> its = shards.stream().filter(those::contains).boxed().toList();
        for (List<Integer> some : inParts(its)) {
            Sql.list(connection, given + some.stream().map(query).collect(joining(" UNION ALL ")), reader, values);
        }
    }

    /** A condition that the row {@code t} of a shard has one of the given keys. */
    private static String isGiven(int shard, List<Column> primaryKey) {
        List<String> same = new ArrayList<>();
        for (Column column : primaryKey) {
            same.add("g.shardflake_%s::%s = t.%s"
                    .formatted(same.size(), column.typeIn(Sharding.schema(shard)), column.quoted()));
        }
        return "EXISTS (SELECT FROM given g WHERE %s)".formatted(String.join(" AND ", same));
    }

    /** The rows of some shards, for a search. */
    Rows slices(Rows rows, Collection<Integer> some, List<Column> primaryKey) {
        List<String> keys =
                primaryKey.stream().map(column -> "t." + column.quoted()).toList();
        return Rows.ofParts(some.stream()
                .map(shard -> rows.partBy(Integer.toString(shard), keys, table(shard) + " t"))
                .toList());
    }

    /** The hashes of the rows of a shard with these primary keys; rows that it lacks are left out. */
    Map<List<String>, Long> hashes(int shard, List<List<String>> keys, List<Column> primaryKey, Rows rows)
            throws SQLException {
        List<String> columns =
                primaryKey.stream().map(column -> "t." + column.quoted()).toList();
        String wanted = keys.stream()
                .map(key -> OldTable.literals(key, primaryKey, column -> column.typeIn(Sharding.schema(shard))))
                .collect(joining(", "));
        String sql = "SELECT ARRAY[%s], %s FROM %s t WHERE ROW(%s) IN (%s)"
                .formatted(
                        columns.stream().map(OldTable.KEY_TEXT::formatted).collect(joining(", ")),
                        rows.hash(),
                        table(shard),
                        String.join(", ", columns),
                        wanted);
        Map<List<String>, Long> found = new HashMap<>();
        Sql.list(
                connection,
                sql,
                row -> found.put(List.of((String[]) row.getArray(1).getArray()), row.getLong(2)));
        return found;
    }

    static List<List<Integer>> inParts(List<Integer> shards) {
        List<List<Integer>> parts = new ArrayList<>();
        for (int i = 0; i < shards.size(); i += SHARDS_AT_A_TIME) {
            parts.add(shards.subList(i, Math.min(i + SHARDS_AT_A_TIME, shards.size())));
        }
        return parts;
    }
}
