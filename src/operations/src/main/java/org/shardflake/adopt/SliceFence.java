/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import static java.util.stream.Collectors.joining;

import java.sql.Array;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.IdLayout;
import org.shardflake.ShardSet;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;

/**
 * The slices of an old database, and the triggers that refuse writes to the rows of shards that have left. A slice is over when its rows live
 * in their shard: the ones here are as they were then.
 *
 * <p>A transaction that writes a row of a slice holds the slice's lock, shared, until it ends, and asks for its state after it got the lock.
 * A cutover holds the lock alone while it brings the last changes over: writers of the slice wait for it.
 */
final class SliceFence {

    /**
     * The number of locks: slices with the same remainder share one, so that a job that writes to all slices does not fill the server's lock
     * table.
     */
    private static final int LOCKS = 256;

    /** The most shards that an installation can have. The setting holds the transaction's number times this, plus the shard. */
    private static final int SHARDS = IdLayout.MAX_SHARD + 1;

    /** The first key of the advisory locks, an arbitrary number. */
    private static final int LOCK_CLASS = 1_936_419_171;

    private static final String LOCK_NOT_AVAILABLE = "55P03";

    /** Limits waits for table locks, since writers of a slice wait for the session that works on it. */
    static final String IN_TIME = "SET lock_timeout = '10s'";

    /**
     * Makes the server notice after 5 + 3 * 3 seconds that a client machine is gone. A process that is gone is noticed within a second, also
     * while a statement runs, where PostgreSQL can look for that.
     */
    static final String NOTICE = """
            SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3;
            SELECT set_config('client_connection_check_interval', '1s', false)
             WHERE current_setting('client_connection_check_interval', true) IS NOT NULL AND version() ~ 'linux'
            """;

    private static final String INSTALL = """
            CREATE TABLE IF NOT EXISTS shardflake_adopt.slice (shard integer PRIMARY KEY, over_since timestamptz);
            COMMENT ON TABLE shardflake_adopt.slice IS 'The slices of this database by shard, and since when the rows of each live in the shard';
            INSERT INTO shardflake_adopt.slice SELECT n, NULL FROM generate_series(0, %1$s - 1) n ON CONFLICT DO NOTHING;
            CREATE TABLE IF NOT EXISTS shardflake_adopt.fence (up_since timestamptz);
            COMMENT ON TABLE shardflake_adopt.fence IS 'Since when fences have been raised; empty before';
            CREATE OR REPLACE FUNCTION shardflake_adopt.enter(shard integer, work text DEFAULT 'work') RETURNS void
                LANGUAGE plpgsql STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
            DECLARE
                v_over timestamptz;
            BEGIN
                PERFORM pg_advisory_xact_lock_shared(%2$s, shard %% %3$s);
                IF current_setting('transaction_isolation') LIKE 'read %%' OR current_setting('transaction_read_only')::boolean THEN
                    SELECT s.over_since INTO v_over FROM shardflake_adopt.slice s WHERE s.shard = enter.shard;
                ELSIF work <> 'work' AND NOT EXISTS (SELECT FROM shardflake_adopt.fence) THEN
                    -- The shard was found in a snapshot that may have a parent as it was before fences kept it in its shard.
                    RAISE EXCEPTION 'this transaction is older than the fence of the slices' USING ERRCODE = '40001', HINT = 'Run it again.';
                ELSE
                    -- The snapshot may be older than the lock. To lock the row fails if it has changed since.
                    SELECT s.over_since INTO v_over FROM shardflake_adopt.slice s WHERE s.shard = enter.shard FOR SHARE;
                END IF;
                IF NOT FOUND AND shard BETWEEN 0 AND %1$s - 1 THEN
                    RAISE EXCEPTION 'this transaction is older than the fence of the slices' USING ERRCODE = '40001', HINT = 'Run it again.';
                ELSIF NOT FOUND THEN
                    RAISE EXCEPTION 'shard %% is out of range 0..%%', shard, %1$s - 1 USING ERRCODE = '22023';
                ELSIF v_over IS NOT NULL THEN
                    RAISE EXCEPTION '%% is refused: shard %% has left this database', work, shard
                        USING ERRCODE = 'SF001', HINT = 'Work on it through the router: its rows here are as they were when it left.';
                END IF;
                IF NOT current_setting('transaction_read_only')::boolean AND txid_current_if_assigned() IS NOT NULL
                   AND EXISTS (SELECT FROM shardflake_adopt.fence) THEN
                    -- Ends with the transaction, or with a rollback to an earlier savepoint, as the lock does. READ ONLY has not locked the row.
                    PERFORM set_config('shardflake_adopt.entered', (txid_current_if_assigned() * %4$s + shard)::text, true);
                END IF;
            END $$;
            COMMENT ON FUNCTION shardflake_adopt.enter(integer, text) IS
                'Keeps a shard in this database until the transaction ends. Error: SF001 if it has left, and the router must be asked';
            CREATE OR REPLACE FUNCTION shardflake_adopt.shards_over() RETURNS integer[]
                LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
                SELECT coalesce(array_agg(s.shard), '{}') FROM shardflake_adopt.slice s WHERE s.over_since IS NOT NULL
            $$;
            COMMENT ON FUNCTION shardflake_adopt.shards_over() IS
                'The shards that have left this database, as the query''s snapshot has it: their rows in its tables are as they were then';
            GRANT USAGE ON SCHEMA shardflake_adopt TO PUBLIC;
            GRANT EXECUTE ON FUNCTION shardflake_adopt.enter(integer, text), shardflake_adopt.shards_over() TO PUBLIC;
            """;

