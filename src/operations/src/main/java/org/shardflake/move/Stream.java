/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.move;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.shardflake.jdbc.Poll;
import org.shardflake.jdbc.Sql;
import org.shardflake.move.exception.MoveException;
import org.shardflake.move.internal.session.MoveServerSession;
import org.shardflake.move.internal.session.Sleep;
import org.shardflake.replication.Replication;
import org.shardflake.replication.StreamTrouble;

/**
 * One direction of a move's replication: a publication and a slot on one server, a subscription on the other, all with one name.
 *
 * <p>The publications decide which way a shard's rows go: its tables are in that of the server which takes its writes, and never in
 * both, so nothing goes round in circles; that works on every version, without {@code origin = none}. A subscription knows the tables
 * of all shards, by a second publication that sends no changes: what it did not list, a refresh would forget. For one thread.
 */
public final class Stream {

    private static final Duration LOOK = Duration.ofSeconds(1);

    private static final String KNOWN = """
            SELECT format('%I.%I', n.nspname, c.relname), r.srsubstate = 'r'
              FROM pg_subscription s JOIN pg_subscription_rel r ON r.srsubid = s.oid
              JOIN pg_class c ON c.oid = r.srrelid JOIN pg_namespace n ON n.oid = c.relnamespace
             WHERE s.subname = ? AND s.subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())
            """;

    private final String key;
    private final String name;
    private final String list;
    private final MoveServerSession publisher;
    private final MoveServerSession subscriber;

    private Stream(String tag, String direction, MoveServerSession publisher, MoveServerSession subscriber) {
        this.key = tag + "_" + direction;
        this.name = "shardflake_" + key;
        this.list = name + "_all";
        this.publisher = publisher;
        this.subscriber = subscriber;
    }

    /** The stream from the source to the target. */
    public static Stream forward(String tag, MoveServerSession source, MoveServerSession target) {
        return new Stream(tag, "forward", source, target);
    }

    /** The stream from the target to the source. */
    static Stream reverse(String tag, MoveServerSession source, MoveServerSession target) {
        return new Stream(tag, "reverse", target, source);
    }

    public String name() {
        return name;
    }

    MoveServerSession publisher() {
        return publisher;
    }

    MoveServerSession subscriber() {
        return subscriber;
    }

    /** Creates the publications of the given tables, or changes existing ones to them. */
    public void publish(Collection<String> tables) throws SQLException {
        publish(tables, tables);
    }

    /**
     * Creates the publications, or sets their tables: those that the subscription knows, and those whose changes are sent.
     *
     * @param known the tables that the subscription is to know
     * @param sent those among them whose changes are sent
     */
    void publish(Collection<String> known, Collection<String> sent) throws SQLException {
        boolean isListed = exists(list);
        // A slot cannot use a publication that is younger, and an earlier version made none.
        if (isListed ? !known.isEmpty() : !hasSlot()) {
            String tables = String.join(", ", known);
            Sql.execute(
                    publisher.control(),
                    publisher.checkClaim()
                            + (isListed
                                    ? "ALTER PUBLICATION %s SET TABLE %s".formatted(list, tables)
                                    : "CREATE PUBLICATION %s %s WITH (publish = '')"
                                            .formatted(list, known.isEmpty() ? "" : "FOR TABLE " + tables)));
        }
        String verb = exists(name) ? "ALTER PUBLICATION %s SET TABLE" : "CREATE PUBLICATION %s FOR TABLE";
        String marker = " shardflake.move_marker WHERE (stream = %s)".formatted(Sql.quote(key));
        String all = sent.stream().map(table -> ", " + table).collect(Collectors.joining());
        Sql.execute(publisher.control(), publisher.checkClaim() + verb.formatted(name) + marker + all);
    }

    private boolean exists(String publication) throws SQLException {
        return Sql.isTrue(
                publisher.control(), "SELECT EXISTS (SELECT FROM pg_publication WHERE pubname = ?)", publication);
    }

    /** Whether the subscription can include tables that are created from now on, as it can unless an earlier version created it. */
    boolean learns() throws SQLException {
        return Sql.isTrue(
                subscriber.control(),
                "SELECT EXISTS (SELECT FROM pg_subscription WHERE subname = ? AND ? = ANY (subpublications) AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database()))",
                name,
                list);
    }

    /** The tables whose changes the subscription applies, each with whether all its older rows have been copied. */
    Map<String, Boolean> known() throws SQLException {
        Map<String, Boolean> known = new TreeMap<>();
        Sql.list(subscriber.control(), KNOWN, row -> known.put(row.getString(1), row.getBoolean(2)), name);
        return known;
    }

