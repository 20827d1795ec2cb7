/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.compare.ForeignKeys.ForeignKey;
import org.shardflake.jdbc.Sql;

/**
 * Brings shards that have left back to the old database, one by one. For one thread.
 *
 * <p>First all rows are read while the shard is in use. Then its server stops accepting writes, until the shard leaves again, and a single transaction of the old
 * database writes the rows that differ, compares them, and opens the slice again, so a failure leaves the old database unchanged.
 */
final class SliceReturn implements AutoCloseable {

    private static final String SILENCE = "SET LOCAL session_replication_role = replica";

    /** The number of times that a rehearsal of a shard is tried while others hold locks in the old database. */
    private static final int ATTEMPTS = 5;

    /**
     * Shardflake's own tables, which stay in the shards: effects of {@code sql --write} return with the rows, and values of lookups are claims
     * that the old database does not know.
     */
    private static final Set<String> STAYING = Set.of("shardflake_run", "shardflake_lookup", "shardflake_lookup_owner");

    /** @param parent the table that its rows get their keys from; null if they have them */
    private record Table(
            Adopter adopter,
            SliceRows rows,
            List<ForeignKey> keys,
            @Nullable SliceRows parent) {}

    private final Connection old;
    private final SliceFence slices;
    private final FencedShards fenced;
    private final AdoptListener listener;
    private final boolean mayBeClosed;
    private final List<Table> tables = new ArrayList<>();
    private final Set<String> names = new TreeSet<>();

    private SliceReturn(AdoptSession session, AdoptListener listener, boolean mayBeClosed) {
        this.old = session.old();
        this.slices = new SliceFence(old);
        this.fenced = new FencedShards(session);
        this.listener = listener;
        this.mayBeClosed = mayBeClosed;
    }

    /**
     * Prepares all tables, each after the tables that it gets its keys from. Changes nothing.
     *
     * @param mayBeClosed whether tables may be closed since all shards have left, which is enough for a rehearsal
     */
    static SliceReturn open(
            List<Routes.Placed> tables,
            AdoptSession session,
            DatabaseSettings settings,
            AdoptListener listener,
            boolean mayBeClosed)
            throws SQLException {
        SliceReturn all = new SliceReturn(session, listener, mayBeClosed);
        try {
            for (Routes.Placed placed : tables) {
                Adopter adopter = new Adopter(placed, session, settings.batchRows(), AdoptListener.NONE);
                try {
                    SliceRows rows = adopter.wayBack(mayBeClosed);
                    rows.check();
                    Route.Link link = placed.routed().route().link();
                    all.tables.add(new Table(
                            adopter, rows, rows.foreignKeys(), link == null ? null : all.rows(link.parent())));
                } catch (SQLException | RuntimeException e) {
                    adopter.close();
                    throw e;
                }
                all.names.add(adopter.into());
            }
            all.checkSilence();
            return all;
        } catch (SQLException | RuntimeException e) {
            all.close();
            throw e;
        }
    }

    private SliceRows rows(Route route) {
        return tables.stream()
                .map(Table::rows)
                .filter(its -> its.name().equals(route.table().name()))
                .findFirst()
                .orElseThrow();
    }

    /**
     * Checks that triggers can be kept from firing: rows return in another order than they were written in, and the old triggers already fired
     * for them, if at all, in the shards.
     */
    private void checkSilence() throws SQLException {
        try {
            Sql.execute(old, SILENCE.replace("LOCAL ", "") + "; SET session_replication_role = origin");
        } catch (SQLException e) {
            if (!Sql.isNotAllowed(e)) {
                throw e;
            }
            throw new AdoptRefusedException(
                    "this role may not set session_replication_role in the old database, so triggers and foreign keys would fire for rows that come back",
                    "be a superuser there, or since PostgreSQL 15: GRANT SET ON PARAMETER session_replication_role");
        }
        for (Table table : tables) {
            table.adopter().checkSilenced();
        }
    }

    /**
     * Brings shards back, and skips those that are there already.
     *
     * @throws AdoptRefusedException if the old tables cannot hold a row; its shard accepts writes as before, and those before it have come back
     */
    List<SliceReport> run(ShardSet shards) throws SQLException {
        fenced.settle(shards);
        Set<Integer> wanted = haveLeft(shards);
        List<SliceReport> reports = new ArrayList<>();
        for (Table table : wanted.isEmpty() ? List.<Table>of() : tables) {
            table.adopter().prepare();
            table.rows().remember(wanted);
        }
        for (int shard : wanted) {
            if (hasLookupValues(shard)) {
                listener.lookupValuesStay();
                break;
            }
        }
        for (int shard : wanted) {
            SliceReport report = bringBack(shard);
            listener.cameBack(report);
            reports.add(report);
        }
        return reports;
    }

    private Set<Integer> haveLeft(ShardSet shards) throws SQLException {
        TreeSet<Integer> wanted = new TreeSet<>(shards.stream().boxed().toList());
        wanted.retainAll(slices.over());
        return wanted;
    }