    /**
     * The trigger function, which checks the row of the statement, and again after it, if the columns that decide about the shard differ. A row that gets its
     * shard from a parent is always checked again, at the end of the transaction: another may have given the parent another shard. Like the journal's, the
     * function has no search path of its own: each name and operator has a schema.
     */
    private static final String FUNCTION = """
            DECLARE
                v_was integer;
                v_is integer;
                v_are_many boolean;
            BEGIN
                IF TG_OP OPERATOR(pg_catalog.<>) 'INSERT' THEN
                    IF TG_WHEN OPERATOR(pg_catalog.=) 'BEFORE' THEN
                        %1$s
                        %2$s
                        IF TG_OP OPERATOR(pg_catalog.=) 'DELETE' THEN
                            RETURN OLD;
                        ELSIF %3$s THEN
                            RETURN NEW;
                        END IF;
                    ELSIF %4$s THEN
                        %5$s
                        RETURN NULL;
                    END IF;
                END IF;
                %6$s
                %7$s
                %8$s
                RETURN NEW;
            END
            """;

    /**
     * Enters the shard that a variable has, if it has one, unless that is the one that the transaction has entered last. A setting of another transaction, or
     * of the session, says nothing.
     */
    private static final String ENTER = """
            IF (pg_catalog.current_setting('shardflake_adopt.entered', true)
                            OPERATOR(pg_catalog.=) (pg_catalog.txid_current() OPERATOR(pg_catalog.*) %2$s OPERATOR(pg_catalog.+) %1$s)::pg_catalog.text) IS NOT TRUE THEN
                        PERFORM shardflake_adopt.enter(%1$s, pg_catalog.format('%%s of table %%s.%%s', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME));
                    END IF;
            """;

    /**
     * Finds the shard of a row through its parents: one or none. In {@code REPEATABLE READ}, a parent that another transaction has deleted is still seen
     * together with the one that has its place.
     */
    private static final String FIND_SHARD = """
            SELECT pg_catalog.min(s.shard), pg_catalog.min(COALESCE(s.shard, -1)) OPERATOR(pg_catalog.<>) pg_catalog.max(COALESCE(s.shard, -1))
                      INTO %1$s, v_are_many FROM (SELECT %2$s FROM %3$s WHERE %4$s) s (shard);
                    IF v_are_many THEN
                        RAISE EXCEPTION '%% of table %%.%%: this transaction still sees a row that another has replaced', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME
                            USING ERRCODE = '40001', HINT = 'Run it again.';
                    END IF;
            """;

