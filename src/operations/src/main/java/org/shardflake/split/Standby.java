/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.split;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.SplitPosition;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.exception.MoveRefusedException;
import org.shardflake.move.internal.session.MoveServerSession;
import org.shardflake.move.internal.session.OpenShard;
import org.shardflake.move.internal.session.RetryDeadline;
import org.shardflake.move.server.MoveServer;
import org.shardflake.replication.Replication;

/**
 * The standby in a split, in one session from before its promotion until it refuses writes to all shards. For one thread.
 *
 * <p>What keeps others from writing meanwhile is {@code default_transaction_read_only}, which {@code ALTER SYSTEM} can set on a standby;
 * someone may say {@code BEGIN READ WRITE} all the same. Such a transaction is found: the standby stood still when it was promoted, so
 * every later transaction number was given on it, and those that were not ours must not have been committed.
 */
final class Standby implements AutoCloseable {

    /** Settings that keep sessions and autovacuum from writing, since their transactions would be indistinguishable from others'. */
    private static final List<String> SETTINGS = List.of("default_transaction_read_only = on", "autovacuum = off");

    private static final Duration RELOAD_PATIENCE = Duration.ofSeconds(20);
    private static final Duration STILL = Duration.ofSeconds(3);
    private static final int CUTS = 10;
    private static final int TABLES_A_TRANSACTION = 200;

    private static final String RECEIVED = """
            SELECT COALESCE((pg_last_wal_receive_lsn() - '0/0')::bigint, 0), (pg_last_wal_replay_lsn() - '0/0')::bigint,
                   (SELECT count(*) FROM pg_stat_wal_receiver)
            """;

    private static final String SHARDS = """
            SELECT right(n.nspname, 4)::integer, (SELECT count(*) FROM pg_class c WHERE c.relnamespace = n.oid AND c.relkind IN ('r', 'p'))
              FROM pg_namespace n WHERE n.nspname ~ '^shard_[0-9]{4}$' ORDER BY 1
            """;

    /** Records our transaction's number in the transaction itself. */
    private static final String NOTE_OURS = """
            INSERT INTO shardflake.move_marker (stream, mark, marked_at)
            SELECT format('%s_split_%s', ?::text, x), x::text::bigint, clock_timestamp() FROM pg_current_xact_id() x
            """;

    private static final String NOTE_POSITION = """
            INSERT INTO shardflake.move_marker (stream, mark, marked_at) VALUES (? || '_split_position', ?, clock_timestamp())
            """;

    private static final String NOTE_CLOSED = """
            INSERT INTO shardflake.move_marker (stream, mark, marked_at) VALUES (? || '_split_closed', 0, clock_timestamp())
            """;

    private static final String OTHERS = """
            SELECT x FROM generate_series(?, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1) x
             WHERE pg_xact_status(x::text::xid8) = 'committed'
               AND x NOT IN (SELECT mark FROM shardflake.move_marker WHERE starts_with(stream, ? || '_split_') AND stream <> ? || '_split_position')
            """;

    private static final String COPIED_SLOTS = """
            SELECT slot_name FROM pg_replication_slots s
             WHERE slot_type = 'logical' AND COALESCE((to_jsonb(s) ->> 'synced')::boolean, false)
            """;

    /** Lists subscriptions, except those that are still copying tables: dropping such a one would drop the original's slots. */
    private static final String SUBSCRIPTIONS = """
            SELECT quote_ident(subname) FROM pg_subscription s
             WHERE subdbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND NOT subenabled AND pg_has_role(subowner, 'USAGE')
               AND NOT EXISTS (SELECT FROM pg_subscription_rel r WHERE r.srsubid = s.oid AND r.srsubstate <> 'r')
            """;

    private static final String STANDBYS = """
            SELECT (SELECT count(*) FROM pg_stat_replication) + (SELECT count(*) FROM pg_replication_slots WHERE slot_type = 'physical' AND NOT active)
            """;

    private static final String SENDERS = """
            SELECT active_pid FROM pg_replication_slots WHERE slot_name = ? AND slot_type = 'physical' AND active
            """;

    private static final String SENDERS_WITHOUT_SLOT = """
            SELECT pid FROM pg_stat_replication WHERE pid NOT IN (SELECT active_pid FROM pg_replication_slots WHERE active AND (slot_type = 'logical' OR NOT temporary))
            """;

    private final MoveServerSession side;
    private final Connection control;
    private final String tag;
    private final Consumer<String> voice;

    private Standby(MoveServerSession side, String tag, Consumer<String> voice) {
        this.side = side;
        this.control = side.control();
        this.tag = tag;
        this.voice = voice;
    }