    /**
     * Does all that {@link #run} does with the rows of shards that have left, from one snapshot of each shard, and takes it back. The shards accept writes.
     * Continues after a shard that the old tables cannot hold.
     */
    ReturnRehearsal rehearse(ShardSet shards) throws SQLException {
        Set<Integer> wanted = haveLeft(shards);
        for (Table table : wanted.isEmpty() ? List.<Table>of() : tables) {
            table.rows().remember(wanted);
        }
        List<SliceReport> reports = new ArrayList<>();
        List<AdoptRefusedException> refusals = new ArrayList<>();
        long rows = 0;
        for (int shard : wanted) {
            try {
                SliceReport report = rehearse(shard);
                rows += rowsToWrite();
                listener.rehearsed(report);
                reports.add(report);
            } catch (AdoptRefusedException e) {
                refusals.add(e);
            } catch (SQLException e) {
                refusals.add(refused(shard, e).or(() -> notInTime(shard, e)).orElseThrow(() -> e));
            }
        }
        return new ReturnRehearsal(reports, rows, refusals, over());
    }

    private SliceReport rehearse(int shard) throws SQLException {
        for (int attempt = 1; ; attempt++) {
            readAhead(shard);
            long begun = System.nanoTime();
            readAgain(shard);
            refuseOtherTables(shard);
            try {
                writeAndTakeBack(shard);
                return new SliceReport(shard, Duration.ofNanos(System.nanoTime() - begun), attempt);
            } catch (SQLException e) {
                if (!Sql.isInTheWay(e) || attempt == ATTEMPTS) {
                    throw e;
                }
            }
        }
    }

    private static Optional<AdoptRefusedException> notInTime(int shard, SQLException failure) {
        return Sql.isInTheWay(failure)
                ? Optional.of(new AdoptRefusedException(
                        "shard %s was not rehearsed, since other transactions hold rows or tables of the old database: %s"
                                .formatted(shard, Sql.message(failure)),
                        "run the same command again"))
                : Optional.empty();
    }

    /**
     * Writes as {@link #write} does, and rolls back. Others hardly wait for this: they do not write rows of the slice, and this waits for
     * others shortly. The slice's own row is left alone, since {@code enter} may wait for it.
     */
    private void writeAndTakeBack(int shard) throws SQLException {
        try (Sql.Ending takenBack = Sql.rollingBack(old)) {
            Sql.execute(old, SILENCE + "; SET LOCAL lock_timeout = '3s'"); // Autovacuum gives way after a second.
            slices.passAs(shard);
            for (Table table : mayBeClosed ? differing() : List.<Table>of()) {
                table.adopter().letIn();
            }
            Sql.execute(old, "SET LOCAL lock_timeout = '200ms'");
            write(shard);
        }
    }

    /** The number of rows that differ from the shard that was read last. */
    private long rowsToWrite() throws SQLException {
        long rows = 0;
        for (List<Table> some :
                TableQuestions.groups(tables, table -> table.rows().isPartitioned())) {
            rows += Sql.number(
                    old,
                    some.stream().map(table -> table.rows().work()).collect(Collectors.joining(" + ", "SELECT ", "")));
        }
        return rows;
    }

    /** Whether the shard has rows that lookups find, or values of rows wherever they are, which no one can claim or release while it is back. */
    private boolean hasLookupValues(int shard) throws SQLException {
        Connection server = fenced.connection(shard);
        for (String values : List.of("_owner WHERE NOT is_void", " WHERE value <> ''")) {
            String table = Sharding.schema(shard) + ".shardflake_lookup";
            if (Sql.isTrue(server, "SELECT pg_catalog.to_regclass(?) IS NOT NULL", table)
                    && Sql.isTrue(server, "SELECT EXISTS (SELECT FROM %s%s)".formatted(table, values))) {
                return true;
            }
        }
        return false;
    }

    private SliceReport bringBack(int shard) throws SQLException {
        try {
            readAhead(shard);
            long begun = System.nanoTime();
            fenced.fence(shard);
            refuseOtherTables(shard);
            Sql.inTransaction(old, () -> {
                Sql.execute(old, SILENCE + "; SET LOCAL lock_timeout = '10s'");
                slices.comeBack(shard); // So that this transaction passes the fence.
                readAgain(shard);
                write(shard);
                return true;
            });
            return new SliceReport(shard, Duration.ofNanos(System.nanoTime() - begun), 1);
        } catch (SQLException e) {
            openAfter(shard, e);
            Optional<AdoptRefusedException> refusal = refused(shard, e);
            if (refusal.isPresent()) {
                throw refusal.get();
            }
            throw e;
        } catch (RuntimeException e) {
            openAfter(shard, e);
            throw e;
        }
    }

    /** Reads all rows of a shard, and then again what was written in the meantime, so that little is left. */
    private void readAhead(int shard) throws SQLException {
        for (Table table : tables) {
            table.rows().begin(shard);
            inSnapshot(shard, seen -> table.rows().read(shard, seen));
        }
        readAgain(shard);
        readAgain(shard);
    }