    /**
     * Refuses to change the slice of a row that others get theirs from: a referring row may be written in a transaction that has locked only
     * the old slice.
     */
    private static final String KEEP_SLICE = """
            IF TG_OP OPERATOR(pg_catalog.=) 'UPDATE' AND TG_WHEN OPERATOR(pg_catalog.=) 'BEFORE' AND (%s) THEN
                        RAISE EXCEPTION '%% of table %%.%% is refused: it takes a row from shard %% to shard %%, and rows of %% follow it',
                            TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME, COALESCE(v_was::pg_catalog.text, 'none'), COALESCE(v_is::pg_catalog.text, 'none'), %s
                            USING ERRCODE = '55006', HINT = 'The key of a row that others get theirs from cannot change once a shard has left this database. Insert a row with the new key, and delete the old one.';
                    END IF;
            """;

    /** Refuses a row whose parent is missing, since there is no slice to lock until its transaction ends. */
    private static final String HAVE_PARENT = """
            IF TG_WHEN OPERATOR(pg_catalog.=) 'AFTER' AND v_is IS NULL AND ROW(%1$s) IS NOT NULL AND NOT EXISTS (SELECT FROM %2$s p WHERE %3$s)
                       AND EXISTS (SELECT FROM %4$s t WHERE %5$s AND %6$s) THEN
                        RAISE EXCEPTION '%% of table %%.%% is refused: the row of %% that it refers to does not exist', TG_OP, TG_TABLE_SCHEMA, TG_TABLE_NAME, %7$s
                            USING ERRCODE = '23503', HINT = 'Without that row it belongs to no shard. Write that row first, or in the same transaction.';
                    END IF;
            """;

    /**
     * Creates the triggers, under names that sort after those of other triggers, which then fire first. Rows with parents are looked at again
     * at the end: parents may come later.
     */
    private static final String TRIGGERS = """
            CREATE OR REPLACE FUNCTION shardflake_adopt.fence_%1$s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS %2$s;
            DROP TRIGGER IF EXISTS zz_shardflake_adopt_fence ON %3$s;
            DROP TRIGGER IF EXISTS zz_shardflake_adopt_fenced ON %3$s;
            CREATE TRIGGER zz_shardflake_adopt_fence BEFORE INSERT OR UPDATE OR DELETE ON %3$s
                FOR EACH ROW EXECUTE FUNCTION shardflake_adopt.fence_%1$s();
            CREATE CONSTRAINT TRIGGER zz_shardflake_adopt_fenced AFTER INSERT OR UPDATE%4$s ON %3$s %5$s
                FOR EACH ROW EXECUTE FUNCTION shardflake_adopt.fence_%1$s();
            ALTER TABLE %3$s ENABLE ALWAYS TRIGGER zz_shardflake_adopt_fence;
            ALTER TABLE %3$s ENABLE ALWAYS TRIGGER zz_shardflake_adopt_fenced;
            """;

    /** Notes that there are fences, for transactions whose snapshots are older than that. */
    private static final String NOTE_RAISED =
            "INSERT INTO shardflake_adopt.fence SELECT now() WHERE NOT EXISTS (SELECT FROM shardflake_adopt.fence)";

    private static final String IS_UP = """
            SELECT count(*) = 2 FROM pg_trigger WHERE tgrelid = to_regclass(?) AND tgname LIKE 'zz\\_shardflake\\_adopt\\_fence%' AND tgenabled = 'A'
            """;

