/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import static java.util.stream.Collectors.joining;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;

/**
 * The state of an adoption in the old database: its progress, the rows that have changed, and the triggers that record changes and,
 * at the end, refuse writes. It has a schema of its own, which is removed with the adoption.
 */
final class ChangeJournal {

    static final String SCHEMA = "shardflake_adopt";

    private static final Duration LOCK_PATIENCE = Duration.ofSeconds(30);
    private static final String LOCK_NOT_AVAILABLE = "55P03";

    /** Creates the schema, under a lock: IF NOT EXISTS fails when two sessions create the same thing concurrently. */
    private static final String INSTALL = """
            SELECT pg_advisory_xact_lock(hashtext('shardflake adopt'));
            CREATE SCHEMA IF NOT EXISTS shardflake_adopt;
            COMMENT ON SCHEMA shardflake_adopt IS 'Tables being brought into shards by shardflake adopt';
            CREATE TABLE IF NOT EXISTS shardflake_adopt.adoption (
                id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                source text NOT NULL UNIQUE, installation uuid NOT NULL, target text NOT NULL, key text NOT NULL, shard_count integer NOT NULL,
                state text NOT NULL DEFAULT 'COPYING', copied_to text[], copied_rows bigint NOT NULL DEFAULT 0,
                begun timestamptz NOT NULL DEFAULT now());
            ALTER TABLE shardflake_adopt.adoption ADD COLUMN IF NOT EXISTS mark uuid;
            ALTER TABLE shardflake_adopt.adoption ADD COLUMN IF NOT EXISTS left_without integer[] NOT NULL DEFAULT '{}';
            COMMENT ON COLUMN shardflake_adopt.adoption.left_without IS 'Shards that have left this database without the rows of this table';
            CREATE TABLE IF NOT EXISTS shardflake_adopt.lifted (
                adoption integer, shard integer, column_name text NOT NULL, validated boolean NOT NULL, PRIMARY KEY (adoption, shard));
            COMMENT ON TABLE shardflake_adopt.lifted IS 'Shards whose check of ids the adoption has replaced by one that is always true';
            CREATE TABLE IF NOT EXISTS shardflake_adopt.written (adoption integer, server text, xid bigint, PRIMARY KEY (adoption, server, xid));
            COMMENT ON TABLE shardflake_adopt.written IS 'Transactions that brought rows to a server: a row of any other has been written by others';
            CREATE TABLE IF NOT EXISTS shardflake_adopt.partition (adoption integer, relation oid, trigger oid, PRIMARY KEY (adoption, relation));
            COMMENT ON TABLE shardflake_adopt.partition IS 'Partitions whose rows the journal follows, each with its trigger; 0 if rows may have gone without a trace';
            CREATE OR REPLACE FUNCTION shardflake_adopt.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
            BEGIN
                RAISE EXCEPTION '% of table %.% is refused: %', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME, TG_ARGV[1]
                    USING ERRCODE = TG_ARGV[0], HINT = TG_ARGV[2];
            END $$;
            """;

    private static final String FIND = """
            SELECT id, installation, target, key, shard_count, state, copied_to, copied_rows, (to_jsonb(a) ->> 'mark')::uuid
              FROM shardflake_adopt.adoption a WHERE source = ?
            """;

    /**
     * Records the old row, and also the new one if its key or shard differs. PostgreSQL prepares each expression once a transaction, which costs more than
     * evaluating it, so the most frequent case has a single condition and a single INSERT.
     */
    private static final String NOTE = """
            BEGIN
                IF TG_OP OPERATOR(pg_catalog.=) 'UPDATE' AND %5$s THEN
                    INSERT INTO shardflake_adopt.changes_%1$s (shardflake_shard, %2$s) VALUES (%3$s);
                    RETURN NULL;
                END IF;
                IF TG_OP OPERATOR(pg_catalog.<>) 'INSERT' THEN
                    %6$s
                END IF;
                IF TG_OP OPERATOR(pg_catalog.<>) 'DELETE' THEN
                    INSERT INTO shardflake_adopt.changes_%1$s (shardflake_shard, %2$s) VALUES (%4$s);
                END IF;
                RETURN NULL;
            END
            """;

    private static final String NOTE_OLD =
            "INSERT INTO shardflake_adopt.changes_%1$s (shardflake_shard, %2$s) VALUES (%3$s);";

