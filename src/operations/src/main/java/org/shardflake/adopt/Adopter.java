/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.Sharding;
import org.shardflake.compare.ForeignKeys;
import org.shardflake.compare.ForeignKeys.ForeignKey;
import org.shardflake.compare.Rows;
import org.shardflake.jdbc.Plural;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.OpenAdoptions;
import org.shardflake.move.OpenAdoptions.OpenAdoption;
import org.shardflake.sql.AdvisoryLock;

/**
 * Adopts one table of a {@link DatabaseAdopter}, over a session that is shared with the others. For one thread.
 *
 * <p>Rows keep their ids. Nothing fires in the shards for them: no trigger, no check of foreign keys, so tables can be adopted in
 * any order.
 */
final class Adopter implements AutoCloseable {

    private static final int NOT_COMPARED = -1;

    /** Limit on conflicts of rows once all outstanding changes have been brought over together. */
    private static final int CLASHES = 20;

    /** SQLSTATEs of a row that conflicts with another: unique key, exclusion constraint. */
    private static final Set<String> CLASH = Set.of("23505", "23P01");

    private final int batchRows;
    private final AdoptSession session;
    private final UUID installation;
    private final OpenAdoptions open;
    private final ShardMap map;
    private final AdoptListener listener;
    private final Connection connection;
    private final ShardServers servers;
    private final TableFacts table;
    private final String into;
    private final Column key;
    private final Route route;
    private final TableChecks checks;
    private final List<Column> shardColumns;
    private final OldTable old;
    private final ChangeJournal journal;
    private final Set<Integer> over = new HashSet<>();
    private final Map<String, List<ForeignKey>> foreignKeys = new HashMap<>();
    private boolean isLocked;
    private long changes;

    /**
     * A table's route to the shards, and the routes of the tables that get their shard from it.
     *
     * @param children the routes of adopted tables whose rows have the keys of this one's
     */
    record Routed(Route route, List<Route> children) {}

    /**
     * Looks at the table in all shards. Changes nothing.
     *
     * @throws AdoptRefusedException if a shard has no such table, or would react to rows that are brought there
     */
    Adopter(Routes.Placed placed, AdoptSession session, int batchRows, AdoptListener listener) throws SQLException {
        this.batchRows = batchRows;
        this.session = session;
        this.installation = session.installation();
        this.open = session.open();
        this.map = session.map();
        this.listener = listener;
        this.connection = session.old();
        this.into = placed.into();
        this.servers = new ShardServers(session, into);
        try {
            TableFacts shardTable = servers.table();
            this.route = placed.routed().route();
            this.table = route.table();
            this.key = route.key().key();
            this.journal = new ChangeJournal(connection, table);
            this.checks = new TableChecks(table, shardTable, key, map.sharding());
            List<Column> columns = checks.broughtOver();
            this.shardColumns = columns.stream()
                    .map(column -> shardTable.column(column.name()).orElseThrow())
                    .toList();
            this.old = new OldTable(connection, route, columns, placed.routed().children());
            SliceFence fence = new SliceFence(connection);
            over.addAll(fence.over(table.name()));
            Set<Integer> fenced = fence.fenced();
            servers.all().forEach(server -> server.admit(fenced));
        } catch (SQLException | RuntimeException e) {
            servers.close();
            throw e;
        }
    }

    /** Looks up a table of the old database that can be adopted. */
    static TableFacts find(String name, AdoptSession session) throws SQLException {
        TableFacts found = facts(name, session)
                .orElseThrow(() -> new AdoptRefusedException(
                        "there is no table %s in %s".formatted(name, session.database()),
                        "name it with its schema, as in app.photo, and the database that has it"));
        TableChecks.checkKind(session.old(), found);
        return found;
    }

    private static Optional<TableFacts> facts(String name, AdoptSession session) throws SQLException {
        try {
            return TableFacts.find(session.old(), name, session.searchPath());
        } catch (SQLException e) {
            if (!Sql.isNotAllowed(e)) {
                throw e;
            }
            throw new AdoptRefusedException(
                    "role %s may not look at %s: %s"
                            .formatted(Sql.text(session.old(), "SELECT current_user"), name, Sql.message(e)),
                    "GRANT USAGE ON SCHEMA of the table to this role; it has to own the table, too");
        }
    }