    /**
     * Makes the subscription include tables. One refresh treats all tables alike that it finds, so it must find no others.
     *
     * @param tables to learn; they exist on both servers
     * @param copies whether the publisher sends them, first all rows that are there, then each change; otherwise neither
     * @param others that are not to be learned yet
     */
    void learn(Collection<String> tables, boolean copies, Collection<String> others) throws SQLException {
        Set<String> listed = published(list);
        Set<String> sent = published();
        String early = others.stream().filter(listed::contains).collect(Collectors.joining(", "));
        String late = tables.stream().filter(table -> !listed.contains(table)).collect(Collectors.joining(", "));
        Sql.execute(
                publisher.control(),
                publisher.checkClaim()
                        + removeSql(others.stream().filter(sent::contains).toList())
                        + (copies
                                ? addSql(tables.stream()
                                        .filter(table -> !sent.contains(table))
                                        .toList())
                                : "")
                        + (early.isEmpty() ? "" : "ALTER PUBLICATION %s DROP TABLE %s;\n".formatted(list, early))
                        + (late.isEmpty() ? "" : "ALTER PUBLICATION %s ADD TABLE %s".formatted(list, late)));
        Sql.call(subscriber.control(), subscriber.checkClaim());
        Sql.execute(
                subscriber.control(),
                "ALTER SUBSCRIPTION %s REFRESH PUBLICATION WITH (copy_data = %s)".formatted(name, copies));
    }

    /** The SQL that publishes changes of these tables in this direction from now on. */
    String addSql(Collection<String> tables) {
        return tables.isEmpty()
                ? ""
                : "ALTER PUBLICATION %s ADD TABLE %s;\n".formatted(name, String.join(", ", tables));
    }

    /** The SQL that stops publishing changes of these tables in this direction. */
    String removeSql(Collection<String> tables) {
        return tables.isEmpty()
                ? ""
                : "ALTER PUBLICATION %s DROP TABLE %s;\n".formatted(name, String.join(", ", tables));
    }

    /** The tables published in this direction. */
    Set<String> published() throws SQLException {
        return published(name);
    }

    private Set<String> published(String publication) throws SQLException {
        return Replication.published(publisher.control(), publication).stream()
                .filter(table -> !table.isOwn())
                .map(Replication.Published::table)
                .collect(Collectors.toCollection(TreeSet::new));
    }

    public boolean hasSlot() throws SQLException {
        return Replication.hasSlot(publisher.control(), name);
    }

    /**
     * Whether the slot has been on this server from the beginning, so that none of its changes can be lost. A slot that came here in a failover
     * says nothing: the standby may have been behind.
     */
    boolean isUnbroken() throws SQLException {
        return hasSlot() && !hasFailedOver();
    }

    /** Whether both ends exist, and nothing keeps the subscriber permanently from receiving the publisher's changes. */
    boolean canFollow() throws SQLException {
        return hasSubscription() && Replication.keepsLog(publisher.control(), name) && !isAhead();
    }

    /** Whether the publisher has failed over to a standby that has kept the slot. */
    public boolean hasFailedOver() throws SQLException {
        return Replication.hasFailedOver(publisher.control(), name);
    }

    /** Whether the subscriber has received more than the publisher has. */
    boolean isAhead() throws SQLException {
        return Replication.isAhead(subscriber.control(), publisher.control(), name);
    }

    /** Creates the slot, after waiting for the publisher's writing transactions, and equal marks on both sides. */
    void createSlot() throws SQLException {
        if (!hasSlot()) {
            equalMarks();
            Replication.createSlot(publisher.control(), name);
        }
    }

    /** Creates equal marks on both sides, since a mark is advanced by an update, which needs an existing row. */
    void equalMarks() throws SQLException {
        long mark = mark();
        Sql.call(
                subscriber.control(),
                "INSERT INTO shardflake.move_marker (stream, mark, marked_at) VALUES (?, ?, now()) ON CONFLICT (stream) DO UPDATE SET mark = excluded.mark",
                key,
                mark);
    }

    boolean hasSubscription() throws SQLException {
        return Replication.hasSubscription(subscriber.control(), name);
    }

    /**
     * Creates the subscription; the subscriber connects but does not apply changes yet. It covers all tables that the publications have now.
     */
    void subscribe() throws SQLException {
        Connection connection = subscriber.control();
        Sql.inTransaction(connection, () -> {
            Sql.execute(connection, subscriber.checkClaim());
            create(connection);
            return true;
        });
    }