    /** Records, of a row that others refer to, also that its change affects their keys. */
    private static final String NOTE_OLD_PARENT = """
            INSERT INTO shardflake_adopt.changes_%1$s (shardflake_shard, %2$s, shardflake_moved) VALUES (%3$s, true);
                    INSERT INTO shardflake_adopt.left_%1$s (shardflake_shard, %2$s) VALUES (%3$s);
            """;

    /** Creates the tables of an adoption from the adopted table, so that columns compare in the same way. Each index would cost the writers a third more. */
    private static final String TABLES = """
            CREATE TABLE shardflake_adopt.changes_%1$s AS SELECT NULL::integer AS shardflake_shard, %2$s FROM %3$s t WITH NO DATA;
            ALTER TABLE shardflake_adopt.changes_%1$s ADD COLUMN shardflake_at timestamptz NOT NULL DEFAULT now();
            """;

    private static final String TABLES_OF_PARENT = """
            ALTER TABLE shardflake_adopt.changes_%1$s ADD COLUMN shardflake_moved boolean NOT NULL DEFAULT false;
            CREATE TABLE shardflake_adopt.left_%1$s AS SELECT NULL::integer AS shardflake_shard, %2$s FROM %3$s t WITH NO DATA;
            COMMENT ON TABLE shardflake_adopt.left_%1$s IS 'What rows were: rows that refer to them may still be in the shards that this leads to';
            """;

    /** Has no search path of its own, since to set one costs as much as to write the line: each name and operator in it has a schema. */
    private static final String NOTE_FUNCTION =
            "CREATE FUNCTION shardflake_adopt.note_%1$s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS %2$s";

    private static final Map<String, String> TRIGGERS = new TreeMap<>(
            Map.of("shardflake_adopt_note", """
            CREATE TRIGGER shardflake_adopt_note AFTER INSERT OR UPDATE OR DELETE ON %2$s
                FOR EACH ROW EXECUTE FUNCTION shardflake_adopt.note_%1$s();
            ALTER TABLE %2$s ENABLE ALWAYS TRIGGER shardflake_adopt_note;
            """, "shardflake_adopt_truncate", """
            CREATE TRIGGER shardflake_adopt_truncate BEFORE TRUNCATE ON %2$s
                FOR EACH STATEMENT EXECUTE FUNCTION shardflake_adopt.refuse('55006', 'its rows are in shards, or on their way into them', 'Delete rows instead, or end the adoption with shardflake adopt run --cancel.');
            ALTER TABLE ONLY %2$s ENABLE ALWAYS TRIGGER shardflake_adopt_truncate;
            """, "shardflake_adopt_closed", """
            CREATE TRIGGER shardflake_adopt_closed BEFORE INSERT OR UPDATE OR DELETE ON %2$s
                FOR EACH ROW EXECUTE FUNCTION shardflake_adopt.refuse('SF001', 'its rows live in shards now', 'Write to the shards, through the router.');
            ALTER TABLE %2$s DISABLE TRIGGER shardflake_adopt_closed;
            """));

    private static final String LESSER_OWNER = """
            SELECT quote_ident(o.rolname) FROM pg_class c JOIN pg_roles o ON o.oid = c.relowner, pg_roles m
             WHERE c.oid = ?::regclass AND m.rolname = current_user AND m.rolsuper AND NOT o.rolsuper
            """;

    /** Makes the table's owner run the trigger, since the key's checks may contain the owner's code. */
    private static final String AS_OWNER = """
            GRANT USAGE ON SCHEMA shardflake_adopt TO %2$s;
            GRANT INSERT ON shardflake_adopt.changes_%1$s TO %2$s;
            ALTER FUNCTION shardflake_adopt.note_%1$s() OWNER TO %2$s;
            """;

    private static final String OF_PARENT_AS_OWNER = "GRANT INSERT ON shardflake_adopt.left_%s TO %s";

    /**
     * Makes a table refuse writes by a trigger for each row: a write to a partition through its parent fires only the parent's statement
     * triggers. Readers need not wait for it.
     */
    private static final String CLOSE = "ALTER TABLE %s ENABLE ALWAYS TRIGGER shardflake_adopt_closed";

