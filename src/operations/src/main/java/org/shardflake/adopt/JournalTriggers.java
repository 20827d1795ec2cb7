/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.adopt;

import static java.util.stream.Collectors.toSet;

import java.sql.Array;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.jdbc.Sql;

/**
 * The triggers of an adoption, which someone else can disable or drop, and the partitions that have them. Rows that were written without the journal's
 * trigger, or that came and went with a partition, are not in the journal.
 *
 * <p>PostgreSQL creates triggers on rows for each partition, and drops them when the partition is detached. One that is attached again has others. So
 * the trigger of each partition is on record, and tells whether the partition has belonged to the table all the time.
 */
final class JournalTriggers {

    /** The oid on record for rows that may have gone without a trace. */
    private static final long ANY = 0;

    /** The triggers that are not as they should be. Statements on a partition fire its own trigger, which only a partition on record must have. */
    private static final String WRONG = """
            SELECT c.oid::regclass::text, w.name, w.enabled, coalesce(t.tgenabled::text, '')
              FROM shardflake_adopt.adoption a
             CROSS JOIN LATERAL (SELECT to_regclass(a.source)) s (root)
             CROSS JOIN LATERAL (SELECT s.root UNION SELECT p.relid FROM pg_partition_tree(s.root) p) r (relation)
              JOIN pg_class c ON c.oid = r.relation
             CROSS JOIN LATERAL (VALUES ('shardflake_adopt_note', 'A'), ('shardflake_adopt_truncate', 'A'),
                                        ('shardflake_adopt_closed', CASE WHEN a.state IN ('CLOSED', 'FINISHED') THEN 'A' ELSE 'D' END),
                                        ('zz_shardflake_adopt_fence', 'A'), ('zz_shardflake_adopt_fenced', 'A')) w (name, enabled)
              LEFT JOIN pg_trigger t ON t.tgrelid = c.oid AND t.tgname = w.name::name
             WHERE a.id = ANY (?) AND t.tgenabled::text IS DISTINCT FROM w.enabled
               AND (t.oid IS NOT NULL
                    OR w.name IN ('shardflake_adopt_note', 'shardflake_adopt_closed')
                    OR w.name = 'shardflake_adopt_truncate' AND (c.oid = s.root
                       OR EXISTS (SELECT FROM shardflake_adopt.partition p WHERE p.adoption = a.id AND p.relation = c.oid)))
             ORDER BY 1, 2
            """;

    private static final String PARTITIONS = """
            SELECT p.relid::oid::bigint, coalesce(t.oid, 0::oid)::bigint FROM pg_partition_tree(to_regclass(?)) p
              LEFT JOIN pg_trigger t ON t.tgrelid = p.relid AND t.tgname = 'shardflake_adopt_note'
             WHERE p.isleaf AND p.level > 0
            """;

    private static final String RECORDED =
            "SELECT relation::bigint, trigger::bigint FROM shardflake_adopt.partition WHERE adoption = ?";

    /** The tables among these that have no trigger, or have it although they are no partitions any more. */
    private static final String TRUNCATABLE = """
            SELECT c.oid::regclass::text FROM pg_class c
             WHERE c.oid = ANY (?::oid[]) AND ? <> EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'shardflake_adopt_truncate')
            """;

    /**
     * A partition that has rows.
     *
     * @param trigger the oid of its trigger for the journal
     */
    private record Partition(long relation, long trigger) {}

    /**
     * A trigger that is not as the adoption has created it.
     *
     * @param wanted {@code A} or {@code D}, as in {@code pg_trigger.tgenabled}
     * @param is the same, empty if there is none
     */
    private record Wrong(String table, String name, String wanted, String is) {

        /** Whether rows may have been written that the journal should have. */
        boolean mayLackRows() {
            return name.equals("shardflake_adopt_note") || name.equals("shardflake_adopt_truncate");
        }