    /** Removes the fence of a table; the parameters are the number of its adoption and its name. */
    static final String REMOVE = """
            DROP TRIGGER IF EXISTS zz_shardflake_adopt_fence ON %2$s;
            DROP TRIGGER IF EXISTS zz_shardflake_adopt_fenced ON %2$s;
            DROP FUNCTION IF EXISTS shardflake_adopt.fence_%1$s();
            """;

    /** Removes the objects that the fences of all tables share. */
    static final String REMOVE_ALL =
            "DROP TABLE IF EXISTS shardflake_adopt.slice, shardflake_adopt.fence, shardflake_adopt.fenced; DROP FUNCTION IF EXISTS shardflake_adopt.enter(integer, text), shardflake_adopt.shards_over();";

    private static final String INSTALL_FENCED = """
            CREATE TABLE IF NOT EXISTS shardflake_adopt.fenced (shard integer PRIMARY KEY);
            COMMENT ON TABLE shardflake_adopt.fenced IS 'Shards that have come back, or are about to: their servers refuse writes to them';
            """;

    private static final String HAS_SLICES = """
            SELECT to_regclass('shardflake_adopt.slice') IS NOT NULL
               AND EXISTS (SELECT FROM pg_trigger WHERE tgrelid = to_regclass(?) AND tgname = 'zz_shardflake_adopt_fence')
            """;

    private static final String LEFT_WITHOUT =
            "SELECT v::integer FROM shardflake_adopt.adoption a, jsonb_array_elements_text(to_jsonb(a) -> 'left_without') v WHERE a.source = ?";

    private static final String NOTE_LEFT = """
            UPDATE shardflake_adopt.adoption SET left_without = ARRAY(SELECT shard FROM shardflake_adopt.slice WHERE over_since IS NOT NULL) WHERE id = ?
            """;

    private static final String LEAVE = """
            WITH gone AS (UPDATE shardflake_adopt.slice SET over_since = clock_timestamp() WHERE shard = ? AND over_since IS NULL RETURNING shard)
            UPDATE shardflake_adopt.adoption a SET left_without = a.left_without || g.shard FROM gone g WHERE a.source <> ALL (?)
            """;

    private static final String OTHERS = """
            SELECT a.source FROM shardflake_adopt.adoption a JOIN pg_trigger t ON t.tgrelid = to_regclass(a.source)
             WHERE t.tgname = 'zz_shardflake_adopt_fence' AND a.source <> ALL (?) ORDER BY 1
            """;

    private static final String SLICES = "SELECT s.shard, s.over_since IS NOT NULL, %s FROM shardflake_adopt.slice s";
    private static final String FENCED = "EXISTS (SELECT FROM shardflake_adopt.fenced f WHERE f.shard = s.shard)";

    private final Connection connection;

    SliceFence(Connection connection) {
        this.connection = connection;
    }

    /** The state of each shard, all read at one moment; empty if no cutover has prepared this table. */
    Optional<Slices> slices(String table) throws SQLException {
        if (!Sql.isTrue(connection, HAS_SLICES, table)) {
            return Optional.empty();
        }
        boolean mayBeFenced = hasFenced();
        List<Integer> remaining = new ArrayList<>();
        List<Integer> over = new ArrayList<>();
        List<Integer> back = new ArrayList<>();
        List<Integer> closed = new ArrayList<>();
        Sql.list(connection, mayBeFenced ? SLICES.formatted(FENCED) : SLICES.formatted("false"), row -> {
            boolean isOver = row.getBoolean(2);
            boolean isFenced = row.getBoolean(3);
            (isOver ? over : remaining).add(row.getInt(1));
            if (isFenced) {
                (isOver ? closed : back).add(row.getInt(1));
            }
            return isOver;
        });
        return Optional.of(
                new Slices(ShardSet.of(remaining), ShardSet.of(over), ShardSet.of(back), ShardSet.of(closed)));
    }