    private static final String OPEN = "ALTER TABLE %s DISABLE TRIGGER shardflake_adopt_closed";

    private static final String REMOVE = """
            DROP TRIGGER IF EXISTS shardflake_adopt_note ON %2$s;
            DROP TRIGGER IF EXISTS shardflake_adopt_truncate ON %2$s;
            DROP TRIGGER IF EXISTS shardflake_adopt_closed ON %2$s;
            DROP FUNCTION IF EXISTS shardflake_adopt.note_%1$s();
            DROP TABLE IF EXISTS shardflake_adopt.changes_%1$s, shardflake_adopt.left_%1$s, shardflake_adopt.waiting_%1$s;
            """ + SliceFence.REMOVE;

    private static final String IS_CLOSED = """
            SELECT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass(?) AND tgname = 'shardflake_adopt_closed' AND tgenabled = 'A')
            """;

    private final Connection connection;
    private final TableFacts table;

    ChangeJournal(Connection connection, TableFacts table) {
        this.connection = connection;
        this.table = table;
    }

    Optional<Adoption> find() throws SQLException {
        if (!Sql.isTrue(connection, "SELECT to_regclass('shardflake_adopt.adoption') IS NOT NULL")) {
            return Optional.empty();
        }
        return Sql.list(
                        connection,
                        FIND,
                        row -> new Adoption(
                                row.getInt(1),
                                row.getObject(2, UUID.class),
                                row.getString(3),
                                row.getString(4),
                                row.getInt(5),
                                AdoptState.valueOf(row.getString(6)),
                                row.getArray(7) == null
                                        ? null
                                        : List.of((String[]) row.getArray(7).getArray()),
                                row.getLong(8),
                                row.getObject(9, UUID.class)),
                        table.name())
                .stream()
                .findFirst();
    }

    /** Starts recording changes; anything written before is visible to later readers. */
    Adoption begin(UUID installation, String into, Route route) throws SQLException {
        withLock(() -> {
            Sql.execute(connection, INSTALL);
            long id = Sql.number(
                    connection,
                    "INSERT INTO shardflake_adopt.adoption (source, installation, target, key, shard_count, mark) VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
                    table.name(),
                    installation,
                    into,
                    route.description(),
                    route.key().shardCount(),
                    UUID.randomUUID());
            create(id, route);
            SliceFence slices = new SliceFence(connection);
            slices.install(route.key().shardCount());
            slices.noteLeft(id);
        });
        return find().orElseThrow();
    }

    private void create(long id, Route route) throws SQLException {
        String noted = table.listOf("t", route.noted());
        Sql.execute(connection, TABLES.formatted(id, noted, table.own()));
        if (route.hasChildren()) {
            Sql.execute(connection, TABLES_OF_PARENT.formatted(id, noted, table.own()));
            for (List<String> columns : route.referred()) {
                String names = columns.stream().map(this::quoted).collect(joining(", "));
                Sql.execute(connection, "CREATE INDEX ON shardflake_adopt.left_%s (%s)".formatted(id, names));
            }
        }
        String names = route.noted().stream().map(this::quoted).collect(joining(", "));
        String old = noted(route, "OLD");
        Set<String> telling = new LinkedHashSet<>(route.noted());
        telling.addAll(route.deciding());
        String note = NOTE.formatted(
                id,
                names,
                old,
                noted(route, "NEW"),
                table.isSame("OLD", "NEW", telling),
                (route.hasChildren() ? NOTE_OLD_PARENT : NOTE_OLD).formatted(id, names, old));
        Sql.execute(connection, NOTE_FUNCTION.formatted(id, Sql.quote(note)));
        for (String name : TRIGGERS.keySet()) {
            Sql.execute(connection, trigger(name, id, table.name()));
        }
        Optional<String> owner = lesserOwner(connection, table);
        if (owner.isPresent()) {
            Sql.execute(connection, AS_OWNER.formatted(id, owner.get()));
            if (route.hasChildren()) {
                Sql.execute(connection, OF_PARENT_AS_OWNER.formatted(id, owner.get()));
            }
        }
        createWaiting(id);
        new JournalTriggers(connection, this, table, (int) id).recordAll();
    }

    /** The statements that create one of the triggers, in the state that it has while the table takes writes. */
    static String trigger(String name, long adoption, String table) {
        return Objects.requireNonNull(TRIGGERS.get(name)).formatted(adoption, table);
    }