    /**
     * Describes the adoption. Checks everything and changes nothing.
     *
     * @throws AdoptRefusedException if the table's rows cannot live in the shards' tables
     */
    AdoptPreview plan() {
        return Sql.translating(() -> {
            TableChecks.checkRights(connection, table.name());
            TableChecks.checkPartitions(connection, table);
            TableChecks.checkPrimaryKey(connection, table);
            checks.checkColumns();
            checks.checkNulls(connection);
            if (journal.find().isEmpty()) {
                checks.checkKeys(connection);
            }
            checks.checkLargeObjects(connection);
            checks.checkNewIdsAreAbove(connection, map.layout());
            open.check(table.name());
            Optional<Adoption> begun = journal.find();
            begun.ifPresent(this::refuseOther);
            checks.checkKey();
            if (begun.isEmpty()) {
                refuseFilled();
            }
            List<String> warnings = new ArrayList<>(checks.warnings());
            foreignIds()
                    .ifPresent(id -> warnings.add(
                            "the check that %s contains the shard is lifted for %s, since old ids do not contain it"
                                    .formatted(id.name(), into)));
            return new AdoptPreview(
                    table.name(),
                    into,
                    map.sharding().shardCount(),
                    table.estimatedRows(),
                    shardColumns.stream().map(Column::name).toList(),
                    warnings);
        });
    }

    private Optional<Column> foreignIds() throws SQLException {
        List<String> checked = servers.all().get(0).checkedColumns();
        checks.checkUid(checked);
        return checks.idThatIsNotOfItsShard(connection, checked, route.shard("t"));
    }

    private void refuseFilled() throws SQLException {
        for (ShardTables server : servers.all()) {
            List<Integer> filled = server.filled();
            if (!filled.isEmpty()) {
                throw new AdoptRefusedException(
                        "%s has rows in %s on %s already, shard %s for one"
                                .formatted(into, Plural.of(filled.size(), "shard"), server.server(), filled.get(0)),
                        "adopted rows might replace them; empty these tables first");
            }
        }
    }

    private void refuseOther(Adoption adoption) {
        if (!adoption.installation().equals(installation)) {
            throw new AdoptRefusedException(
                    "%s is being adopted into the shards of another installation".formatted(table.name()),
                    "name that one's catalog; its id is %s, and this one's %s"
                            .formatted(adoption.installation(), installation));
        }
        boolean same = adoption.into().equals(into)
                && adoption.key().equals(route.description())
                && adoption.shardCount() == map.sharding().shardCount();
        if (!same) {
            throw new AdoptRefusedException(
                    "%s is being adopted into %s by its %s, over %s"
                            .formatted(
                                    table.name(),
                                    adoption.into(),
                                    adoption.key(),
                                    Plural.of(adoption.shardCount(), "shard")),
                    Advice.of("continue with these, or cancel with these first: %s", another(adoption)));
        }
    }

    /** The command that continues an adoption which another command line began. */
    private Object another(Adoption adoption) {
        return table.column(adoption.key()).isPresent()
                ? CliCommand.ADOPT_RUN.ofTables(List.of(table.name()), adoption.key(), adoption.into())
                : "name the plan that it began with";
    }

    /** Allows moves to begin again. */
    void forgetFinished() throws SQLException {
        UUID mark = journal.find().orElseThrow().mark();
        if (mark != null) {
            open.end(mark);
        }
    }

    /** Leaves a table that could not be opened again as it was: finished, and no obstacle to moves. */
    void leaveFinished() throws SQLException {
        if (isFinished()) {
            forgetFinished();
        }
    }

    /** Checks that the shards have no newer rows than the table, and keeps moves from starting. */
    void checkReopen() throws SQLException {
        Adoption adoption = record(requireBegun());
        boolean hasStayed = over.size() < map.sharding().shardCount();
        if (adoption.state() == AdoptState.FINISHED && hasStayed) {
            List<String> differences = digests(comparison(), remaining()).describe();
            if (!differences.isEmpty()) {
                throw RowsDifferException.newer(table.name(), differences);
            }
        }
    }

    void openAgain() throws SQLException {
        Adoption adoption = requireBegun();
        if (adoption.state() == AdoptState.FINISHED || adoption.state() == AdoptState.CLOSED) {
            journal.open(adoption);
        }
    }

    /** Refuses to cancel while the shards have rows that this adoption did not copy. */
    void checkOthers() throws SQLException {
        Adoption adoption = checkCancel();
        BroughtRows brought = new BroughtRows(old, shardKey(), comparison(), checks.compared());
        refuseOthers(brought::findOthers, adoption, "nothing was changed");
    }

    String name() {
        return table.name();
    }

    /** The name of the table in the shards, in SQL without a schema. */
    String into() {
        return servers.all().get(0).table();
    }

    /** Refuses roles that fences would stop: shards that have come back stay fenced, but have to receive rows. */
    void checkSilenced() throws SQLException {
        for (ShardTables server : servers.all()) {
            if (!server.isSilenced()) {
                throw new AdoptRefusedException(
                        "this role may not set session_replication_role on %s, and could not bring changes to a shard that has come back"
                                .formatted(server.server()),
                        "GRANT SET ON PARAMETER session_replication_role there");
            }
        }
    }

