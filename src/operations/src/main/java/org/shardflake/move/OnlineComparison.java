/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.shardflake.compare.DifferenceSearch.Difference;
import org.shardflake.compare.EqualCopies;
import org.shardflake.compare.Rows;
import org.shardflake.compare.Rows.Version;
import org.shardflake.compare.SnapshotPair;
import org.shardflake.compare.TableDifference;
import org.shardflake.jdbc.Sql;

/**
 * Compares a shard with the copy that follows it, while the shard is in use.
 *
 * <p>The follower is always slightly behind, so differing rows are checked again, on the follower only after it has received
 * everything that the leader had: a row that no transaction has written on the leader in between, and that still differs, really
 * differs.
 */
final class OnlineComparison implements AutoCloseable {

    private static final int ROUNDS = 20;

    /** The number of rounds before a cutover, which itself compares the rows that are still undecided. */
    private static final int FEW_ROUNDS = 3;

    private final Stream stream;
    private final Duration patience;
    private final MoveListener listener;
    private final SnapshotPair sessions;
    private final List<String> undecided = new ArrayList<>();
    private int rounds = ROUNDS;
    private @Nullable SnapshotPair again;

    OnlineComparison(Stream stream, Duration patience, MoveListener listener) throws SQLException {
        this.listener = listener;
        this.stream = stream;
        this.patience = patience;
        this.sessions = SnapshotPair.open(stream.publisher()::connect, stream.subscriber()::connect);
    }

    /**
     * Compares tables.
     *
     * @param first called when the first row is found that differs, before any other is looked for
     */
    List<TableDifference> compare(
            List<String> tables,
            TableDifference.Names names,
            TableDifference.Filter filter,
            TableDifference.First first)
            throws SQLException {
        see();
        return compare(tables, new HashMap<>(), names, filter, first);
    }

    /**
     * Compares the tables of a shard that is soon to be cut over.
     *
     * @param differences gets what differs
     * @return what the cutover need not compare again, if nothing differs
     */
    EqualCopies.Following compareBeforeCutover(
            List<String> tables,
            TableDifference.Names names,
            TableDifference.First first,
            List<TableDifference> differences)
            throws SQLException {
        rounds = FEW_ROUNDS;
        see();
        EqualCopies.Following following = EqualCopies.Following.begin(sessions.first(), sessions.second(), tables);
        differences.addAll(compare(tables, following.rows(), names, TableDifference.Filter.ALL, first));
        sessions.reset(); // Their snapshots are not needed for the cutover.
        return following;
    }

    /** Records the leader's current rows, which the follower will have later. */
    private void see() throws SQLException {
        see(sessions.first());
        catchUp();
        see(sessions.second());
    }

    private List<TableDifference> compare(
            List<String> tables,
            Map<String, Rows> known,
            TableDifference.Names names,
            TableDifference.Filter filter,
            TableDifference.First first)
            throws SQLException {
        List<TableDifference> differences = new ArrayList<>();
        for (String table : tables) {
            Rows rows = Rows.of(sessions.first(), sessions.second(), table);
            known.put(table, rows);
            TableDifference.Filter lasting = some -> confirm(rows, some);
            TableDifference.findCounting(sessions.first(), sessions.second(), rows, names, lasting.and(filter), first)
                    .ifPresent(differences::add);
        }
        return differences;
    }

    /** The tables with rows that changed at every check. */
    List<String> undecided() {
        return undecided;
    }

    /** The versions of a row on both servers. */
    private record Seen(@Nullable Version leader, @Nullable Version follower) {}

    private List<Difference> confirm(Rows rows, List<Difference> suspects) throws SQLException {
        if (again == null) {
            again = SnapshotPair.open(stream.publisher()::connect, stream.subscriber()::connect);
        }
        Connection leader = again.first();
        Connection follower = again.second();
        Map<String, Optional<Seen>> doubtful = new LinkedHashMap<>();
        suspects.forEach(suspect -> doubtful.put(suspect.key(), Optional.empty()));
        List<Difference> confirmed = new ArrayList<>();
        for (int round = 0; round < rounds && !doubtful.isEmpty(); round++) {
            Set<String> keys = Set.copyOf(doubtful.keySet());
            see(leader);
            Map<String, Version> before = rows.withKeys(leader, keys);
            catchUp();
            see(follower);
            Map<String, Version> there = rows.withKeys(follower, keys);
            see(leader);
            Map<String, Version> after = rows.withKeys(leader, keys);
            for (String key : keys) {
                if (!Objects.equals(before.get(key), after.get(key))) {
                    doubtful.put(key, Optional.empty());
                    continue;
                }
                Seen seen = new Seen(before.get(key), there.get(key));
                Long ours = hash(seen.leader());
                Long theirs = hash(seen.follower());
                if (Objects.equals(ours, theirs)) {
                    doubtful.remove(key);
                } else if (ours != null || Optional.of(seen).equals(doubtful.get(key))) {
                    // A row that is not there may have been there in between; its copy would then be gone by the next
                    // check.
                    confirmed.add(new Difference(key, ours, theirs));
                    doubtful.remove(key);
                } else {
                    doubtful.put(key, Optional.of(seen));
                }
            }
        }
        again.reset();
        if (!doubtful.isEmpty() && !undecided.contains(rows.name())) {
            undecided.add(rows.name());
        }
        return confirmed;
    }

    private static @Nullable Long hash(@Nullable Version version) {
        return version == null ? null : version.hash();
    }

    private static void see(Connection connection) throws SQLException {
        connection.rollback();
        Sql.call(connection, "SELECT 1");
    }

    private void catchUp() throws SQLException {
        stream.await(patience, listener);
    }

    @Override
    public void close() {
        if (again != null) {
            again.close();
        }
        sessions.close();
    }
}