    /**
     * Creates the subscription to start at a position of the publisher's log: the subscriber was a standby and has everything before. Both in
     * one transaction, so a subscription that is there begins nowhere else.
     */
    void subscribeFrom(SplitPosition position) throws SQLException {
        Connection connection = subscriber.control();
        Sql.inTransaction(connection, () -> {
            Sql.execute(connection, subscriber.checkClaim());
            create(connection);
            Sql.call(
                    connection,
                    "SELECT pg_replication_origin_advance('pg_' || oid, ?::pg_lsn) FROM pg_subscription WHERE subname = ? AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())",
                    position.asLsn(),
                    name);
            return true;
        });
    }

    private void create(Connection connection) throws SQLException {
        Replication.createSubscription(
                connection,
                name,
                exists(list) ? name + ", " + list : name,
                publisher.server().url().conninfo(),
                Replication.safeOptions(publisher.control(), connection));
    }

    /**
     * Updates the subscriber's login if it is not connected, since the password or the address may have changed. Not if that fails too, as
     * without a password.
     */
    void logInAnew() throws SQLException {
        Connection connection = subscriber.control();
        String conninfo = publisher.server().url().conninfo();
        if (hasSubscription()
                && hasSlot()
                && !isConnected()
                && StreamTrouble.connectionFailure(connection, name, conninfo).isEmpty()) {
            Sql.inTransaction(connection, () -> {
                Sql.execute(connection, subscriber.checkClaim());
                Replication.changeConnection(connection, name, conninfo);
                return true;
            });
        }
    }

    private boolean isConnected() throws SQLException {
        return Sql.isTrue(
                publisher.control(),
                "SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = ? AND active)",
                name);
    }

    /** Whether the slot can still send everything that was committed after a position. */
    boolean keepsSince(SplitPosition position) throws SQLException {
        return Sql.isTrue(
                publisher.control(),
                "SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = ? AND confirmed_flush_lsn <= ?::pg_lsn AND wal_status IS DISTINCT FROM 'lost')",
                name,
                position.asLsn());
    }

    /** Whether the publisher has written up to a position; otherwise it is not the server that the position comes from. */
    boolean hasReached(SplitPosition position) throws SQLException {
        return Sql.isTrue(publisher.control(), "SELECT pg_current_wal_insert_lsn() >= ?::pg_lsn", position.asLsn());
    }

    void enable() throws SQLException {
        Sql.execute(subscriber.control(), subscriber.checkClaim() + "ALTER SUBSCRIPTION %s ENABLE".formatted(name));
    }

    /** Whether the subscription exists and is disabled. */
    boolean isDisabled() throws SQLException {
        return Sql.isTrue(
                subscriber.control(),
                "SELECT EXISTS (SELECT FROM pg_subscription WHERE subname = ? AND NOT subenabled AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database()))",
                name);
    }

    /** Stops the subscriber. When this returns, each change is applied completely or not at all. */
    void stop(Duration patience, MoveListener listener) throws SQLException {
        Sql.execute(subscriber.control(), subscriber.checkClaim() + "ALTER SUBSCRIPTION %s DISABLE".formatted(name));
        Poll.Reason reason =
                () -> "%s waits for the worker of subscription %s to end".formatted(subscriber.name(), name);
        if (!Poll.everyMillis(5, patience).until(this::endsWorkers, reason, listener::waits)) {
            throw new MoveException("the worker of subscription %s on %s does not end; it was stopped %s s ago"
                    .formatted(name, subscriber.name(), patience.toSeconds()));
        }
    }

    /** Whether no workers of the subscriber are left, after asking them to end. */
    private boolean endsWorkers() throws SQLException {
        return Sql.number(
                        subscriber.control(),
                        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_subscription WHERE subname = ? AND pid IS NOT NULL",
                        name)
                == 0;
    }

    /** Advances the slot, so that standbys keep it sooner: until it has moved, they wait for some 15 s. */
    void moveOn() throws SQLException {
        Connection connection = publisher.control();
        if (Replication.hasFailover(connection)
                && Sql.isTrue(connection, "SELECT has_function_privilege('pg_log_standby_snapshot()', 'EXECUTE')")) {
            Sql.call(connection, "SELECT pg_log_standby_snapshot()");
        }
    }

    /** Advances the mark, and returns it. */
    public long mark() throws SQLException {
        return Sql.number(publisher.control(), "SELECT shardflake.mark(?)", key);
    }

    String markSql() {
        return "SELECT shardflake.mark(%s);\n".formatted(Sql.quote(key));
    }