    /** The number of changes that this object has brought over. */
    long changes() {
        return changes;
    }

    /**
     * Cancels an unfinished adoption: reopens the table for writes if it was closed, removes the rows that the adoption brought to the shards,
     * restores the checks that it lifted, and removes all traces from the old database.
     *
     * @throws AdoptRefusedException if the shards have rows that it did not bring, or that someone has changed since; nothing was
     *     changed
     */
    AdoptReport cancel() {
        return Sql.translating(() -> {
            Adoption adoption = record(checkCancel());
            BroughtRows brought = new BroughtRows(old, shardKey(), comparison(), checks.compared());
            servers.lock(table.name());
            isLocked = true;
            refuseOthers(brought::findOthers, adoption, "nothing was changed");
            refuseReferring();
            journal.beginAgain(adoption);
            refuseOthers(brought::delete, adoption, "others wrote them just now");
            restore(adoption);
            open.end(Objects.requireNonNull(adoption.mark()));
            journal.remove(adoption);
            return new AdoptReport(
                    table.name(), into, AdoptState.CANCELLED, map.sharding().shardCount(), 0, 0, NOT_COMPARED);
        });
    }

    @FunctionalInterface
    private interface Sift {
        void on(ShardTables server, List<Long> transactions, BroughtRows.Others others) throws SQLException;
    }

    private void refuseOthers(Sift sift, Adoption adoption, String state) throws SQLException {
        BroughtRows.Others others = new BroughtRows.Others();
        for (ShardTables server : servers.all()) {
            sift.on(server, journal.written(adoption, server.transactionScope()), others);
        }
        if (others.count() > 0) {
            throw new AdoptRefusedException(
                    String.format(
                            Locale.ROOT,
                            "the shards have %s of %s that adopt did not bring, or that someone has changed since: %s; %s",
                            Plural.of(others.count(), "row"),
                            into,
                            others.samples(),
                            state),
                    "they would be lost: save what is needed of them, delete them in the shards, and run the same command again");
        }
    }

    /** Restores the checks of ids. */
    private void restore(Adoption adoption) throws SQLException {
        for (ShardTables.IdCheck check : journal.lifted(adoption)) {
            servers.ofShard(check.shard()).restore(check);
        }
    }

    /** Refuses an adoption that cannot be cancelled. */
    Adoption checkCancel() {
        return Sql.translating(() -> {
            Adoption adoption = requireBegun();
            if (adoption.state() == AdoptState.FINISHED) {
                throw new AdoptRefusedException(
                        "%s has been adopted, and the shards may have newer rows".formatted(table.name()),
                        Advice.of(
                                "if nothing has been written to them, %s makes the table take writes again; then cancel",
                                CliCommand.ADOPT_RUN_REOPEN));
            }
            Set<Integer> left = new SliceFence(connection).over(table.name());
            if (!left.isEmpty()) {
                throw new AdoptRefusedException(
                        "%s left the old database, and may have newer rows"
                                .formatted(Plural.shards(ShardSet.of(left), "has", "have")),
                        Advice.of(
                                "to cancel would lose their rows: bring the shards back first, with %s",
                                CliCommand.ADOPT_REVERSE));
            }
            return adoption;
        });
    }

    private Adoption requireBegun() throws SQLException {
        Adoption adoption = journal.find()
                .orElseThrow(() -> new AdoptRefusedException(
                        "%s is not being adopted".formatted(table.name()),
                        Advice.of("begin with %s", CliCommand.ADOPT_RUN)));
        refuseOther(adoption);
        return adoption;
    }

    boolean isFinished() throws SQLException {
        Optional<Adoption> begun = journal.find();
        begun.ifPresent(this::refuseOther);
        boolean finished = begun.filter(adoption -> adoption.state() == AdoptState.FINISHED)
                .isPresent();
        if (finished && !journal.isClosed()) {
            throw new AdoptRefusedException(
                    "%s was adopted, and has been made to take writes again by other means".formatted(table.name()),
                    "what was written to it since is not in the shards: copy it by hand, and close the table with ALTER TABLE ... ENABLE ALWAYS TRIGGER shardflake_adopt_closed");
        }
        return finished;
    }

