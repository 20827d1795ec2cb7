/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import static java.util.stream.Collectors.joining;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.shardflake.Server;
import org.shardflake.ShardMap;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Sql;
import org.shardflake.server.ServerUrl;

/**
 * Brings the rows of one table into the shards. It takes writes meanwhile; {@link #finish} ends that, brings the last changes over
 * and compares everything. For one thread.
 *
 * <p>Rows keep their ids. Nothing fires in the shards for them: no trigger, no check of foreign keys, so tables can be adopted in
 * any order.
 */
public final class Adopter implements AutoCloseable {

    private static final int DIFFERENCES = 1000;

    private static final int NOT_COMPARED = -1;

    /** How often rows may be found to clash, each time for others written meanwhile. */
    private static final int CLASHES = 20;

    private final AdoptSettings settings;
    private final ShardMap map;
    private final AdoptListener listener;
    private final Connection connection;
    private final List<ShardTables> servers = new ArrayList<>();
    private final ShardTables[] serverOfShard;
    private final ExecutorService threads;
    private final TableFacts table;
    private final TableFacts shardTable;
    private final Column key;
    private final OldTable old;
    private final Journal journal;
    private long changes;

    private Adopter(
            AdoptSettings settings,
            Connection connection,
            ShardMap map,
            Function<Server, ServerUrl> urls,
            AdoptListener listener)
            throws SQLException {
        this.settings = settings;
        this.map = map;
        this.listener = listener;
        this.connection = connection;
        this.serverOfShard = new ShardTables[map.sharding().shardCount()];
        this.threads = Executors.newCachedThreadPool(Adopter::daemon);
        Sql.execute(connection, Rows.SETTINGS);
        Sql.execute(connection, "SET standard_conforming_strings = on; SET row_security = off");
        this.table = TableFacts.find(connection, settings.table())
                .orElseThrow(() -> new AdoptRefusedException(
                        "there is no table %s".formatted(settings.table()), "name it with its schema: app.photo"));
        TableChecks.checkKind(table);
        this.key = table.column(settings.key())
                .orElseThrow(() -> new AdoptRefusedException(
                        "table %s has no column %s".formatted(table.name(), settings.key()),
                        "its columns are "
                                + table.columns().stream().map(Column::name).collect(joining(", "))));
        KeyExpression expression = KeyExpression.of(key, map.sharding());
        this.old = new OldTable(connection, table, expression);
        this.journal = new Journal(connection, table);
        connectServers(urls);
        this.shardTable = findShardTable();
    }