    /** Work in a transaction of a shard's server. */
    @FunctionalInterface
    private interface Reading {
        /** @param seen the first transaction that the snapshot may not see */
        void by(String seen) throws SQLException;
    }

    private void inSnapshot(int shard, Reading reading) throws SQLException {
        Connection server = fenced.connection(shard);
        Sql.inTransaction(server, () -> {
            Sql.execute(server, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY");
            reading.by(Sql.text(server, SliceRows.FIRST_UNSEEN));
            return true;
        });
    }

    /** Reads the tables of a shard whose rows have changed since they were read, all as they are at one moment. */
    private void readAgain(int shard) throws SQLException {
        inSnapshot(shard, seen -> {
            for (Table table :
                    matching(fenced.connection(shard), table -> table.rows().hasChanged(shard))) {
                table.rows().read(shard, seen);
            }
        });
    }

    /** The tables in which the shard has other rows, and those that get their keys from them: the others are left alone. */
    private List<Table> differing() throws SQLException {
        Set<Table> found = new HashSet<>(matching(old, table -> table.rows().hasWork()));
        List<Table> differing = new ArrayList<>();
        for (Table table : tables) {
            if (found.contains(table) || hasParent(differing, table)) {
                differing.add(table);
            }
        }
        return differing;
    }

    private List<Table> matching(Connection connection, TableQuestions.Condition<Table> condition) throws SQLException {
        return TableQuestions.matching(connection, tables, table -> table.rows().isPartitioned(), condition);
    }

    private static boolean hasParent(List<Table> some, Table child) {
        return some.stream().anyMatch(other -> other.rows() == child.parent());
    }

    private void write(int shard) throws SQLException {
        List<Table> differing = differing();
        for (Table table : differing) {
            table.rows().findLost(shard, hasParent(differing, table) ? table.parent() : null);
        }
        for (int i = differing.size() - 1; i >= 0; i--) {
            differing.get(i).rows().deleteGone();
        }
        for (Table table : differing) {
            table.rows().update(shard);
        }
        for (Table table : differing) {
            table.rows().insert(shard);
        }
        for (Table table : differing) {
            table.rows().compare(shard);
        }
        for (Table table : differing) {
            table.rows().checkForeignKeys(shard, table.keys());
        }
        Sql.execute(old, "SET CONSTRAINTS ALL IMMEDIATE");
    }

    /** Refuses rows of tables that the old database does not have. */
    private void refuseOtherTables(int shard) throws SQLException {
        Connection server = fenced.connection(shard);
        Map<String, String> others = new HashMap<>();
        Sql.list(
                server,
                "SELECT quote_ident(c.relname), c.oid::regclass::text FROM shardflake.fences(?) f JOIN pg_class c ON c.oid = COALESCE(pg_partition_root(f.target), f.target)",
                row -> others.put(row.getString(1), row.getString(2)),
                shard);
        others.keySet().removeAll(names);
        others.keySet().removeAll(STAYING);
        List<String> filled = new ArrayList<>();
        for (String other : others.values()) {
            if (Sql.isTrue(server, "SELECT EXISTS (SELECT FROM %s)".formatted(other))) {
                filled.add(other);
            }
        }
        if (!filled.isEmpty()) {
            throw new AdoptRefusedException(
                    "shard %s cannot come back: %s, which the plan has not, has rows"
                            .formatted(shard, filled.stream().sorted().collect(Collectors.joining(", "))),
                    "copy them elsewhere, and delete them in the shard");
        }
    }

    /** Makes the shard accept writes again, unless it has come back or may have: then the next command decides. */
    private void openAfter(int shard, Exception failure) {
        try {
            if (slices.over().contains(shard)) {
                fenced.open(shard);
            }
        } catch (SQLException e) {
            failure.addSuppressed(e);
        }
    }

    /** Turns an error of the old tables that is about data or the fence into a refusal. */
    private static Optional<AdoptRefusedException> refused(int shard, SQLException failure) {
        String state = String.valueOf(failure.getSQLState());
        if (!state.startsWith("22")
                && !state.startsWith("23")
                && !state.equals("55006")
                && !state.startsWith("P0")
                && !state.equals("SF001")) {
            return Optional.empty();
        }
        String what = Sql.message(failure);
        ServerErrorMessage server = failure instanceof PSQLException its ? its.getServerErrorMessage() : null;
        if (server != null && server.getDetail() != null) {
            what += ": " + server.getDetail();
        } else if (server != null && String.valueOf(server.getWhere()).startsWith("COPY ")) {
            what += ": " + String.valueOf(server.getWhere()).replaceFirst("^COPY [^,]*, line \\d+, ", "");
        }
        return Optional.of(
                new AdoptRefusedException(
                        "shard %s cannot come back, since the old tables refuse a row: %s".formatted(shard, what),
                        "change or delete the row in the shard, or let the old table take it; then run the same command again"));
    }

    /** The shards that have left and not come back. */
    ShardSet over() throws SQLException {
        return ShardSet.of(slices.over());
    }

    @Override
    public void close() {
        tables.forEach(table -> table.adopter().close());
    }
}