    /** Begins without the checks, or continues. */
    Adoption begin() throws SQLException {
        Optional<Adoption> begun = journal.find();
        Adoption adoption = begun.isPresent() ? begun.get() : journal.begin(installation, into, route);
        try {
            adoption = record(adoption);
        } catch (ShardflakeException e) {
            if (begun.isEmpty()) {
                journal.remove(adoption);
            }
            throw e;
        }
        Optional<Column> foreignIds = foreignIds();
        if (foreignIds.isPresent()) {
            lift(adoption, foreignIds.get());
        }
        return adoption;
    }

    /** Prepares this session to bring over rows of the table, and makes sure that no other session does. */
    Adoption prepare() throws SQLException {
        servers.lock(table.name());
        isLocked = true;
        Adoption adoption = requireBegun();
        old.prepare(adoption);
        for (ShardTables server : servers.all()) {
            server.prepare(adoption.id(), shardColumns);
        }
        return adoption;
    }

    /** Records the adoption in the catalog, which keeps moves from starting. */
    private Adoption record(Adoption adoption) throws SQLException {
        Adoption complete = journal.complete(adoption);
        open.begin(new OpenAdoption(
                Objects.requireNonNull(complete.mark()), table.name(), session.database(), into, Instant.now()));
        return complete;
    }

    /** Lifts the checks in all shards or in none, after recording them in the journal for a run that follows a kill. */
    private void lift(Adoption adoption, Column id) throws SQLException {
        List<ShardTables.IdCheck> all = new ArrayList<>();
        for (ShardTables server : servers.all()) {
            all.addAll(server.idChecks(id));
        }
        journal.lifts(adoption, all);
        try {
            for (ShardTables.IdCheck check : all) {
                servers.ofShard(check.shard()).lift(check);
            }
        } catch (SQLException e) {
            for (ShardTables.IdCheck check : all) {
                try {
                    servers.ofShard(check.shard()).restore(check);
                } catch (SQLException another) {
                    e.addSuppressed(another);
                }
            }
            throw e;
        }
    }

    /** Takes a table's lock, which is held until the connection ends; the server may notice the end a moment later. */
    static void lock(Connection connection, String table) throws SQLException {
        Optional<String> holder = new AdvisoryLock("shardflake adopt " + table).take(connection, Duration.ofSeconds(5));
        if (holder.isPresent()) {
            throw new AdoptRefusedException(
                    "another run is adopting %s just now: %s holds its lock".formatted(table, holder.get()),
                    "wait for it, or stop it");
        }
    }

    private JournalTriggers triggers(Adoption adoption) {
        return new JournalTriggers(connection, journal, table, adoption.id());
    }

    /** Whether the journal may lack changes, since someone has changed its triggers. */
    boolean mayLackRows() throws SQLException {
        return triggers(requireBegun()).mayLackRows();
    }

    /** Has all rows copied again, and those that are gone looked for. */
    void copyAgain() throws SQLException {
        triggers(requireBegun()).copyAgain();
    }

    /** Notes the rows that have come or gone with partitions, or without a trace. The adoption is prepared. */
    Adoption followPartitions(Adoption adoption) throws SQLException {
        triggers(adoption).follow(new JournalTriggers.Moved() {
            @Override
            public void came(String partition) throws SQLException {
                old.noteRows(adoption, partition);
            }

            @Override
            public void went() throws SQLException {
                old.noteGone(adoption, servers, over);
            }
        });
        return adoption;
    }

    /**
     * Refuses a partition that has come or gone in the last moment.
     *
     * @throws AdoptException if one has
     */
    void requireSamePartitions(Adoption adoption) throws SQLException {
        if (table.isPartitioned() && triggers(adoption).areChanged()) {
            throw new AdoptException(
                    "partitions of %s have just come or gone; run the same command again".formatted(table.name()));
        }
    }

    /** Copies rows in batches, up to the first one that is not full: rows added later are recorded as changes. */
    void copy(Adoption given) throws SQLException {
        List<String> repaired = triggers(given).repair();
        if (!repaired.isEmpty()) {
            listener.repaired(repaired, !over.isEmpty());
        }
        Adoption adoption = followPartitions(requireBegun());
        if (adoption.state() != AdoptState.COPYING) {
            return;
        }
        @Nullable List<String> copiedTo = adoption.copiedTo();
        long rows = adoption.copiedRows();
        boolean more = true;
        while (more) {
            OldTable.Batch batch = old.nextBatch(copiedTo, batchRows);
            if (batch != null) {
                rows += copyBatch(adoption, copiedTo, batch.end());
                copiedTo = batch.end();
                journal.copied(adoption, copiedTo, rows);
                recordWritten(adoption);
                listener.copied(rows, Math.max(rows, table.estimatedRows()));
                followPartitions(adoption);
            }
            more = batch != null && !batch.isLast();
        }
        journal.allCopied(adoption);
    }