        @Override
        public String toString() {
            String state = switch (is) {
                case "" -> "missing";
                case "D" -> "disabled";
                case "R" -> "enabled for replication only";
                case "O" -> wanted.equals("D") ? "enabled" : "not enabled for replication";
                default -> "enabled";
            };
            return "%s of %s is %s".formatted(name, table, state);
        }
    }

    private final Connection connection;
    private final ChangeJournal journal;
    private final TableFacts table;
    private final int adoption;

    JournalTriggers(Connection connection, ChangeJournal journal, TableFacts table, int adoption) {
        this.connection = connection;
        this.journal = journal;
        this.table = table;
        this.adoption = adoption;
    }

    /** What is wrong with the triggers of adoptions, one line for each. */
    static List<String> problems(Connection connection, List<Integer> adoptions) throws SQLException {
        return wrong(connection, adoptions).stream().map(Wrong::toString).toList();
    }

    private static List<Wrong> wrong(Connection connection, List<Integer> adoptions) throws SQLException {
        return hasRecord(connection)
                ? Sql.list(
                        connection,
                        WRONG,
                        row -> new Wrong(row.getString(1), row.getString(2), row.getString(3), row.getString(4)),
                        connection.createArrayOf("integer", adoptions.toArray()))
                : List.of();
    }

    /** Whether there is a record of partitions, which an older version did not have. */
    private static boolean hasRecord(Connection connection) throws SQLException {
        return Sql.isTrue(connection, "SELECT to_regclass('shardflake_adopt.partition') IS NOT NULL");
    }

    /**
     * Refuses tables whose triggers are not as the adoptions have created them.
     *
     * @throws AdoptRefusedException if the journal may lack changes
     */
    static void require(Connection connection, List<Integer> adoptions) throws SQLException {
        List<Wrong> wrong = wrong(connection, adoptions);
        if (!wrong.isEmpty()) {
            throw new AdoptRefusedException(
                    "someone has changed triggers of adopt: %s%s; rows written since may be missing in the shards"
                            .formatted(
                                    wrong.get(0), wrong.size() == 1 ? "" : ", and %s more".formatted(wrong.size() - 1)),
                    Advice.of("put them back, and copy the rows again, with %s", CliCommand.ADOPT_RUN));
        }
    }

    /**
     * Puts triggers back. If the journal may lack changes, all rows are to be copied again, and those that are gone to be looked for.
     *
     * @return what was wrong
     */
    List<String> repair() throws SQLException {
        List<Wrong> wrong = wrong(connection, List.of(adoption));
        if (!wrong.isEmpty()) {
            journal.withLock(() -> {
                Set<String> created = new HashSet<>();
                for (Wrong one : wrong) {
                    // PostgreSQL creates those on rows for partitions, too.
                    boolean isOwn = one.name().equals("shardflake_adopt_truncate");
                    if (one.is().isEmpty() && (isOwn || created.add(one.name()))) {
                        Sql.execute(
                                connection,
                                ChangeJournal.trigger(one.name(), adoption, isOwn ? one.table() : table.name()));
                    }
                }
                for (Wrong one : wrong(connection, List.of(adoption))) {
                    Sql.execute(
                            connection,
                            "ALTER TABLE ONLY %s %s TRIGGER %s"
                                    .formatted(
                                            one.table(),
                                            one.wanted().equals("A") ? "ENABLE ALWAYS" : "DISABLE",
                                            one.name()));
                }
                if (wrong.stream().anyMatch(Wrong::mayLackRows)) {
                    distrust();
                }
            });
        }
        return wrong.stream().map(Wrong::toString).toList();
    }

    /** Whether the journal may lack changes. */
    boolean mayLackRows() throws SQLException {
        return wrong(connection, List.of(adoption)).stream().anyMatch(Wrong::mayLackRows);
    }

    /** Has all rows copied again, and those that are gone looked for. */
    void copyAgain() throws SQLException {
        journal.withLock(this::distrust);
    }