    /**
     * The SQL after {@link #markSql} that announces the hand-over in the change stream, for the transaction in which the publisher gives up a
     * shard.
     */
    String handOverSql() {
        return "SELECT set_config('shardflake.handover', stream || ':' || mark, true) FROM shardflake.move_marker WHERE stream = %s;\n"
                .formatted(Sql.quote(key));
    }

    /** The SQL that announces the hand-over under the same name, for the transaction in which the subscriber gets the shard. */
    String handOverSql(long atMark) {
        return "SELECT set_config('shardflake.handover', %s, true);\n".formatted(Sql.quote(key + ":" + atMark));
    }

    /** The SQL that keeps the subscriber from applying further marks, and so everything after them. */
    String lockMarksSql() {
        return "SELECT FROM shardflake.move_marker WHERE stream = %s FOR UPDATE".formatted(Sql.quote(key));
    }

    /** The mark that the subscriber has reached. */
    public long seen() throws SQLException {
        return seen(subscriber.control());
    }

    private long seen(Connection connection) throws SQLException {
        return Sql.number(
                connection, "SELECT COALESCE((SELECT mark FROM shardflake.move_marker WHERE stream = ?), 0)", key);
    }

    /** Whether the subscriber reaches a mark before a time of {@link System#nanoTime}. */
    boolean reaches(long mark, long nanoTime) throws SQLException {
        long pauseMicros = 200;
        while (seen(subscriber.control()) < mark) {
            if (System.nanoTime() - nanoTime > 0) {
                return false;
            }
            Sleep.micros(pauseMicros);
            pauseMicros = Math.min(pauseMicros * 5 / 4, 50_000);
        }
        return true;
    }

    /**
     * Waits until the subscriber has received everything committed so far.
     *
     * @param patience how long it may stand still without a problem
     * @throws MoveException if it cannot follow, with the reason, or stands still
     */
    void await(Duration patience, MoveListener listener) throws SQLException {
        long mark = mark();
        if (reaches(mark, System.nanoTime() + LOOK.toNanos())) {
            return;
        }
        StreamWatch watch = new StreamWatch(this, patience, listener);
        do {
            watch.look();
        } while (!reaches(mark, System.nanoTime() + LOOK.toNanos()));
    }

    /** The stream's problem, if any; this many earlier errors are ignored. */
    Optional<StreamTrouble> trouble(long errorsBefore) throws SQLException {
        return StreamTrouble.find(
                name,
                new StreamTrouble.Side(publisher.name(), publisher.control()),
                new StreamTrouble.Side(subscriber.name(), subscriber.control()),
                errorsBefore,
                publisher.server().url().conninfo());
    }

    /** The position in the publisher's log that the subscriber has confirmed, in bytes. */
    long confirmed() throws SQLException {
        return Sql.number(
                publisher.control(),
                "SELECT COALESCE((SELECT confirmed_flush_lsn - '0/0' FROM pg_replication_slots WHERE slot_name = ?), 0)",
                name);
    }

    /** The time that a mark takes to arrive, at most the given time. */
    Duration measureLag(Duration atMost) throws SQLException {
        long start = System.nanoTime();
        reaches(mark(), start + atMost.toNanos());
        return Duration.ofNanos(System.nanoTime() - start);
    }

    /** The number of times that the subscriber failed to apply a change; it retries. */
    long errors() throws SQLException {
        return Sql.number(
                subscriber.control(),
                "SELECT COALESCE(sum(apply_error_count + sync_error_count), 0) FROM pg_stat_subscription_stats WHERE subname = ?",
                name);
    }

    /** Removes the stream's objects; missing ones are ignored. */
    void drop() throws SQLException {
        dropSubscription();
        dropSlot();
        dropPublication();
        for (MoveServerSession side : List.of(publisher, subscriber)) {
            Sql.call(side.control(), "DELETE FROM shardflake.move_marker WHERE stream = ?", key);
        }
    }

    /** Drops the subscription without its slot, whose server may be down. */
    void dropSubscription() throws SQLException {
        if (hasSubscription()) {
            Replication.dropSubscription(subscriber.control(), name, subscriber.checkClaim());
        }
    }

    void dropPublication() throws SQLException {
        Replication.dropPublication(publisher.control(), name, publisher.checkClaim());
        Replication.dropPublication(publisher.control(), list, publisher.checkClaim());
    }

    /** Drops the slot, and ends the sender that may still use it. */
    public void dropSlot() throws SQLException {
        Replication.dropSlot(publisher.control(), name);
    }
}