    private boolean hasSlices() throws SQLException {
        return Sql.isTrue(connection, "SELECT to_regclass('shardflake_adopt.slice') IS NOT NULL");
    }

    private boolean hasFenced() throws SQLException {
        return Sql.isTrue(connection, "SELECT to_regclass('shardflake_adopt.fenced') IS NOT NULL");
    }

    /** The shards that have left the old database. */
    Set<Integer> over() throws SQLException {
        if (!hasSlices()) {
            return Set.of();
        }
        return new HashSet<>(Sql.list(
                connection,
                "SELECT shard FROM shardflake_adopt.slice WHERE over_since IS NOT NULL",
                row -> row.getInt(1)));
    }

    /** The shards that have left the old database with the rows of a table. */
    Set<Integer> over(String table) throws SQLException {
        Set<Integer> over = new HashSet<>(over());
        if (!over.isEmpty()) {
            over.removeAll(leftWithout(table));
        }
        return over;
    }

    /** Asked only when shards have left, so that the tables of an adoption are there. */
    private Set<Integer> leftWithout(String table) throws SQLException {
        return new HashSet<>(Sql.list(connection, LEFT_WITHOUT, row -> row.getInt(1), table));
    }

    /**
     * Creates the slices, unless they are there, within the transaction that begins an adoption: an application that asks where a shard is may be
     * released from then on. No slice is over before {@link #raise} has waited for those that had begun without asking.
     */
    void install(int shardCount) throws SQLException {
        if (!hasSlices()) {
            Sql.execute(connection, INSTALL.formatted(shardCount, LOCK_CLASS, LOCKS, SHARDS));
        }
    }

    /** Records the shards that have left without a table, at the end of the transaction that begins its adoption: no other leaves until then. */
    void noteLeft(long adoption) throws SQLException {
        Sql.execute(connection, "LOCK TABLE shardflake_adopt.slice IN SHARE MODE");
        Sql.update(connection, NOTE_LEFT, adoption);
    }

    /** The other tables that leave shard by shard; the state of a shard is that of the whole database. */
    List<String> others(Collection<String> tables) throws SQLException {
        return hasSlices() ? Sql.list(connection, OTHERS, row -> row.getString(1), array(tables)) : List.of();
    }

    private Array array(Collection<String> tables) throws SQLException {
        return connection.createArrayOf("text", tables.toArray());
    }

    /**
     * Refuses to work by shards on tables, if some shards have left without one of them, or would leave or return without another.
     *
     * @throws AdoptRefusedException if the tables are not all that leave by shards
     */
    void requireTogether(Collection<String> tables) throws SQLException {
        for (String table : over().isEmpty() ? List.<String>of() : tables) {
            ShardSet left = ShardSet.of(leftWithout(table));
            if (!left.isEmpty()) {
                throw new AdoptRefusedException(
                        "%s left the old database without the rows of %s".formatted(Plural.shards(left), table),
                        Advice.of(
                                "end this adoption by itself, as it was begun, with %s; or bring the shards back with the tables that left, and name all tables together",
                                CliCommand.ADOPT_RUN_FINISH));
            }
        }
        List<String> others = others(tables);
        if (!others.isEmpty()) {
            throw new AdoptRefusedException(
                    "a shard leaves or returns with all of its tables, and %s would be left out"
                            .formatted(String.join(", ", others)),
                    "name all of them: by the plan with which they began, or each by its name");
        }
    }

    /** The shards whose servers refuse writes for this adoption: those that have come back, and those that a killed command left fenced. */
    Set<Integer> fenced() throws SQLException {
        if (!hasFenced()) {
            return Set.of();
        }
        return new HashSet<>(Sql.list(connection, "SELECT shard FROM shardflake_adopt.fenced", row -> row.getInt(1)));
    }

    /** The shards that have left the old database and come back. */
    Set<Integer> back() throws SQLException {
        Set<Integer> back = new HashSet<>(fenced());
        back.removeAll(over());
        return back;
    }

