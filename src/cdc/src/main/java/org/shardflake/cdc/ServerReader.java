/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.jdbc.PreferQueryMode;
import org.postgresql.replication.LogSequenceNumber;
import org.postgresql.replication.PGReplicationStream;
import org.shardflake.server.ServerUrl;

/** Reads one server's slot, and returns the changes that have not been read before. For one thread. */
final class ServerReader implements AutoCloseable {

    private static final String APPLICATION = "shardflake cdc";
    private static final long STATUS_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long RETRY_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    private final String name;
    private final ServerUrl url;
    private final String slot;
    private final Journals journals;
    private final Positions positions;
    private final ShardRows rows;

    private @Nullable Connection connection;
    private @Nullable PGReplicationStream stream;
    private Decoder decoder = new Decoder();
    private Message.@Nullable Begin begin;
    private long number;

    /** The position in the log of the message that is being taken. */
    private long position;

    private @Nullable Journal held;

    /** The changes of the current transaction. */
    private final Deque<Change> waiting = new ArrayDeque<>();

    /** The end of the current transaction if all of it has been read, or else 0. */
    private long end;

    private boolean isSlotChecked;
    private long confirmed;
    private long lastStatus = System.nanoTime();
    private long failingSince;
    private long retryAt = System.nanoTime();
    private @Nullable SQLException failure;

    /** Decides about shards that leave and arrive, as the journals report it. */
    interface Journals {

        /** Notes a line; false if it has to wait for changes from another server. */
        boolean take(String server, Journal line, Message.Begin transaction);

        /** The epoch with which a server has a shard, whose changes it has sent. */
        long epoch(String server, int shard);
    }

    ServerReader(
            String name, ServerUrl url, String slot, Positions positions, Journals journals, ShardRows.Placements map) {
        this.name = name;
        this.url = url;
        this.slot = slot;
        this.positions = positions;
        this.journals = journals;
        this.rows = new ShardRows(name, url, positions, map);
        this.confirmed = positions.of(name).end();
    }

    /** The next change, or null if none has arrived or it has to wait for another server. */
    @Nullable
    Change next() {
        if (stream == null && System.nanoTime() - retryAt < 0) {
            return null;
        }
        try {
            if (rows.isDue()) {
                Change row = row();
                if (row != null || rows.isDue()) {
                    failure = null;
                    return row;
                }
            }
            if (stream == null && !connect()) {
                return null;
            }
            Change next = read();
            failure = null;
            return next;
        } catch (SQLException e) {
            fail(e);
            return null;
        }
    }

    /** A row of a shard's snapshot. The log waits for all of them. */
    private @Nullable Change row() throws SQLException {
        if (!isSlotChecked) {
            checkSlot();
            isSlotChecked = true;
        }
        if (System.nanoTime() - lastStatus > STATUS_NANOS) {
            report(); // or the server would end the connection
        }
        return rows.next();
    }

    /** The line of the journal that is waiting for another server, or null. */
    @Nullable
    Journal held() {
        return held;
    }

    /** The reason why the server cannot be reached; null while connected. */
    @Nullable
    SQLException failure() {
        return failure;
    }

    long failingNanos() {
        return failure == null ? 0 : System.nanoTime() - failingSince;
    }

    private void fail(SQLException e) {
        if (failure == null) {
            failingSince = System.nanoTime();
        }
        failure = e;
        retryAt = System.nanoTime() + RETRY_NANOS;
        close();
    }

    /** Connects again, after the last transaction that was read completely; a partly read one is discarded. */
    private boolean connect() {
        try {
            checkSlot();
            Connection opened = url.connect(APPLICATION, source -> {
                source.setReplication("database");
                source.setPreferQueryMode(PreferQueryMode.SIMPLE);
                source.setAssumeMinServerVersion("15");
            });
            connection = opened;
            stream = opened.unwrap(PGConnection.class)
                    .getReplicationAPI()
                    .replicationStream()
                    .logical()
                    .withSlotName(slot)
                    .withStartPosition(
                            LogSequenceNumber.valueOf(positions.of(name).end()))
                    .withStatusInterval(10, TimeUnit.SECONDS)
                    .withAutomaticFlush(false)
                    .withSlotOption("proto_version", 1)
                    .withSlotOption("publication_names", ChangeReader.PUBLICATION)
                    .withSlotOption("messages", "true")
                    .start();
            report();
            return true;
        } catch (SQLException e) {
            fail(e);
            return false;
        }
    }

