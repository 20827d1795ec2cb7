/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.toList;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.shardflake.ShardSet;
import org.shardflake.Sharding;
import org.shardflake.compare.DifferenceSearch;
import org.shardflake.compare.DifferenceSearch.Difference;
import org.shardflake.compare.Rows;
import org.shardflake.compare.TableDifference;
import org.shardflake.jdbc.Sql;

/**
 * The comparison of one old table with the shards while the table accepts writes. For one thread at a time.
 *
 * <p>The shards are always a little behind, so rows that differ are only suspects at first. After the journal has been carried out, a
 * snapshot of the old database says what a suspect is and whether it has changes in the journal. If it has none, the shards have been
 * given what it is, and nobody brings them anything before they are read: if they have something else now, the row really differs.
 */
final class SliceComparison {

    /** The maximum number of suspects kept from a search. */
    private static final int SUSPECTS = 100_000;

    /** The maximum number of suspects for all tables together; each table may keep a few beyond that. */
    private static final int SUSPECTS_OF_ALL = 500_000;

    private static final int FEW = 1_000;

    /** The maximum number of differing rows that are named. */
    private static final int NAMED = 1_000;

    /** The number of rows in one statement. */
    private static final int ROWS_AT_A_TIME = 500;

    private final AtomicInteger ofAll;
    private final TreeMap<Integer, Set<Suspect>> suspects = new TreeMap<>();
    private final Map<Integer, Found> found = new TreeMap<>();
    private final TreeSet<Integer> unsearched = new TreeSet<>();
    private long named;
    private long rows;
    private int shards;

    /** @param ofAll how many suspects the comparisons of all tables keep */
    SliceComparison(AtomicInteger ofAll) {
        this.ofAll = ofAll;
    }

    /** A row that may differ, as the text of its primary key, in PostgreSQL's format for rows, and the key's values. */
    private record Suspect(String text, List<String> key) implements Comparable<Suspect> {

        static Suspect of(Difference difference) {
            List<String> values = difference.keyValues();
            // The first value is the shard, a number.
            return new Suspect(
                    "(" + difference.key().substring(difference.key().indexOf(',') + 1),
                    List.copyOf(values.subList(1, values.size())));
        }

        @Override
        public int compareTo(Suspect other) {
            return text.compareTo(other.text);
        }
    }

    /** The rows of one shard that differ. */
    private static final class Found {

        private final Set<String> missing = new TreeSet<>();
        private final Set<String> extra = new TreeSet<>();
        private final Set<String> different = new TreeSet<>();
        private long count;
        private boolean isPart;

        TableDifference of(String table) {
            boolean areAll = !isPart && count == missing.size() + extra.size() + different.size();
            return new TableDifference(table, missing, extra, different, areAll ? 0 : count);
        }
    }