    /** The owner of a table, quoted, if a superuser other than that owner adopts the table. */
    static Optional<String> lesserOwner(Connection connection, TableFacts table) throws SQLException {
        return Sql.list(connection, LESSER_OWNER, row -> row.getString(1), table.name()).stream()
                .findFirst();
    }

    private String quoted(String name) {
        return table.column(name).orElseThrow().quoted();
    }

    /** The columns that the journal notes of a row: the shard if the row has the key itself, and the route's columns. */
    private String noted(Route route, String row) {
        String shard = route.link() == null ? route.shard(row) : "NULL::integer";
        return shard + ", " + table.listOf(row, route.noted());
    }

    private void createWaiting(long id) throws SQLException {
        Sql.execute(
                connection,
                "CREATE TABLE shardflake_adopt.waiting_%1$s AS SELECT %2$s FROM %3$s t WITH NO DATA; COMMENT ON TABLE shardflake_adopt.waiting_%1$s IS 'Rows that have no shard, and are tried again'"
                        .formatted(id, table.keyOf("t"), table.own()));
    }

    /** Completes an adoption that an older version began. */
    Adoption complete(Adoption adoption) throws SQLException {
        boolean hasWaiting =
                Sql.isTrue(connection, "SELECT to_regclass(?) IS NOT NULL", SCHEMA + ".waiting_" + adoption.id());
        boolean hasAll = Sql.isTrue(
                connection,
                "SELECT to_regclass('shardflake_adopt.slice') IS NOT NULL AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('shardflake_adopt.adoption') AND attname = 'left_without')");
        if (adoption.mark() != null && hasWaiting && hasAll) {
            return adoption;
        }
        withLock(() -> {
            Sql.execute(connection, INSTALL);
            Sql.update(
                    connection,
                    "UPDATE shardflake_adopt.adoption SET mark = coalesce(mark, ?) WHERE id = ?",
                    UUID.randomUUID(),
                    adoption.id());
            if (!hasWaiting) {
                createWaiting(adoption.id());
            }
            new SliceFence(connection).install(adoption.shardCount());
        });
        return find().orElseThrow();
    }

    /** Records checks that are about to be lifted. */
    void lifts(Adoption adoption, List<ShardTables.IdCheck> checks) throws SQLException {
        for (ShardTables.IdCheck check : checks) {
            Sql.update(
                    connection,
                    "INSERT INTO shardflake_adopt.lifted VALUES (?, ?, ?, ?) ON CONFLICT (adoption, shard) DO UPDATE SET validated = excluded.validated",
                    adoption.id(),
                    check.shard(),
                    check.column(),
                    check.validated());
        }
    }

    /** The checks that were about to be lifted; some may not have been. */
    List<ShardTables.IdCheck> lifted(Adoption adoption) throws SQLException {
        return Sql.list(
                connection,
                "SELECT shard, column_name, validated FROM shardflake_adopt.lifted WHERE adoption = ? ORDER BY shard",
                row -> new ShardTables.IdCheck(row.getInt(1), row.getString(2), row.getBoolean(3)),
                adoption.id());
    }

    /** Records transactions that have brought rows. */
    void written(Adoption adoption, String server, List<Long> transactions) throws SQLException {
        if (!transactions.isEmpty()) {
            Sql.update(
                    connection,
                    "INSERT INTO shardflake_adopt.written SELECT ?, ?, unnest(?::bigint[]) ON CONFLICT DO NOTHING",
                    adoption.id(),
                    server,
                    connection.createArrayOf("bigint", transactions.toArray()));
        }
    }

    /** The transactions that are known to have brought rows to a server. */
    List<Long> written(Adoption adoption, String server) throws SQLException {
        return Sql.list(
                connection,
                "SELECT xid FROM shardflake_adopt.written WHERE adoption = ? AND server = ?",
                row -> row.getLong(1),
                adoption.id(),
                server);
    }

    void copied(Adoption adoption, List<String> to, long rows) throws SQLException {
        Sql.update(
                connection,
                "UPDATE shardflake_adopt.adoption SET copied_to = ?, copied_rows = ? WHERE id = ?",
                connection.createArrayOf("text", to.toArray()),
                rows,
                adoption.id());
    }