    /** Records that a shard's server is about to refuse writes. */
    void noteFenced(int shard) throws SQLException {
        Sql.execute(connection, INSTALL_FENCED);
        Sql.update(connection, "INSERT INTO shardflake_adopt.fenced VALUES (?) ON CONFLICT DO NOTHING", shard);
    }

    /** Records that a shard's server accepts writes again. */
    void forgetFenced(int shard) throws SQLException {
        Sql.update(connection, "DELETE FROM shardflake_adopt.fenced WHERE shard = ?", shard);
    }

    /** Raises the fence of a table, after waiting for its writers; until a shard leaves, the fence refuses nothing. */
    void raise(Adoption adoption, Adopter.Routed routed) throws SQLException {
        Route route = routed.route();
        TableFacts table = route.table();
        if (Sql.isTrue(connection, IS_UP, table.name())) {
            return;
        }
        String owner = refuseOtherOwner(route);
        new ChangeJournal(connection, table).withLock(() -> {
            Sql.execute(connection, INSTALL.formatted(adoption.shardCount(), LOCK_CLASS, LOCKS, SHARDS));
            Sql.execute(connection, NOTE_RAISED);
            Sql.execute(
                    connection,
                    TRIGGERS.formatted(
                            adoption.id(),
                            Sql.quote(function(routed)),
                            table.name(),
                            route.link() == null ? "" : " OR DELETE",
                            route.link() == null ? "" : "DEFERRABLE INITIALLY DEFERRED"));
            if (!owner.isEmpty()) {
                Sql.execute(
                        connection,
                        "ALTER FUNCTION shardflake_adopt.fence_%s() OWNER TO %s".formatted(adoption.id(), owner));
            }
        });
    }

    /** Refuses a table without a fence. */
    void requireUp(String table) throws SQLException {
        if (!Sql.isTrue(connection, IS_UP, table)) {
            throw new AdoptRefusedException(
                    "%s has no triggers yet that make writers wait".formatted(table),
                    Advice.of("create them by %s, which lets no shard leave", CliCommand.ADOPT_CUTOVER_NONE));
        }
    }

    /** The owner as whom the trigger runs if a superuser adopts the table; empty if the owner is the login itself. */
    private String refuseOtherOwner(Route route) throws SQLException {
        String owner = ChangeJournal.lesserOwner(connection, route.table()).orElse("");
        Route.Link link = route.link();
        if (link != null
                && !ChangeJournal.lesserOwner(connection, link.parent().table())
                        .orElse("")
                        .equals(owner)) {
            throw new AdoptRefusedException(
                    "%s and %s, which it gets its key from, have different owners"
                            .formatted(
                                    route.table().name(), link.parent().table().name()),
                    "let one role own both");
        }
        return owner;
    }

    private static String function(Adopter.Routed routed) {
        Route route = routed.route();
        Route.Link link = route.link();
        String more = "";
        if (!routed.children().isEmpty()) {
            String differs = "v_is OPERATOR(pg_catalog.<>) v_was";
            String others = routed.children().stream()
                    .map(child -> child.table().name())
                    .sorted()
                    .collect(joining(", "));
            more += KEEP_SLICE.formatted(
                    link == null ? differs + " OR (v_is IS NULL) OPERATOR(pg_catalog.<>) (v_was IS NULL)" : differs,
                    Sql.quote(others));
        }
        if (link != null) {
            TableFacts table = route.table();
            TableFacts parent = link.parent().table();
            more += HAVE_PARENT.formatted(
                    table.listOf("NEW", link.columns()),
                    parent.own(),
                    same(parent.listOf("p", link.to()), table.listOf("NEW", link.columns())),
                    table.own(),
                    same(table.keyOf("t"), table.keyOf("NEW")),
                    same(table.listOf("t", link.columns()), table.listOf("NEW", link.columns())),
                    Sql.quote(parent.name()));
        }
        String findOld = findShard(route, "OLD", "v_was");
        String enterOld = ENTER.formatted("v_was", SHARDS);
        return FUNCTION.formatted(
                findOld,
                enterOld,
                isSame(route),
                link == null ? isSame(route) : "TG_OP OPERATOR(pg_catalog.=) 'DELETE'",
                link == null ? "" : findOld + enterOld,
                findShard(route, "NEW", "v_is"),
                ENTER.formatted("v_is", SHARDS),
                more);
    }

