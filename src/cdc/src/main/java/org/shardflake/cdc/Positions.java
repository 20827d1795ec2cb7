/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cdc;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.postgresql.replication.LogSequenceNumber;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.Sharding;

/** The state that a reader needs to resume, as text. For one thread. */
final class Positions {

    private static final String HEAD = "shardflake-cdc 1";

    /**
     * The position up to which a server's log was read.
     *
     * @param end of the last transaction that was read as a whole
     * @param commit the position of the commit of one that was read in part, or 0
     * @param number how many of its changes were read
     */
    record Position(long end, long commit, long number) {

        /** Whether a change has already been read. */
        boolean includes(long itsCommit, long itsNumber) {
            return Long.compareUnsigned(itsCommit, end) < 0 || (commit == itsCommit && itsNumber <= number);
        }
    }

    private final Map<String, Position> servers = new TreeMap<>();
    private final Map<Integer, Owner> owners = new TreeMap<>();

    /** The shards whose rows have not been read, each with the transaction that its snapshot must include, or 0 for any. */
    private final Map<Integer, Long> unread = new TreeMap<>();

    /** The snapshots that may include changes which are still to come. */
    private final Map<Integer, Snapshot> snapshots = new TreeMap<>();

    private long version;

    static Positions parse(String text) {
        Positions positions = new Positions();
        String[] lines = text.strip().split("\n", -1);
        try {
            if (!lines[0].equals(HEAD)) {
                throw new IllegalArgumentException("it does not begin with " + HEAD);
            }
            for (int i = 1; i < lines.length; i++) {
                String[] words = lines[i].split(" ", -1);
                switch (words[0]) {
                    case "server" ->
                        positions.servers.put(
                                words[1], new Position(lsn(words[2]), lsn(words[3]), Long.parseLong(words[4])));
                    case "shards" ->
                        ShardSet.parse(words[1]).stream()
                                .forEach(shard -> positions.owners.put(
                                        shard,
                                        new Owner(
                                                words[3],
                                                Long.parseLong(words[2]),
                                                words.length > 4 ? Optional.of(words[4]) : Optional.empty())));
                    case "unread" ->
                        ShardSet.parse(words[1]).stream()
                                .forEach(shard -> positions.unread.put(shard, Long.parseLong(words[2])));
                    case "snapshot" ->
                        positions.snapshots.put(
                                Integer.parseInt(words[1]), new Snapshot(lsn(words[2]), Snapshot.Xids.parse(words[3])));
                    default -> throw new IllegalArgumentException("line %s is unknown".formatted(i + 1));
                }
            }
        } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
            throw new ShardflakeException(
                    ShardflakeException.Kind.USAGE,
                    "these are not the positions of a change reader: %s".formatted(e.getMessage()),
                    "pass the text of ChangeReader.positions as it was stored",
                    e);
        }
        return positions;
    }

    private static long lsn(String text) {
        return LogSequenceNumber.valueOf(text).asLong();
    }

    private static String text(long lsn) {
        return LogSequenceNumber.valueOf(lsn).asString();
    }

    Map<String, Position> servers() {
        return servers;
    }

    Position of(String server) {
        Position position = servers.get(server);
        if (position == null) {
            throw new IllegalStateException("no position of " + server);
        }
        return position;
    }

    void set(String server, Position position) {
        servers.put(server, position);
    }

    /** The owner of a shard; at first the one in the map when the reader began. */
    Owner owner(int shard) {
        Owner owner = owners.get(shard);
        if (owner == null) {
            throw new ChangesLostException(
                    "shard %s is not one of those that there were when the reader began".formatted(shard));
        }
        return owner;
    }

    void set(int shard, Owner owner) {
        owners.put(shard, owner);
        version++;
    }

    /** A number that grows with each change of the owners or of the shards whose rows have been read. */
    long version() {
        return version;
    }

    /** The shards whose rows have not been read. */
    ShardSet unread() {
        return ShardSet.of(unread.keySet());
    }

    /** The transaction that the snapshot of a shard must include, or 0 for any; null if its rows need not be read. */
    @Nullable
    Long unread(int shard) {
        return unread.get(shard);
    }

    void setUnread(int shard, long xid) {
        unread.put(shard, xid);
        snapshots.remove(shard);
        version++;
    }

    /** Records that all rows of a snapshot have been read. */
    void setRead(int shard, Snapshot snapshot) {
        unread.remove(shard);
        snapshots.put(shard, snapshot);
        version++;
    }

    /** Whether a change is part of a snapshot whose rows have been read. */
    boolean isInSnapshot(int shard, Message.Begin transaction) {
        Snapshot snapshot = snapshots.get(shard);
        if (snapshot == null) {
            return false;
        }
        if (Long.compareUnsigned(transaction.commit(), snapshot.end()) >= 0) {
            snapshots.remove(shard);
            return false;
        }
        return snapshot.xids().includes(transaction.xid());
    }

    /** Forgets a shard's snapshot when the shard goes to another server, where the snapshot's transactions do not exist. */
    void forgetSnapshot(int shard) {
        snapshots.remove(shard);
    }

    /** Whether the reader uses changes of any shard from a server. */
    boolean needs(String server) {
        return owners.values().stream().anyMatch(owner -> owner.server().equals(server));
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder(HEAD);
        servers.forEach((server, position) -> text.append("\nserver %s %s %s %s"
                .formatted(server, text(position.end()), text(position.commit()), position.number())));
        Map<Owner, TreeSet<Integer>> shards = new LinkedHashMap<>();
        owners.forEach((shard, owner) ->
                shards.computeIfAbsent(owner, its -> new TreeSet<>()).add(shard));
        shards.forEach((owner, its) -> text.append("\nshards %s %s %s%s"
                .formatted(
                        ShardSet.of(its),
                        owner.epoch(),
                        owner.server(),
                        owner.left().map(left -> " " + left).orElse(""))));
        Map<Long, TreeSet<Integer>> missing = new TreeMap<>();
        unread.forEach((shard, xid) ->
                missing.computeIfAbsent(xid, its -> new TreeSet<>()).add(shard));
        missing.forEach((xid, its) -> text.append("\nunread %s %s".formatted(ShardSet.of(its), xid)));
        snapshots.forEach((shard, snapshot) ->
                text.append("\nsnapshot %s %s %s".formatted(shard, text(snapshot.end()), snapshot.xids())));
        return text.toString();
    }

    static int shard(String schema) {
        int shard = Integer.parseInt(schema.substring("shard_".length()));
        if (!Sharding.schema(shard).equals(schema)) {
            throw new IllegalArgumentException(schema);
        }
        return shard;
    }
}