    /**
     * Copies a batch, and brings over changes first if a row copied earlier still holds a unique value that now belongs to a row of this batch.
     */
    private long copyBatch(Adoption adoption, @Nullable List<String> after, List<String> upTo) throws SQLException {
        boolean areKept = false;
        for (int attempt = 1; ; attempt++) {
            try (Sql.Ending ending = servers::forget) {
                OldTable.Read read = old.read(after, upTo, stageRemaining(adoption));
                if (read.others() > 0 && !areKept) {
                    // Then read once more: a row that loses its shard after it was looked for here is in the journal.
                    old.keepWaiting(adoption, after, upTo);
                    areKept = true;
                    servers.forget();
                    read = old.read(after, upTo, stageRemaining(adoption));
                }
                merge();
                return read.rows();
            } catch (SQLException e) {
                retryAfterClash(e, attempt);
                bringOver(adoption, old.notedChanges(adoption));
            }
        }
    }

    /** Brings over changes until few are left, or until they arrive faster than they are brought over while the table accepts writes. */
    void catchUp(Adoption adoption) throws SQLException {
        // A partition that goes before it is on record would leave its rows in the shards.
        followPartitions(adoption);
        old.retryWaiting(adoption);
        long left = old.notedChanges(adoption);
        long before;
        do {
            bringOver(adoption, left);
            before = left;
            left = old.notedChanges(adoption);
        } while (left > batchRows && left < before / 2);
    }

    /** Brings over all changes of a table that refuses writes, including those of rows that had no shard. */
    void bringAllOver(Adoption adoption) throws SQLException {
        followPartitions(adoption);
        old.retryWaiting(adoption);
        bringOver(adoption, Long.MAX_VALUE);
    }

    /** Refuses to continue while rows have no shard. */
    void refuseWaiting() throws SQLException {
        List<String> some = old.waiting(requireBegun(), 3);
        if (!some.isEmpty()) {
            throw TableChecks.withoutShard(
                    table.name(), some.stream().map("(%s)"::formatted).toList());
        }
    }

    /**
     * Brings over this many changes, or all if there are fewer. When two rows clash, the change of one may be far behind that of the
     * other, so after a clash more are taken at a time, eventually all.
     */
    private void bringOver(Adoption adoption, long limit) throws SQLException {
        long left = limit;
        long atATime = batchRows;
        int attempt = 1;
        while (left > 0) {
            try {
                long taken = takeChanges(adoption, atATime);
                if (taken == 0) {
                    return;
                }
                changes += taken;
                left -= taken;
                atATime = batchRows;
                attempt = 1;
            } catch (SQLException e) {
                retryAfterClash(e, attempt);
                attempt += atATime >= old.notedChanges(adoption) ? 1 : 0;
                atATime *= 4;
            }
            listener.followed(changes);
        }
    }

    private static void retryAfterClash(SQLException failure, int attempt) throws SQLException {
        if (!CLASH.contains(String.valueOf(failure.getSQLState())) || attempt == CLASHES) {
            throw failure;
        }
    }

    /** Removes changes from the journal once the shards have them. */
    private long takeChanges(Adoption adoption, long limit) throws SQLException {
        return take(adoption, () -> old.takeChanges(adoption, limit, stage(adoption)));
    }

    private long take(Adoption adoption, Sql.Work<Long> changesOfRows) throws SQLException {
        try (Sql.Ending ending = servers::forget) {
            return Sql.inTransaction(connection, () -> {
                long taken = changesOfRows.run();
                merge();
                recordWritten(adoption);
                return taken;
            });
        }
    }

    private void recordWritten(Adoption adoption) throws SQLException {
        for (ShardTables server : servers.all()) {
            List<Long> transactions = server.takeWritten();
            if (!transactions.isEmpty()) {
                journal.written(adoption, server.transactionScope(), transactions);
            }
        }
    }

    /** Copies rows of all shards but those that have left, when the others are copied again. */
    private OldTable.RowReceiver stageRemaining(Adoption adoption) {
        OldTable.RowReceiver stage = stage(adoption);
        return (shard, line) -> {
            if (!over.contains(shard)) {
                stage.row(shard, line);
            }
        };
    }

    /** Receives rows for the servers; while rows are read, no connection involved can do anything else. */
    private OldTable.RowReceiver stage(Adoption adoption) {
        return (shard, line) -> {
            if (!over.contains(shard)) {
                servers.ofShard(shard).stage(shard, line);
            } else if (!OldTable.isGone(line)) {
                throw new AdoptException(
                        ShardflakeException.Kind.VERIFICATION,
                        "a row of %s was written in the old database after its shard %s had left that: %s"
                                .formatted(table.name(), shard, new String(line, StandardCharsets.UTF_8).strip()),
                        "something bypassed the fence; write the row to the shard by hand, and delete its lines from shardflake_adopt.changes_%s"
                                .formatted(adoption.id()));
            }
        };
    }