    private void checkSlot() throws SQLException {
        try (Connection control = url.connect(APPLICATION);
                PreparedStatement statement = control.prepareStatement(
                        "SELECT wal_status, confirmed_flush_lsn::text FROM pg_replication_slots WHERE slot_name = ? AND database = current_database()")) {
            statement.setString(1, slot);
            try (ResultSet row = statement.executeQuery()) {
                if (!row.next()) {
                    throw new ChangesLostException("%s has no slot %s any more".formatted(name, slot));
                }
                if ("lost".equals(row.getString(1))) {
                    throw new ChangesLostException(
                            "slot %s of %s has lost the log that the reader needs".formatted(slot, name));
                }
                LogSequenceNumber there = LogSequenceNumber.valueOf(row.getString(2));
                if (Long.compareUnsigned(there.asLong(), positions.of(name).end()) > 0) {
                    throw new ChangesLostException(
                            "slot %s of %s is at %s, and the reader's position is %s: someone else has read it, or the positions are old"
                                    .formatted(
                                            slot,
                                            name,
                                            there.asString(),
                                            LogSequenceNumber.valueOf(
                                                            positions.of(name).end())
                                                    .asString()));
                }
            }
        }
    }

    private @Nullable Change read() throws SQLException {
        PGReplicationStream reading = stream;
        if (reading == null) {
            return null;
        }
        if (System.nanoTime() - lastStatus > STATUS_NANOS) {
            report();
        }
        while (true) {
            // The latest is kept until it is known whether its transaction has another one.
            if (waiting.size() > 1 || (end != 0 && !waiting.isEmpty())) {
                return deliver(waiting.remove());
            }
            Journal line = held;
            if (line != null && !tell(line)) {
                return null;
            }
            if (rows.isDue()) {
                return null;
            }
            ByteBuffer bytes = reading.readPending();
            if (bytes == null) {
                if (begin == null) {
                    advance(reading.getLastReceiveLSN().asLong());
                }
                return null;
            }
            position = reading.getLastReceiveLSN().asLong();
            take(decoder.decode(bytes));
        }
    }

    private Change deliver(Change change) {
        if (waiting.isEmpty() && end != 0) {
            advance(end);
            end = 0;
            return change.asLast();
        }
        positions.set(
                name,
                new Positions.Position(
                        positions.of(name).end(), change.id().lsn(), change.id().number()));
        return change;
    }

    /** Notes that everything the server sent up to a position has been read. */
    private void advance(long to) {
        if (Long.compareUnsigned(to, positions.of(name).end()) > 0) {
            positions.set(name, new Positions.Position(to, 0, 0));
        }
    }

    private void take(Message message) {
        if (message instanceof Message.Begin its) {
            begin = its;
            number = 0;
        } else if (message instanceof Message.Commit its) {
            begin = null;
            if (waiting.isEmpty()) {
                advance(its.end());
            } else {
                end = its.end();
            }
        } else if (message instanceof Message.Journal its) {
            tell(Journal.parse(its.content()));
        } else if (message instanceof Message.Row its) {
            add(its.kind(), its.table(), its.row(), its.key());
        } else if (message instanceof Message.Truncate its) {
            for (Message.Table table : its.tables()) {
                add(Change.Kind.TRUNCATE, table, Map.of(), Map.of());
            }
        }
    }

    /** Passes on a line of the journal; false if the line has to wait. */
    private boolean tell(Journal line) {
        boolean isTaken = journals.take(name, line, transaction());
        held = isTaken ? null : line;
        if (isTaken) {
            rows.heard(line.shard());
        }
        return isTaken;
    }

    private Message.Begin transaction() {
        Message.Begin transaction = begin;
        if (transaction == null) {
            throw new IllegalStateException("%s sent a change outside of a transaction".formatted(name));
        }
        return transaction;
    }

    private void add(
            Change.Kind kind,
            Message.Table table,
            Map<String, @Nullable String> row,
            Map<String, @Nullable String> key) {
        Message.Begin transaction = transaction();
        number++;
        if (positions.of(name).includes(transaction.commit(), number)) {
            return;
        }
        int shard = Positions.shard(table.schema());
        EventId id = new EventId(shard, journals.epoch(name, shard), transaction.commit(), number);
        if (positions.unread(shard) != null || positions.isInSnapshot(shard, transaction)) {
            return; // Its rows have this change, or will have it where the shard is now.
        }
        waiting.add(new Change(id, name, kind, table.name(), row, key, transaction.committedAt(), position, false));
    }

    /** Notes that the consumer has stored a position, before which nothing is needed any more. */
    void confirm(long to) {
        if (Long.compareUnsigned(to, confirmed) > 0) {
            confirmed = to;
            lastStatus = System.nanoTime() - STATUS_NANOS;
        }
    }

    /** Reports the consumer's position to the server, and that the reader is alive. */
    private void report() throws SQLException {
        PGReplicationStream reading = stream;
        if (reading != null) {
            LogSequenceNumber position = LogSequenceNumber.valueOf(confirmed);
            reading.setFlushedLSN(position);
            reading.setAppliedLSN(position);
            reading.forceUpdateStatus();
            lastStatus = System.nanoTime();
        }
    }

    @Override
    public void close() {
        Connection closing = connection;
        connection = null;
        stream = null;
        decoder = new Decoder();
        begin = null;
        held = null;
        waiting.clear();
        end = 0;
        isSlotChecked = false;
        rows.close();
        if (closing != null) {
            try {
                closing.close();
            } catch (SQLException e) {
                // It has ended.
            }
        }
    }
}