    /** Connects to a standby, or to the server that it was promoted to; ends the sessions of earlier runs. */
    static Standby connect(MoveServer server, String tag, long claim, Consumer<String> voice) throws SQLException {
        return new Standby(MoveServerSession.ofStandby(server, tag, claim, voice), tag, voice);
    }

    MoveServerSession side() {
        return side;
    }

    boolean isInRecovery() throws SQLException {
        return Sql.isTrue(control, "SELECT pg_is_in_recovery()");
    }

    /** The name of a slot that does not exist, with which the primary sends nothing. The setting holds no secret, unlike primary_conninfo. */
    private String noSlot() {
        return "shardflake_%s_cut".formatted(tag);
    }

    /** The primary's slot that the standby streams from, empty if none. */
    String slot() throws SQLException {
        return Sql.text(control, "SELECT current_setting('primary_slot_name')");
    }

    boolean isCutOff() throws SQLException {
        return slot().equals(noSlot());
    }

    /** The number of servers that follow this one, now or as expected from their slots. */
    static long standbys(Connection connection) throws SQLException {
        return Sql.number(connection, STANDBYS);
    }

    /** The number of prepared transactions in all databases: a copy would keep its locks, and could be committed on both sides. */
    static long preparedTransactions(Connection connection) throws SQLException {
        return Sql.number(connection, "SELECT count(*) FROM pg_prepared_xacts");
    }

    /** The processes of a primary that send log for a slot, or without a slot if the name is empty. */
    static List<Integer> senders(Connection primary, String slot) throws SQLException {
        return slot.isEmpty()
                ? Sql.list(primary, SENDERS_WITHOUT_SLOT, row -> row.getInt(1))
                : Sql.list(primary, SENDERS, row -> row.getInt(1), slot);
    }

    /**
     * Refuses a standby with standbys of its own, which would follow the new server.
     *
     * @throws MoveRefusedException if there are any
     */
    void requireAlone() throws SQLException {
        if (standbys(control) > 0) {
            throw new MoveRefusedException(
                    "%s has standbys of its own, or slots for some".formatted(side.name()),
                    "end what streams from it, drop its physical slots, and run the same command again");
        }
    }

    private void reload() throws SQLException {
        Sql.call(control, "SELECT pg_reload_conf()");
    }

    /** Stops replication from the primary, and makes transactions read-only by default, even after the promotion. */
    private void cutOff() throws SQLException {
        for (String setting : SETTINGS) {
            Sql.execute(control, "ALTER SYSTEM SET " + setting);
        }
        Sql.execute(control, "ALTER SYSTEM SET primary_slot_name = " + Sql.quote(noSlot()));
        reload();
    }

    /** Undoes {@link #cutOff}: the standby follows its primary as before. */
    void reconnect(String slotBefore) throws SQLException {
        reset();
        Sql.execute(control, "ALTER SYSTEM RESET primary_slot_name");
        reload();
        Poll soon = Poll.everyMillis(20, RELOAD_PATIENCE);
        Poll.Reason reason = () -> side.name() + " waits for its configuration to be read again";
        if (soon.until(() -> !isCutOff(), reason, voice) && slot().equals(slotBefore)) {
            return;
        }
        Sql.execute(control, "ALTER SYSTEM SET primary_slot_name = " + Sql.quote(slotBefore));
        reload();
        if (!soon.until(() -> slot().equals(slotBefore), reason, voice)) {
            throw new MoveException("%s does not read its configuration again".formatted(side.name()));
        }
    }

    private void reset() throws SQLException {
        for (String setting : SETTINGS) {
            Sql.execute(control, "ALTER SYSTEM RESET " + setting.replaceFirst(" =.*", ""));
        }
    }

    /**
     * Cuts the standby off from its primary, and waits until it has replayed everything that it received.
     *
     * @throws MoveException if it does not stand still; it follows its primary again
     */
    SplitPosition standStill(String slotBefore, Duration patience) throws SQLException {
        RetryDeadline whole = new RetryDeadline(patience);
        for (int cut = 0; cut < CUTS && !whole.isOver(); cut++) {
            cutOff();
            SplitPosition position = awaitStill(whole);
            if (position != null) {
                return position;
            }
            // What it got ends amid a record, and the rest of that would be missing.
            reconnect(slotBefore);
            Poll.everyMillis(50, RELOAD_PATIENCE)
                    .until(
                            () -> Sql.isTrue(control, "SELECT EXISTS (SELECT FROM pg_stat_wal_receiver)"),
                            () -> side.name() + " waits for its primary to send again",
                            voice);
        }
        throw new MoveException(
                "%s does not finish replaying what it received from its primary; a query there may block it"
                        .formatted(side.name()));
    }