    /** Stops bringing rows to a shard, which has left the old database. */
    void leave(int shard) {
        over.add(shard);
    }

    /** Brings over everything that has been committed. */
    void bringRest(Adoption adoption) throws SQLException {
        if (table.isPartitioned()) {
            followPartitions(adoption);
        }
        bringNoted(adoption);
    }

    private void bringNoted(Adoption adoption) throws SQLException {
        old.retryWaiting(adoption);
        boolean isBrought = old.notedChanges(adoption) == 0;
        for (int attempt = 1; !isBrought; attempt++) {
            try {
                // One statement takes them all: the order of the lines is not the order of the commits.
                changes += takeChanges(adoption, Long.MAX_VALUE);
                isBrought = true;
            } catch (SQLException e) {
                retryAfterClash(e, attempt);
            }
        }
    }

    /** SQL for whether {@link #bringRest(Adoption)} has anything to do. */
    String hasRest(Adoption adoption) {
        return table.isPartitioned() ? "true" : old.isNoted(adoption);
    }

    /**
     * SQL for whether {@link #bringRest(Adoption, int)} has anything to do.
     *
     * @param shard in SQL
     * @param since a transaction, in SQL: changes of earlier ones were looked at already
     */
    String hasRest(Adoption adoption, String shard, String since) throws SQLException {
        return old.isNoted(adoption, shard, since);
    }

    /**
     * Brings over everything committed to the rows of one shard, which no one may write to until this returns. Changes of others may stay in
     * the journal.
     */
    void bringRest(Adoption adoption, int shard) throws SQLException {
        if (route.mayLackShard()) {
            old.retryWaiting(adoption);
        }
        try {
            changes += take(adoption, () -> old.takeChanges(adoption, shard, stage(adoption)));
        } catch (SQLException e) {
            retryAfterClash(e, 1);
            bringNoted(adoption); // The row that it clashes with may have left that shard, by a change of another.
        }
    }

    /** Searches some shards for rows that may differ. */
    void search(SliceComparison comparison, Rows rows, Set<Integer> shards) throws SQLException {
        comparison.search(requireBegun(), old, servers, rows, shardKey(), shards);
    }

    /** The shards that have not left the old database. */
    private Set<Integer> remaining() {
        return IntStream.range(0, map.sharding().shardCount())
                .filter(shard -> !over.contains(shard))
                .boxed()
                .collect(Collectors.toSet());
    }

    private SliceDigests digests(Rows rows, Set<Integer> shards) throws SQLException {
        return SliceDigests.of(old, servers, rows, shards, SliceDigests.Pending.NONE);
    }

    /** Rechecks the rows that may differ. */
    void check(SliceComparison comparison, Rows rows) throws SQLException {
        comparison.check(requireBegun(), old, servers, rows, shardKey());
    }

    /**
     * Refuses a shard with rows that are known to differ.
     *
     * @throws RowsDifferException if it has such rows
     */
    void requireEqual(SliceComparison comparison, int shard) {
        long differing = comparison.differing(shard);
        if (differing > 0) {
            throw new RowsDifferException(
                    table.name(),
                    List.of("shard %s has %s"
                            .formatted(
                                    shard,
                                    Plural.of(differing, "row") + (differing == 1 ? " that differs" : " that differ"))),
                    List.of());
        }
    }

    /**
     * Decides about the rows of a shard that accept no more changes: checks the rows that differed earlier if they are known, otherwise all
     * rows.
     *
     * @throws RowsDifferException if any differ
     */
    void compare(Adoption adoption, SliceComparison comparison, Rows rows, int shard) throws SQLException {
        if (!comparison.isUnsearched(shard) && comparison.isDoubtful(shard)) {
            comparison.check(adoption, old, servers, rows, shardKey(), List.of(shard));
        }
        requireEqual(comparison, shard);
        if (comparison.isUnsearched(shard) || comparison.isDoubtful(shard)) {
            compare(rows, shard);
        }
    }

    /** Compares the rows of one shard by reading the whole table. */
    private void compare(Rows rows, int shard) throws SQLException {
        SliceDigests digests = digests(rows, Set.of(shard));
        if (!digests.differing().isEmpty()) {
            throw new RowsDifferException(table.name(), digests.describe(), List.of());
        }
    }

    /** Makes a closed table accept writes of the transaction. */
    void letIn() throws SQLException {
        journal.letIn();
    }