    void allCopied(Adoption adoption) throws SQLException {
        set(adoption, AdoptState.FOLLOWING);
    }

    private void set(Adoption adoption, AdoptState state) throws SQLException {
        Sql.update(
                connection, "UPDATE shardflake_adopt.adoption SET state = ? WHERE id = ?", state.name(), adoption.id());
    }

    /** Makes the table refuse writes; writes that had started have ended when this returns. */
    void close(Adoption adoption) throws SQLException {
        withLock(() -> {
            Sql.execute(connection, CLOSE.formatted(table.name()));
            set(adoption, AdoptState.CLOSED);
        });
    }

    void open(Adoption adoption) throws SQLException {
        withLock(() -> {
            Sql.execute(connection, OPEN.formatted(table.name()));
            set(adoption, AdoptState.FOLLOWING);
        });
    }

    /** Makes the table accept writes of the connection's transaction. */
    void letIn() throws SQLException {
        if (isClosed()) {
            Sql.execute(connection, OPEN.formatted(table.name()));
        }
    }

    /** Marks adoptions as finished, all or none, and keeps the triggers: they refuse writes, or record them if the tables are opened again. */
    static void finish(Connection connection, List<String> tables) throws SQLException {
        Sql.update(
                connection,
                "UPDATE shardflake_adopt.adoption SET state = 'FINISHED' WHERE source = ANY (?)",
                connection.createArrayOf("text", tables.toArray()));
    }

    /** Whether writes are refused. */
    boolean isClosed() throws SQLException {
        return Sql.isTrue(connection, IS_CLOSED, table.name());
    }

    /** Makes the table accept writes again, and the next run copy everything from the start, since the shards' rows are about to be removed. */
    void beginAgain(Adoption adoption) throws SQLException {
        withLock(() -> copyAgain(adoption.id()));
    }

    /** Makes the next run copy all rows, within the connection's transaction. A closed table accepts writes again. */
    void copyAgain(int adoption) throws SQLException {
        Sql.execute(connection, OPEN.formatted(table.name()));
        Sql.update(
                connection,
                "UPDATE shardflake_adopt.adoption SET state = 'COPYING', copied_to = NULL, copied_rows = 0 WHERE id = ?",
                adoption);
    }

    /** Removes all traces of the adoption, and leaves the table open for writes. */
    void remove(Adoption adoption) throws SQLException {
        withLock(() -> {
            new JournalTriggers(connection, this, table, adoption.id()).removeFromPartitions();
            Sql.execute(connection, REMOVE.formatted(adoption.id(), table.name()));
            for (String its : List.of(
                    "adoption WHERE id",
                    "lifted WHERE adoption",
                    "written WHERE adoption",
                    "partition WHERE adoption")) {
                Sql.update(connection, "DELETE FROM shardflake_adopt.%s = ?".formatted(its), adoption.id());
            }
            if (Sql.isTrue(connection, "SELECT NOT EXISTS (SELECT FROM shardflake_adopt.adoption)")) {
                Sql.execute(
                        connection,
                        SliceFence.REMOVE_ALL
                                + "DROP TABLE shardflake_adopt.adoption, shardflake_adopt.lifted, shardflake_adopt.written, shardflake_adopt.partition; DROP FUNCTION shardflake_adopt.refuse(); DROP SCHEMA shardflake_adopt");
            }
        });
    }

    @FunctionalInterface
    interface Change {
        void make() throws SQLException;
    }

    /**
     * Runs a change in one transaction that locks the table but never blocks writers for long, since they queue behind a waiter for the lock.
     */
    void withLock(Change change) throws SQLException {
        if (!Poll.everyMillis(500, LOCK_PATIENCE).until(() -> isMade(change))) {
            makeNow(change);
        }
    }

    private boolean isMade(Change change) throws SQLException {
        try {
            makeNow(change);
            return true;
        } catch (SQLException e) {
            if (!LOCK_NOT_AVAILABLE.equals(e.getSQLState())) {
                throw e;
            }
            return false;
        }
    }

    private void makeNow(Change change) throws SQLException {
        Sql.inTransaction(connection, () -> {
            Sql.execute(connection, "SET LOCAL lock_timeout = '1s'");
            change.make();
            return true;
        });
    }
}