    /**
     * Searches for rows that differ, and keeps them as suspects, as many as memory has room for. One pass over all rows is enough where none does: those with
     * changes in the journal are suspects from the start, and left out.
     */
    void search(
            Adoption adoption,
            OldTable old,
            ShardServers servers,
            Rows all,
            List<Column> primaryKey,
            Set<Integer> wanted)
            throws SQLException {
        unsearched.clear();
        unsearched.addAll(Sql.inTransaction(old.connection(), () -> {
            Sql.execute(old.connection(), "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
            return differing(adoption, old, servers, all, primaryKey, wanted);
        }));
        unsearched.removeAll(found.keySet()); // Or their rows would be counted again.
        for (ShardTables server : servers.all()) {
            List<Integer> its =
                    unsearched.stream().filter(server.shards()::contains).toList();
            for (List<Integer> some : ShardTables.inParts(its)) {
                search(
                        new DifferenceSearch(
                                old.connection(),
                                server.connection(),
                                old.slices(all, some),
                                server.slices(all, some, primaryKey)),
                        old,
                        server,
                        some);
            }
        }
    }

    /** The shards whose rows differ, but for the suspects. */
    private Collection<Integer> differing(
            Adoption adoption,
            OldTable old,
            ShardServers servers,
            Rows all,
            List<Column> primaryKey,
            Set<Integer> wanted)
            throws SQLException {
        List<String> noted = adoption.state() == AdoptState.FINISHED ? List.of() : old.noted(adoption, SUSPECTS);
        List<List<String>> pending = noted.size() == SUSPECTS
                ? List.of()
                : noted.stream().map(key -> Suspect.of(difference(key)).key()).toList();
        SliceDigests digests = SliceDigests.of(
                old,
                servers,
                all,
                wanted,
                pending.isEmpty()
                        ? SliceDigests.Pending.NONE
                        : new SliceDigests.Pending(adoption, pending, primaryKey));
        rows = digests.rows();
        shards = digests.found().size();
        for (int from = 0; from < pending.size(); from += ROWS_AT_A_TIME) {
            List<List<String>> some = pending.subList(from, Math.min(from + ROWS_AT_A_TIME, pending.size()));
            rows += suspect(old.present(some, primaryKey), wanted);
        }
        for (ShardTables server : servers.all()) {
            suspect(server.present(wanted, pending, primaryKey), wanted);
        }
        return digests.differing();
    }

    /** Takes rows as suspects that belong to some shards; returns their number. */
    private int suspect(List<String> keys, Set<Integer> wanted) {
        List<Difference> its = keys.stream()
                .map(SliceComparison::difference)
                .filter(row -> wanted.contains(shard(row)))
                .toList();
        suspect(its);
        return its.size();
    }

    private static Difference difference(String key) {
        return new Difference(key, null, null);
    }

    /** The shard of a row, -1 or empty if it has none. */
    private static int shard(Difference row) {
        String shard = row.keyValues().get(0);
        return shard.isEmpty() ? -1 : Integer.parseInt(shard);
    }

    private void search(DifferenceSearch search, OldTable old, ShardTables server, List<Integer> some)
            throws SQLException {
        if (isFull()) {
            return;
        }
        boolean areAll = Sql.inTransaction(
                old.connection(),
                () -> Sql.inTransaction(
                        server.connection(), () -> search.run(this::suspect).isEmpty()));
        if (areAll) {
            some.forEach(unsearched::remove);
        }
    }

    private boolean suspect(List<Difference> some) {
        for (Difference difference : some) {
            if (suspects.computeIfAbsent(shard(difference), first -> new TreeSet<>())
                    .add(Suspect.of(difference))) {
                ofAll.incrementAndGet();
            }
        }
        return !isFull();
    }

    private boolean isFull() {
        long its = suspects();
        return its >= SUSPECTS || (its >= FEW && ofAll.get() >= SUSPECTS_OF_ALL);
    }

    private long suspects() {
        return suspects.values().stream().mapToLong(Set::size).sum();
    }

    /** Whether there are suspects. */
    boolean isDoubtful() {
        return !suspects.isEmpty();
    }

    /** Whether no difference was found, but only part of the table was searched. */
    boolean isUnfinished() {
        return !unsearched.isEmpty() && found.isEmpty() && suspects.isEmpty();
    }

    /** Whether rows of a shard are suspects. */
    boolean isDoubtful(int shard) {
        return suspects.containsKey(shard);
    }

    /** Whether some rows of a shard were not searched because there were too many suspects. */
    boolean isUnsearched(int shard) {
        return unsearched.contains(shard);
    }

    /** The number of rows of a shard that are known to differ. */
    long differing(int shard) {
        Found its = found.get(shard);
        return its == null ? 0 : its.count;
    }

    /** Rechecks all suspects. The journal must have been carried out, and only this session may bring rows. */
    void check(Adoption adoption, OldTable old, ShardServers servers, Rows all, List<Column> primaryKey)
            throws SQLException {
        check(adoption, old, servers, all, primaryKey, List.copyOf(suspects.keySet()));
    }

    /** Rechecks the suspects of some shards. */
    void check(
            Adoption adoption,
            OldTable old,
            ShardServers servers,
            Rows all,
            List<Column> primaryKey,
            List<Integer> shardsToCheck)
            throws SQLException {
        List<Placed> its = new ArrayList<>();
        for (int shard : shardsToCheck) {
            Set<Suspect> those = suspects.remove(shard);
            if (those != null) {
                those.forEach(suspect -> its.add(new Placed(shard, suspect)));
            }
        }
        ofAll.addAndGet(-its.size());
        for (int from = 0; from < its.size(); from += ROWS_AT_A_TIME) {
            List<Placed> some = its.subList(from, Math.min(from + ROWS_AT_A_TIME, its.size()));
            OldTable.Moment moment = old.moment(adoption, keys(some), primaryKey, all);
            for (List<Placed> ofShard : some.stream()
                    .collect(groupingBy(Placed::shard, TreeMap::new, toList()))
                    .values()) {
                int shard = ofShard.get(0).shard();
                Map<List<String>, Long> there = servers.ofShard(shard).hashes(shard, keys(ofShard), primaryKey, all);
                for (Placed one : ofShard) {
                    decide(shard, one.suspect(), moment, there);
                }
            }
        }
    }

    /** A suspect in one shard. */
    private record Placed(int shard, Suspect suspect) {}

    private static List<List<String>> keys(List<Placed> some) {
        return some.stream().map(one -> one.suspect().key()).distinct().toList();
    }

    private void decide(int shard, Suspect suspect, OldTable.Moment moment, Map<List<String>, Long> there) {
        Long wanted = hash(moment, shard, suspect);
        Long is = there.get(suspect.key());
        boolean isElsewhere = wanted == null && is == null; // Whatever is still to be brought of it.
        if (isElsewhere || !moment.pending().contains(suspect.key())) {
            decide(shard, suspect, wanted, is);
        } else if (suspects.computeIfAbsent(shard, first -> new TreeSet<>()).add(suspect)) {
            ofAll.incrementAndGet();
        }
    }

    /** The hash of a row if it belongs to the shard. */
    private static @Nullable Long hash(OldTable.Moment moment, int shard, Suspect suspect) {
        OldTable.Hashed row = moment.rows().get(suspect.key());
        return row == null || row.shard() != shard ? null : row.hash();
    }

    private void decide(int shard, Suspect suspect, @Nullable Long wanted, @Nullable Long is) {
        if (Objects.equals(wanted, is)) {
            return;
        }
        Found its = found.computeIfAbsent(shard, first -> new Found());
        its.count++;
        if (named++ < NAMED || its.count == 1) {
            (wanted == null ? its.extra : is == null ? its.missing : its.different).add(suspect.text());
        }
    }

    /**
     * The result.
     *
     * @param withoutShard the primary keys of some rows that have no shard
     */
    TableComparison result(String table, String into, List<String> withoutShard) {
        TreeSet<Integer> undecided = new TreeSet<>(suspects.keySet());
        Map<Integer, TableDifference> differences = new HashMap<>();
        for (int shard : unsearched) {
            Found its = found.get(shard);
            if (its == null) {
                undecided.add(shard);
            } else {
                its.isPart = true;
            }
        }
        found.forEach((shard, its) -> differences.put(shard, its.of(Sharding.schema(shard) + "." + into)));
        return new TableComparison(
                table,
                into,
                rows,
                shards,
                new TreeMap<>(differences),
                ShardSet.of(new ArrayList<>(undecided)),
                withoutShard);
    }
}