    private void distrust() throws SQLException {
        journal.copyAgain(adoption);
        record(List.of(new Partition(ANY, ANY)));
    }

    /** Records the partitions that there are, each of which has got its triggers. */
    void recordAll() throws SQLException {
        Set<Partition> all = partitions();
        protect(all);
        record(all);
    }

    private void record(Collection<Partition> some) throws SQLException {
        Sql.update(
                connection,
                "INSERT INTO shardflake_adopt.partition SELECT ?, u.* FROM unnest(?::oid[], ?::oid[]) u ON CONFLICT DO NOTHING",
                adoption,
                oids(some.stream().map(Partition::relation).toList()),
                oids(some.stream().map(Partition::trigger).toList()));
    }

    private Array oids(List<Long> oids) throws SQLException {
        return connection.createArrayOf("bigint", oids.toArray());
    }

    /** A TRUNCATE of a partition fires only the partition's own trigger. */
    private void protect(Collection<Partition> some) throws SQLException {
        for (String name : truncatable(some, true)) {
            Sql.execute(connection, ChangeJournal.trigger("shardflake_adopt_truncate", adoption, name));
        }
    }

    private List<String> truncatable(Collection<Partition> some, boolean lacking) throws SQLException {
        return Sql.list(
                connection,
                TRUNCATABLE,
                row -> row.getString(1),
                oids(some.stream().map(Partition::relation).toList()),
                lacking);
    }

    private Set<Partition> partitions() throws SQLException {
        return new HashSet<>(
                Sql.list(connection, PARTITIONS, row -> new Partition(row.getLong(1), row.getLong(2)), table.name()));
    }

    private Set<Partition> recorded() throws SQLException {
        return hasRecord(connection)
                ? new HashSet<>(
                        Sql.list(connection, RECORDED, row -> new Partition(row.getLong(1), row.getLong(2)), adoption))
                : new HashSet<>();
    }

    /** Whether partitions have come or gone since they were recorded, or rows may have. */
    boolean areChanged() throws SQLException {
        return !recorded().equals(partitions());
    }

    /** Work on the rows that have come or gone with partitions, in one transaction with the record of it. */
    interface Moved {
        /** Rows have come with a partition. */
        void came(String partition) throws SQLException;

        /** Rows have gone, and nothing says which. */
        void went() throws SQLException;
    }

    /** Follows the partitions that have come and gone. */
    void follow(Moved moved) throws SQLException {
        if (!areChanged()) {
            return;
        }
        Set<Partition> guarded = new HashSet<>();
        journal.withLock(() -> {
            Set<Partition> gone = new HashSet<>(recorded());
            Set<Partition> all = partitions();
            Set<Long> there = all.stream().map(Partition::relation).collect(toSet());
            gone.removeIf(partition -> there.contains(partition.relation()));
            for (String name : truncatable(gone, false)) {
                Sql.execute(connection, "DROP TRIGGER shardflake_adopt_truncate ON " + name);
            }
            protect(all);
            guarded.addAll(all);
        });
        Sql.inTransaction(connection, () -> {
            Set<Partition> recorded = recorded();
            Set<Partition> all = partitions();
            all.retainAll(guarded); // One that has come since is for the next time.
            List<Partition> came = new ArrayList<>(all);
            came.removeAll(recorded);
            if (!all.containsAll(recorded)) {
                moved.went();
            }
            for (Partition partition : came) {
                moved.came(Sql.text(connection, "SELECT ?::oid::regclass::text", partition.relation()));
            }
            Sql.update(connection, "DELETE FROM shardflake_adopt.partition WHERE adoption = ?", adoption);
            record(all);
            return true;
        });
    }

    /** Removes the triggers that are not the table's own. */
    void removeFromPartitions() throws SQLException {
        Set<Partition> all = partitions();
        all.addAll(recorded());
        for (String name : truncatable(all, false)) {
            Sql.execute(connection, "DROP TRIGGER shardflake_adopt_truncate ON " + name);
        }
    }
}