    private static String same(String values, String others) {
        return "(%s) OPERATOR(pg_catalog.=) (%s)".formatted(values, others);
    }

    /** Whether an update leaves the columns that decide about the row's shard. */
    private static String isSame(Route route) {
        Route.Link link = route.link();
        return route.table()
                .isSame("OLD", "NEW", link == null ? List.of(route.key().key().name()) : link.columns());
    }

    /** The SQL that assigns the shard of a given row to a variable. */
    private static String findShard(Route route, String row, String variable) {
        if (route.link() == null) {
            return "%s := %s;".formatted(variable, route.shard(row));
        }
        List<String> parents = new ArrayList<>();
        List<String> conditions = new ArrayList<>();
        Route its = route;
        String name = row;
        while (its.link() != null) {
            Route.Link link = Objects.requireNonNull(its.link());
            TableFacts parent = link.parent().table();
            String alias = "p" + (parents.size() + 1);
            parents.add("%s %s".formatted(parent.own(), alias));
            conditions.add(same(parent.listOf(alias, link.to()), its.table().listOf(name, link.columns())));
            its = link.parent();
            name = alias;
        }
        return FIND_SHARD.formatted(
                variable, its.shard(name), String.join(", ", parents), String.join(" AND ", conditions));
    }

    /** Locks a slice for this session: earlier writers have ended, and new ones wait. Returns whether that was so within the time. */
    boolean hold(int shard, Duration patience) throws SQLException {
        try {
            // One implicit transaction: a failure takes the setting back.
            Sql.execute(
                    connection,
                    "SET lock_timeout = %s; SELECT pg_advisory_lock(%s, %s); %s"
                            .formatted(patience.toMillis(), LOCK_CLASS, shard % LOCKS, IN_TIME));
            return true;
        } catch (SQLException e) {
            if (!LOCK_NOT_AVAILABLE.equals(e.getSQLState())) {
                throw e;
            }
            return false;
        }
    }

    void release(int shard) throws SQLException {
        Sql.call(connection, "SELECT pg_advisory_unlock(?, ?)", LOCK_CLASS, shard % LOCKS);
    }

    /** Records that a slice has left with the rows of these tables, and without those of others; its lock must be held. */
    void leave(int shard, Collection<String> tables) throws SQLException {
        Sql.update(connection, LEAVE, shard, array(tables));
    }

    /** Lets the connection's transaction write rows of a slice, whether it has left or not, without its lock: for one that is rolled back. */
    void passAs(int shard) throws SQLException {
        Sql.call(
                connection,
                "SELECT set_config('shardflake_adopt.entered', (txid_current() * %s + ?)::text, true)"
                        .formatted(SHARDS),
                shard);
    }

    /**
     * Lets a slice return, within the connection's transaction: this transaction can write the slice's rows immediately, and others once it
     * ends.
     */
    void comeBack(int shard) throws SQLException {
        int rows = Sql.update(
                connection,
                "UPDATE shardflake_adopt.slice SET over_since = NULL WHERE shard = ? AND over_since IS NOT NULL",
                shard);
        if (rows == 0) {
            throw new AdoptException("shard %s is in the old database already".formatted(shard));
        }
        Sql.update(
                connection,
                "UPDATE shardflake_adopt.adoption SET left_without = array_remove(left_without, ?) WHERE ? = ANY (left_without)",
                shard,
                shard);
    }
}