    private @Nullable SplitPosition awaitStill(RetryDeadline whole) throws SQLException {
        Stillness stillness = new Stillness();
        Poll.everyMillis(50, whole.left()).until(stillness, stillness, voice);
        return stillness.position;
    }

    /** Waits until the standby has stopped at the end of what it received, and fails if it never will. */
    private final class Stillness implements Poll.Condition, Poll.Reason {
        private @Nullable SplitPosition position;
        private RetryDeadline still = new RetryDeadline(STILL);
        private List<Long> before = List.of();

        @Override
        public boolean holds() throws SQLException {
            List<Long> now = Sql.list(control, RECEIVED, row -> List.of(row.getLong(1), row.getLong(2), row.getLong(3)))
                    .get(0);
            if (isCutOff() && now.get(2) == 0 && now.get(0).equals(now.get(1)) && now.equals(before)) {
                long nextXid = Sql.number(control, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint");
                if (replayed() == now.get(1)) {
                    position = new SplitPosition(now.get(1), nextXid, started());
                    return true;
                }
            }
            if (before.isEmpty() || !now.subList(0, 2).equals(before.subList(0, 2))) {
                still = new RetryDeadline(STILL);
            } else if (still.isOver() && isCutOff() && now.get(2) == 0) {
                return true;
            }
            before = now;
            return false;
        }

        @Override
        public String get() {
            return "%s waits until it has replayed what it received from its primary, and stands still; a query there may block it"
                    .formatted(side.name());
        }
    }

    /** The position up to which the log was replayed. After a promotion it is where the standby was promoted, until the server is restarted. */
    private long replayed() throws SQLException {
        return Sql.number(control, "SELECT (pg_last_wal_replay_lsn() - '0/0')::bigint");
    }

    private String started() throws SQLException {
        return Sql.text(control, "SELECT pg_postmaster_start_time()::text");
    }

    /** Enabled subscriptions in any database: a copy would take changes that belong to the original. */
    List<String> enabledSubscriptions() throws SQLException {
        return enabledSubscriptions(control);
    }

    static List<String> enabledSubscriptions(Connection connection) throws SQLException {
        return Sql.list(
                connection,
                "SELECT subname FROM pg_subscription WHERE subenabled ORDER BY subname",
                row -> row.getString(1));
    }

    /**
     * The position at which the standby stopped, with its server's current start time: it may have been restarted since.
     *
     * @throws MoveRefusedException if it stands elsewhere
     */
    SplitPosition stillAt(SplitPosition position, Duration patience) throws SQLException {
        // After a restart it first replays what it has.
        Poll.Reason reason = () -> side.name() + " waits until it has replayed what it had received";
        if (!Poll.everyMillis(50, patience).until(() -> replayed() >= position.lsn(), reason, voice)) {
            throw new MoveException(
                    "%s has not replayed what it had received; run the same command again".formatted(side.name()));
        }
        if (replayed() != position.lsn() || !isCutOff()) {
            throw unusable("is not at the position of its promotion");
        }
        return new SplitPosition(position.lsn(), position.nextXid(), started());
    }

    /** Promotes the standby to a primary. */
    void promote(Duration patience) throws SQLException {
        Sql.call(control, "SELECT pg_promote(false)");
        Poll.Reason reason = () -> side.name() + " waits for its promotion";
        if (!Poll.everyMillis(2, patience).until(() -> !isInRecovery(), reason, voice)) {
            throw new MoveException("%s was told to become a primary, and is not one yet; run the same command again"
                    .formatted(side.name()));
        }
    }

    private MoveRefusedException unusable(String why) {
        return new MoveRefusedException(
                "%s %s, so it must not take shards over; no shard has left its server".formatted(side.name(), why),
                Advice.of(
                        "stop it for good, give the split up with %s, and begin again with another standby",
                        CliCommand.SERVER_SPLIT_CANCEL));
    }