    /**
     * Connects to the old database and to all servers of the map. Changes nothing.
     *
     * @param oldDatabase where the table is, and where the progress is recorded; the login owns the table
     * @param urls how to reach a server of the map; the login may set {@code session_replication_role}
     * @throws AdoptRefusedException if the tables are not such that the rows of one can live in the others
     */
    public static Adopter open(
            AdoptSettings settings,
            ServerUrl oldDatabase,
            ShardMap map,
            Function<Server, ServerUrl> urls,
            AdoptListener listener)
            throws SQLException {
        Connection connection = oldDatabase.connect("shardflake adopt");
        try {
            return new Adopter(settings, connection, map, urls, listener);
        } catch (SQLException | RuntimeException e) {
            connection.close();
            throw e;
        }
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "shardflake adopt");
        thread.setDaemon(true);
        return thread;
    }

    private void connectServers(Function<Server, ServerUrl> urls) throws SQLException {
        String quoted = Sql.text(connection, "SELECT quote_ident(?)", settings.into());
        for (Server server : map.servers()) {
            if (map.shards(server).isEmpty()) {
                continue;
            }
            ShardTables tables = new ShardTables(
                    server.name(), urls.apply(server).connect("shardflake adopt"), map.shards(server), quoted);
            servers.add(tables);
            tables.shards().stream().forEach(shard -> serverOfShard[shard] = tables);
        }
    }

    private TableFacts findShardTable() throws SQLException {
        for (ShardTables server : servers) {
            List<String> missing = server.missing();
            if (!missing.isEmpty()) {
                throw new AdoptRefusedException(
                        "%d shards on %s have no table %s, %s for one"
                                .formatted(missing.size(), server.server(), settings.into(), missing.get(0)),
                        "create it on all shards with shardflake schema deploy");
            }
        }
        ShardTables first = servers.get(0);
        return TableFacts.find(
                        first.connection(),
                        first.table(first.shards().stream().findFirst().orElseThrow()))
                .orElseThrow();
    }

    /** What would be done. Checks everything and changes nothing. */
    public AdoptPlan plan() throws SQLException {
        TableChecks checks = new TableChecks(table, shardTable, key);
        checks.checkColumns();
        checks.checkKeyIsNeverNull(connection);
        checks.checkNewIdsAreAbove(connection, map.layout());
        if (journal.find().isEmpty()) {
            refuseFilled();
        }
        return new AdoptPlan(
                table.name(),
                settings.into(),
                map.sharding().shardCount(),
                table.estimatedRows(),
                columns().stream().map(Column::name).toList(),
                checks.warnings());
    }

    private void refuseFilled() throws SQLException {
        for (ShardTables server : servers) {
            List<Integer> filled = server.filled();
            if (!filled.isEmpty()) {
                throw new AdoptRefusedException(
                        "%s has rows in %d shards on %s already, shard %d for one"
                                .formatted(settings.into(), filled.size(), server.server(), filled.get(0)),
                        "adopted rows might replace them; empty these tables first");
            }
        }
    }

    private List<Column> columns() {
        return table.stored().stream()
                .filter(column ->
                        !shardTable.column(column.name()).orElseThrow().generated())
                .toList();
    }

    /** Copies what is not copied yet, and brings over what has changed. The table goes on taking writes. */
    public AdoptReport run() throws SQLException {
        Adoption adoption = beginOrGoOn();
        if (adoption.state() == AdoptState.FINISHED) {
            return report(adoption, NOT_COMPARED);
        }
        copy(adoption);
        catchUp(adoption);
        return report(find(), NOT_COMPARED);
    }

    /**
     * Does what {@link #run} does, then ends writes to the table, brings the last changes over and compares all rows.
     *
     * @throws RowsDifferException if shards do not have the rows they are to have; the table takes writes again
     */
    public AdoptReport finish() throws SQLException {
        Adoption adoption = beginOrGoOn();
        if (adoption.state() == AdoptState.FINISHED) {
            return report(adoption, NOT_COMPARED);
        }
        copy(adoption);
        catchUp(adoption);
        if (find().state() != AdoptState.CLOSED) {
            journal.close(adoption);
        }
        listener.closed(table.name());
        bringOver(adoption, Long.MAX_VALUE);
        long rows = compare(adoption);
        journal.finish(adoption);
        return report(find(), rows);
    }

    /**
     * Ends the adoption before it is finished: removes the rows from the shards and all traces from the old database, whose table takes
     * writes again if it did not.
     */
    public AdoptReport cancel() throws SQLException {
        lock();
        Adoption adoption = journal.find()
                .orElseThrow(() -> new AdoptRefusedException(
                        "%s is not being adopted".formatted(table.name()), "there is nothing to cancel"));
        if (adoption.state() == AdoptState.FINISHED) {
            throw new AdoptRefusedException(
                    "%s has been adopted, and the shards may have newer rows".formatted(table.name()),
                    "to write to the old table again, drop its trigger shardflake_adopt_closed by hand");
        }
        refuseOther(adoption);
        onAllServers(ShardTables::clear);
        journal.remove(adoption);
        return new AdoptReport(
                table.name(),
                settings.into(),
                AdoptState.CANCELLED,
                map.sharding().shardCount(),
                0,
                0,
                NOT_COMPARED);
    }

    private Adoption beginOrGoOn() throws SQLException {
        lock();
        plan();
        Optional<Adoption> begun = journal.find();
        begun.ifPresent(this::refuseOther);
        List<Column> columns = columns();
        for (ShardTables server : servers) {
            server.prepare(columns);
        }
        return begun.isPresent() ? begun.get() : journal.begin(settings.into(), KeyExpression.of(key, map.sharding()));
    }

    private Adoption find() throws SQLException {
        return journal.find().orElseThrow();
    }

    private void refuseOther(Adoption adoption) {
        boolean same = adoption.into().equals(settings.into())
                && adoption.key().equals(key.name())
                && adoption.shardCount() == map.sharding().shardCount();
        if (!same) {
            throw new AdoptRefusedException(
                    "%s is being adopted into %s by its %s, over %d shards"
                            .formatted(table.name(), adoption.into(), adoption.key(), adoption.shardCount()),
                    "go on with these, or cancel it with these first");
        }
    }

    /** Until the connection ends. */
    private void lock() throws SQLException {
        String lock = "SELECT pg_try_advisory_lock(hashtextextended('shardflake adopt ' || ?, 0))";
        if (!Sql.isTrue(connection, lock, table.name())) {
            throw new AdoptRefusedException(
                    "another run is adopting %s just now".formatted(table.name()), "wait for it, or stop it");
        }
    }

    private void copy(Adoption adoption) throws SQLException {
        if (adoption.state() != AdoptState.COPYING) {
            return;
        }
        @Nullable List<String> copiedTo = adoption.copiedTo();
        long rows = adoption.copiedRows();
        List<String> upTo = old.endOfBatch(copiedTo, settings.batchRows());
        while (upTo != null) {
            rows += copyBatch(adoption, copiedTo, upTo);
            copiedTo = upTo;
            journal.copied(adoption, copiedTo, rows);
            listener.copied(rows, Math.max(rows, table.estimatedRows()));
            upTo = old.endOfBatch(copiedTo, settings.batchRows());
        }
        journal.allCopied(adoption);
    }

    /** A row that was copied before may have a value that it has not any more, and one of the batch has got. */
    private long copyBatch(Adoption adoption, @Nullable List<String> after, List<String> upTo) throws SQLException {
        for (int attempt = 1; ; attempt++) {
            try {
                long rows = old.read(after, upTo, this::stage);
                merge();
                return rows;
            } catch (SQLException e) {
                retryAfterClash(e, attempt);
                bringOver(adoption, old.notedChanges(adoption));
            }
        }
    }

    /** Until little is left, or more comes than goes while the table takes writes. */
    private void catchUp(Adoption adoption) throws SQLException {
        long left = old.notedChanges(adoption);
        long before;
        do {
            bringOver(adoption, left);
            before = left;
            left = old.notedChanges(adoption);
        } while (left > settings.batchRows() && left < before / 2);
    }

    /** Brings so many changes over, or all there are if they are fewer. */
    private void bringOver(Adoption adoption, long limit) throws SQLException {
        long left = limit;
        int attempt = 1;
        while (left > 0) {
            try {
                long taken = takeChanges(adoption);
                if (taken == 0) {
                    return;
                }
                changes += taken;
                left -= taken;
                attempt = 1;
            } catch (SQLException e) {
                retryAfterClash(e, attempt);
                attempt++;
            }
            listener.followed(changes);
        }
    }

    /** What a row was given up for another one to have is noted by then; or else it is no clash of that kind. */
    private void retryAfterClash(SQLException failure, int attempt) throws SQLException {
        if (!"23505".equals(failure.getSQLState()) || attempt == CLASHES) {
            throw failure;
        }
        for (ShardTables server : servers) {
            server.forget();
        }
    }

    /** Changes leave the journal when the shards have them. */
    private long takeChanges(Adoption adoption) throws SQLException {
        return Sql.inTransaction(connection, () -> {
            long taken = old.takeChanges(adoption, settings.batchRows(), this::stage);
            merge();
            return taken;
        });
    }

    private void stage(int shard, byte[] line) throws SQLException {
        serverOfShard[shard].stage(shard, line);
    }

    private void merge() throws SQLException {
        List<Column> columns = columns();
        List<Column> primaryKey = table.primaryKey().stream()
                .map(name -> table.column(name).orElseThrow())
                .toList();
        onAllServers(server -> server.merge(columns, primaryKey));
    }

    private long compare(Adoption adoption) throws SQLException {
        List<Connection> all =
                new ArrayList<>(servers.stream().map(ShardTables::connection).toList());
        all.add(connection);
        Rows rows = Rows.of(
                all,
                servers.get(0)
                        .table(servers.get(0).shards().stream().findFirst().orElseThrow()),
                columns().stream().map(Column::name).toList());
        Map<Integer, Rows.Digest> found = new ConcurrentHashMap<>();
        Future<Map<Integer, Rows.Digest>> wanted = threads.submit(() -> old.digests(rows));
        onAllServers(server -> found.putAll(server.digests(rows)));
        List<String> differences = differences(await(wanted), found);
        if (!differences.isEmpty()) {
            journal.open(adoption);
            throw new RowsDifferException(table.name(), differences);
        }
        return found.values().stream().mapToLong(Rows.Digest::count).sum();
    }

    private static List<String> differences(Map<Integer, Rows.Digest> wanted, Map<Integer, Rows.Digest> found) {
        Rows.Digest none = new Rows.Digest(0, "0");
        return found.keySet().stream()
                .sorted()
                .filter(shard -> !Objects.equals(found.get(shard), wanted.getOrDefault(shard, none)))
                .limit(DIFFERENCES)
                .map(shard -> {
                    long is = found.getOrDefault(shard, none).count();
                    long was = wanted.getOrDefault(shard, none).count();
                    return is == was
                            ? "shard %d has other values".formatted(shard)
                            : "shard %d has %,d rows, not %,d".formatted(shard, is, was);
                })
                .toList();
    }

    @FunctionalInterface
    private interface Work {
        void on(ShardTables server) throws SQLException;
    }

    private void onAllServers(Work work) throws SQLException {
        List<Future<?>> all = new ArrayList<>();
        for (ShardTables server : servers) {
            all.add(threads.submit(() -> {
                work.on(server);
                return null;
            }));
        }
        for (Future<?> one : all) {
            await(one);
        }
    }

    private static <T> T await(Future<T> work) throws SQLException {
        try {
            return work.get();
        } catch (ExecutionException e) {
            if (e.getCause() instanceof SQLException sql) {
                throw sql;
            }
            if (e.getCause() instanceof RuntimeException runtime) {
                throw runtime;
            }
            throw new IllegalStateException("work on a server failed", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AdoptException("interrupted", e);
        }
    }

    private AdoptReport report(Adoption adoption, long comparedRows) {
        return new AdoptReport(
                table.name(),
                settings.into(),
                adoption.state(),
                map.sharding().shardCount(),
                adoption.copiedRows(),
                changes,
                comparedRows);
    }

    @Override
    public void close() throws SQLException {
        threads.shutdown();
        for (ShardTables server : servers) {
            server.close();
        }
        connection.close();
    }
}