    /**
     * The table's rows for the way back from the shards.
     *
     * @param mayBeClosed whether the table may be closed since all shards have left
     */
    SliceRows wayBack(boolean mayBeClosed) throws SQLException {
        Adoption adoption = journal.complete(requireBegun());
        if (adoption.state() == AdoptState.FINISHED && !mayBeClosed) {
            throw new AdoptRefusedException(
                    "the adoption is finished, and not by shards that left one by one",
                    Advice.of(
                            "while nothing was written to the shards, %s opens it again", CliCommand.ADOPT_RUN_REOPEN));
        }
        if (adoption.state() != AdoptState.FOLLOWING && !mayBeClosed) {
            throw new AdoptRefusedException(
                    "no shard has left %s".formatted(table.name()),
                    Advice.of("shards leave by %s", CliCommand.ADOPT_CUTOVER));
        }
        checks.checkColumns();
        List<String> only = checks.onlyInShards();
        if (!only.isEmpty()) {
            throw new AdoptRefusedException(
                    "%s has no column %s, which %s has in the shards: its values would be lost"
                            .formatted(table.name(), String.join(", ", only), into),
                    "add it to the old table, or drop it in the shards");
        }
        List<Column> columns = checks.broughtBack().stream()
                .filter(column -> route.link() == null || !column.name().equals(key.name()))
                .toList();
        return new SliceRows(
                connection, route, adoption.id(), columns, servers, comparison(), checks.isPartitionedInShards());
    }

    private void merge() throws SQLException {
        List<Column> primaryKey = shardKey();
        servers.onAll(server -> server.merge(shardColumns, primaryKey));
    }

    /** The primary key's columns, as the shards define them. */
    private List<Column> shardKey() {
        return table.primaryKey().stream()
                .map(name -> shardColumns.stream()
                        .filter(column -> column.name().equals(name))
                        .findFirst()
                        .orElseThrow())
                .toList();
    }

    Rows comparison() throws SQLException {
        return comparison(checks.compared());
    }

    private Rows comparison(List<String> columns) throws SQLException {
        List<Connection> all = new ArrayList<>(
                servers.all().stream().map(ShardTables::connection).toList());
        all.add(connection);
        return Rows.of(all, servers.example(), columns);
    }

    long compare(Rows rows) throws SQLException {
        SliceDigests digests = digests(rows, remaining());
        if (!digests.differing().isEmpty()) {
            throw new RowsDifferException(table.name(), digests.describe(), computedOnly());
        }
        return digests.rows();
    }

    /** Refuses a table that is not followed. */
    void checkFollowing() throws SQLException {
        if (isFinished()) {
            throw new AdoptRefusedException(
                    "%s has been adopted: no shard is in the old database".formatted(table.name()),
                    Advice.of("%s lets the table take writes again", CliCommand.ADOPT_RUN_REOPEN));
        }
        checkCopied();
    }

    /** Refuses to compare a table whose rows are still being copied, or have all left as shards. */
    void checkCopied() throws SQLException {
        AdoptState state = requireBegun().state();
        if (state == AdoptState.COPYING) {
            throw new AdoptRefusedException(
                    "rows of %s are still to be copied".formatted(table.name()),
                    Advice.of("copy them first: %s", CliCommand.ADOPT_RUN));
        }
        if (isFinished() && !over.isEmpty()) {
            throw new AdoptRefusedException(
                    "all shards have left the old database, and may have newer rows",
                    Advice.of("each was compared when it left; %s brings them back", CliCommand.ADOPT_REVERSE));
        }
        checks.checkColumns();
        JournalTriggers.require(connection, List.of(requireBegun().id()));
    }

    /** Searches for rows that may differ. */
    void search(SliceComparison comparison) throws SQLException {
        search(comparison, comparison(), remaining());
    }

    /** Rechecks the rows that may differ. */
    void check(SliceComparison comparison) throws SQLException {
        comparison.check(requireBegun(), old, servers, comparison(), shardKey());
    }

    /** Some of the rows without a shard; the journal must be empty. */
    List<String> waiting(int limit) throws SQLException {
        return old.waiting(requireBegun(), limit);
    }

    /**
     * Checks foreign keys; a key to a table that is still being adopted is checked with the table that is finished last.
     *
     * @param finished the tables in the shards that are being finished now
     */
    void checkForeignKeys(Set<String> finished) throws SQLException {
        Set<String> unfinished = tablesBeingAdopted();
        unfinished.removeAll(finished);
        List<ForeignKeys.Rows> broken = broken(
                key -> !unfinished.contains(key.table()) && (key.isOutside() || !unfinished.contains(key.referred())));
        ForeignKeys.lines(broken, key -> !key.isValid()).forEach(listener::brokenForeignKey);
        refuseBroken(broken);
    }