    /**
     * Makes the promoted standby refuse writes to all its shards, and removes objects that it must not have.
     *
     * @throws MoveRefusedException if someone wrote there before
     */
    void closeShards(SplitPosition position, long claim) throws SQLException {
        Sql.execute(
                control,
                "SET default_transaction_read_only = off; SET lock_timeout = '10s'; SET synchronous_commit = on");
        if (isNoted("closed", 0)) {
            return;
        }
        requirePromotedAt(position);
        for (String gid : Sql.list(
                control,
                "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()",
                row -> row.getString(1))) {
            Sql.execute(
                    control,
                    "ROLLBACK PREPARED " + Sql.quote(gid)); // It will come from the source if it is committed there.
        }
        List<Integer> batch = new ArrayList<>();
        List<Integer> all = new ArrayList<>();
        int tables = 0;
        for (int[] shard : Sql.list(control, SHARDS, row -> new int[] {row.getInt(1), row.getInt(2)})) {
            if (tables + shard[1] > TABLES_A_TRANSACTION && !batch.isEmpty()) {
                fence(batch);
                batch.clear();
                tables = 0;
            }
            batch.add(shard[0]);
            all.add(shard[0]);
            tables += shard[1];
        }
        fence(batch);
        ours(() -> {
            Sql.execute(control, "DROP SCHEMA IF EXISTS shardflake_catalog CASCADE");
            for (String subscription : Sql.list(control, SUBSCRIPTIONS, row -> row.getString(1))) {
                Replication.dropSubscription(control, subscription, "");
            }
            Sql.execute(
                    control,
                    "DROP PUBLICATION IF EXISTS shardflake_%1$s_forward, shardflake_%1$s_forward_all".formatted(tag));
            // What the source remembers of the shard map is not what happened here.
            Sql.call(
                    control,
                    "DELETE FROM shardflake.placement WHERE NOT shard = ANY (?)",
                    control.createArrayOf("int4", all.toArray()));
            Sql.call(control, "DELETE FROM shardflake.move_claim WHERE move <> ?", tag);
            Sql.call(control, "SELECT shardflake.claim_move(?, ?)", tag, claim);
        });
        for (String slot : Sql.list(control, COPIED_SLOTS, row -> row.getString(1))) {
            Replication.dropSlot(control, slot);
        }
        List<Long> others = Sql.list(control, OTHERS, row -> row.getLong(1), position.nextXid(), tag, tag);
        if (!others.isEmpty()) {
            throw unusable("was written to by someone else after its promotion, in transactions %s".formatted(others));
        }
        ours(() -> Sql.call(control, NOTE_CLOSED, tag));
    }

    private boolean isNoted(String what, long mark) throws SQLException {
        return Sql.isTrue(
                control,
                "SELECT EXISTS (SELECT FROM shardflake.move_marker WHERE stream = ? AND mark = ?)",
                "%s_split_%s".formatted(tag, what),
                mark);
    }

    private void requirePromotedAt(SplitPosition position) throws SQLException {
        if (isNoted("position", position.lsn())) {
            return;
        }
        if (!started().equals(position.started())) {
            throw unusable("was restarted while it was promoted, and cannot tell any more where that was");
        }
        if (replayed() != position.lsn()) {
            throw unusable("was promoted at another position than it had stopped at");
        }
        ours(() -> Sql.call(control, NOTE_POSITION, tag, position.lsn()));
    }

    private void fence(List<Integer> shards) throws SQLException {
        StringBuilder sql = new StringBuilder();
        for (int shard : shards) {
            sql.append(
                    "SELECT shardflake.set_fence(f.target, true) FROM shardflake.fences(%1$s) f; SELECT shardflake.fence_ids(%1$s, true);\n"
                            .formatted(shard));
            sql.append(OpenShard.recordSql(shard, 0, false));
        }
        if (sql.length() > 0) {
            ours(() -> Sql.execute(control, sql.toString()));
        }
    }

    @FunctionalInterface
    private interface Change {
        void make() throws SQLException;
    }

    /** Makes a change in a transaction that is recorded as ours. */
    private void ours(Change change) throws SQLException {
        Sql.inTransaction(control, () -> {
            change.make();
            Sql.call(control, NOTE_OURS, tag);
            return true;
        });
    }

    /** Lets other sessions write again, now that no shard can be written to. */
    void release() throws SQLException {
        reset();
        Sql.execute(control, "ALTER SYSTEM RESET primary_slot_name");
        reload();
        boolean open = Poll.everyMillis(20, RELOAD_PATIENCE)
                .until(
                        () -> !side.server().url().isReadOnlyByDefault(),
                        () -> side.name() + " waits for default_transaction_read_only to be off",
                        voice);
        if (!open) {
            throw new MoveException(
                    "%s still has default_transaction_read_only on, by its own configuration; take that out, and run the same command again"
                            .formatted(side.name()));
        }
    }

    /** Removes the records of our transactions from when the server was closed. */
    static void forget(Connection control, String tag) throws SQLException {
        Sql.call(control, "DELETE FROM shardflake.move_marker WHERE starts_with(stream, ?)", tag + "_split_");
        Sql.call(
                control,
                "DELETE FROM shardflake.placement WHERE NOT here AND epoch = 0 AND to_regnamespace(shardflake.shard_schema(shard)) IS NULL");
    }

    @Override
    public void close() {
        side.close();
    }
}
