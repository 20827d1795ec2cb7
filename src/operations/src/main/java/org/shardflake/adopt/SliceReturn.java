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
    private final List<Table> tables = new ArrayList<>();
    private final Set<String> names = new TreeSet<>();

    private SliceReturn(AdoptSession session, AdoptListener listener) {
        this.old = session.old();
        this.slices = new SliceFence(old);
        this.fenced = new FencedShards(session);
        this.listener = listener;
    }

    /** Prepares all tables, each after the tables that it gets its keys from. Changes nothing. */
    static SliceReturn open(
            List<Routes.Placed> tables, AdoptSession session, DatabaseSettings settings, AdoptListener listener)
            throws SQLException {
        SliceReturn all = new SliceReturn(session, listener);
        try {
            for (Routes.Placed placed : tables) {
                Adopter adopter = new Adopter(placed, session, settings.batchRows(), AdoptListener.NONE);
                try {
                    SliceRows rows = adopter.wayBack();
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
        TreeSet<Integer> wanted = new TreeSet<>(shards.stream().boxed().toList());
        wanted.retainAll(slices.over());
        List<SliceReport> reports = new ArrayList<>();
        if (wanted.isEmpty()) {
            return reports;
        }
        for (Table table : tables) {
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
            for (Table table : tables) {
                table.rows().begin(shard);
                table.rows().read(shard);
            }
            readAgain(shard); // What was written in the meantime, so that little is left for the pause.
            readAgain(shard);
            long begun = System.nanoTime();
            fenced.fence(shard);
            refuseOtherTables(shard);
            Sql.inTransaction(old, () -> {
                Sql.execute(old, SILENCE + "; SET LOCAL lock_timeout = '10s'");
                slices.comeBack(shard); // So that this transaction passes the fence.
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

    /** Reads the tables of a shard whose rows have changed since they were read. */
    private void readAgain(int shard) throws SQLException {
        List<String> questions = new ArrayList<>();
        for (Table table : tables) {
            questions.add("SELECT %s, c.* FROM (%s) c"
                    .formatted(questions.size(), table.rows().counts(shard)));
        }
        List<Table> changed = new ArrayList<>();
        Sql.list(fenced.connection(shard), String.join(" UNION ALL ", questions), row -> {
            Table table = tables.get(row.getInt(1));
            return table.rows().isRead(row.getLong(2), row.getLong(3)) || changed.add(table);
        });
        for (Table table : changed) {
            table.rows().read(shard);
        }
    }

    /** The tables in which the shard has other rows, and those that get their keys from them: the others are left alone. */
    private List<Table> differing() throws SQLException {
        List<String> questions = new ArrayList<>();
        for (Table table : tables) {
            questions.add("SELECT %s WHERE %s"
                    .formatted(questions.size(), table.rows().hasWork()));
        }
        Set<Integer> found = new HashSet<>(Sql.list(old, String.join(" UNION ALL ", questions), row -> row.getInt(1)));
        List<Table> differing = new ArrayList<>();
        for (int i = 0; i < tables.size(); i++) {
            Table table = tables.get(i);
            if (found.contains(i) || hasParent(differing, table)) {
                differing.add(table);
            }
        }
        return differing;
    }

    private static boolean hasParent(List<Table> some, Table child) {
        return some.stream().anyMatch(other -> other.rows() == child.parent());
    }

    private void write(int shard) throws SQLException {
        readAgain(shard);
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
        if (!state.startsWith("22") && !state.startsWith("23") && !state.equals("55006") && !state.startsWith("P0")) {
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