    /**
     * Checks the references to reference tables; writes need not stop for that.
     *
     * @throws BrokenForeignKeysException if they lack rows
     */
    void checkReferences() throws SQLException {
        refuseBroken(broken(key -> key.isOutside() && key.table().equals(into)));
    }

    /**
     * Checks the foreign keys of one shard's table.
     *
     * @param changed the tables that had other rows when the keys were checked before
     * @throws BrokenForeignKeysException if rows break one that is to hold for all rows
     */
    void checkForeignKeys(int shard, Set<String> changed) throws SQLException {
        refuseBroken(broken(shard, key -> changed.contains(into) || changed.contains(key.referred())));
    }

    /** Whether the rows of one shard's table keep its foreign keys. Those of tables that have been written to since they were brought may be there without the rows that they refer to. */
    boolean keepForeignKeys(int shard) throws SQLException {
        return broken(shard, key -> true).isEmpty();
    }

    private List<ForeignKeys.Rows> broken(int shard, Predicate<ForeignKey> chosen) throws SQLException {
        ShardTables server = servers.ofShard(shard);
        String schema = Sharding.schema(shard);
        return ForeignKeys.broken(
                server.connection(),
                foreignKeys(server).stream()
                        .filter(key -> key.isValid()
                                && key.schema().equals(schema)
                                && key.table().equals(into)
                                && chosen.test(key))
                        .toList());
    }

    private List<ForeignKey> foreignKeys(ShardTables server) throws SQLException {
        List<ForeignKey> keys = foreignKeys.get(server.server());
        if (keys == null) {
            keys = server.foreignKeys();
            foreignKeys.put(server.server(), keys);
        }
        return keys;
    }

    private List<ForeignKeys.Rows> broken(Predicate<ForeignKey> chosen) throws SQLException {
        List<ForeignKeys.Rows> broken = Collections.synchronizedList(new ArrayList<>());
        servers.onAll(server -> broken.addAll(ForeignKeys.broken(
                server.connection(),
                server.foreignKeys().stream().filter(chosen).toList())));
        return broken;
    }

    private void refuseBroken(List<ForeignKeys.Rows> broken) {
        List<String> lines = ForeignKeys.lines(broken, ForeignKey::isValid);
        if (!lines.isEmpty()) {
            boolean toReference = broken.stream()
                    .map(ForeignKeys.Rows::key)
                    .filter(ForeignKey::isValid)
                    .allMatch(ForeignKey::isOutside);
            throw new BrokenForeignKeysException(table.name(), lines, toReference);
        }
    }

    private Set<String> tablesBeingAdopted() {
        Set<String> tables =
                open.list().stream().map(OpenAdoption::into).collect(Collectors.toCollection(HashSet::new));
        tables.remove(into);
        return tables;
    }

    /** Refuses to remove rows that rows of other tables refer to. */
    private void refuseReferring() throws SQLException {
        Set<String> adopted = tablesBeingAdopted();
        List<ForeignKeys.Rows> inUse = Collections.synchronizedList(new ArrayList<>());
        servers.onAll(server -> inUse.addAll(ForeignKeys.inUse(
                server.connection(),
                server.foreignKeys().stream()
                        .filter(key -> key.referred().equals(into)
                                && !key.table().equals(into)
                                && !adopted.contains(key.table()))
                        .toList())));
        List<String> lines = ForeignKeys.lines(inUse, key -> true);
        if (!lines.isEmpty()) {
            throw new AdoptRefusedException(
                    "rows of others refer to those of %s, by %s; nothing was changed"
                            .formatted(into, String.join("; ", lines)),
                    "delete these rows in the shards, or cancel the adoption that brought them, and run the same command again");
        }
    }

    /** The columns that differ only because the shards compute them. */
    private List<String> computedOnly() throws SQLException {
        List<String> broughtOver = shardColumns.stream().map(Column::name).toList();
        List<String> computed = checks.compared().stream()
                .filter(name -> !broughtOver.contains(name))
                .toList();
        boolean othersAgree = !computed.isEmpty()
                && digests(comparison(broughtOver), remaining()).differing().isEmpty();
        return othersAgree ? computed : List.of();
    }

    AdoptReport report(long comparedRows) throws SQLException {
        Adoption adoption = journal.find().orElseThrow();
        return new AdoptReport(
                table.name(),
                into,
                adoption.state(),
                map.sharding().shardCount(),
                adoption.copiedRows(),
                changes,
                comparedRows);
    }

    @Override
    public void close() {
        servers.close();
        if (isLocked) {
            Sql.translating(() -> servers.unlock(table.name()));
        }
    }
}
