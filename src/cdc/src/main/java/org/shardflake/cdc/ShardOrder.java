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
import org.apache.kafka.connect.connector.ConnectRecord;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.header.Header;
import org.postgresql.replication.LogSequenceNumber;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.ShardflakeException;
import org.shardflake.catalog.ShardCatalog;
import org.shardflake.server.ServerUrl;

/**
 * Decides when a consumer may apply a record of {@link ShardRouting}; the consumer gets the records of each server in order, for example from
 * one Debezium engine per server. So what a shard's former server sent comes before what its next one sends, and what is read again after a
 * restart does not come after that. Changes since a shard arrived may come again: the consumer applies them by key.
 *
 * <p>Store its text with what came of the records, before Debezium stores that they were processed. Safe for use by several threads.
 */
public final class ShardOrder {

    private static final String HEAD = "shardflake-order 1";

    /** What to do with a record. */
    public enum Turn {
        /** Apply the record. A line of the journal has been taken note of: there is nothing else to do. */
        NOW,
        /** Offer the record again after one of another server has been taken; until then, take no other record of this server. */
        LATER,
        /** Skip the record: it was applied before the shard left this server. */
        PAST
    }

    /**
     * The server that a shard is on.
     *
     * @param since the position in the server's log after which the changes are that belong to this epoch
     */
    private record Place(Owner owner, long since) {}

    private final Map<Integer, Place> places = new TreeMap<>();

    /** The latest position in each server's log at which a shard left. */
    private final Map<String, Long> departures = new TreeMap<>();

    private ShardOrder() {}

    /**
     * Starts with the current placement of shards; call it after all slots were created, and while no shard is being cut over.
     *
     * @throws ShardflakeException if the map cannot be read
     */
    public static ShardOrder begin(ServerUrl catalog) {
        ShardMap map = ShardCatalog.at(catalog).load();
        ShardOrder order = new ShardOrder();
        for (int shard = 0; shard < map.sharding().shardCount(); shard++) {
            Owner owner =
                    new Owner(map.server(shard).name(), map.placement(shard).epoch(), Optional.empty());
            order.places.put(shard, new Place(owner, 0));
        }
        return order;
    }

    /**
     * Resumes where a consumer stopped.
     *
     * @param stored what {@link #toString} gave
     * @throws ShardflakeException if the text is of something else
     */
    public static ShardOrder parse(String stored) {
        ShardOrder order = new ShardOrder();
        String[] lines = stored.lines().toArray(String[]::new);
        try {
            if (!lines[0].equals(HEAD)) {
                throw new IllegalArgumentException("it does not begin with " + HEAD);
            }
            for (int i = 1; i < lines.length; i++) {
                String[] words = lines[i].split(" ", -1);
                if (words[0].equals("server")) {
                    order.departures.put(words[1], lsn(words[2]));
                } else if (words[0].equals("shards")) {
                    Optional<String> left = words.length > 5 ? Optional.of(words[5]) : Optional.empty();
                    Place place = new Place(new Owner(words[3], Long.parseLong(words[2]), left), lsn(words[4]));
                    ShardSet.parse(words[1]).stream().forEach(shard -> order.places.put(shard, place));
                } else {
                    throw new IllegalArgumentException("line %s is unknown".formatted(i + 1));
                }
            }
        } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
            throw new ShardflakeException(
                    ShardflakeException.Kind.USAGE,
                    "this is not the order of shards: %s".formatted(e.getMessage()),
                    "pass the text of ShardOrder.toString as it was stored",
                    e);
        }
        return order;
    }

    private static long lsn(String text) {
        return LogSequenceNumber.valueOf(text).asLong();
    }

    /**
     * Decides what to do with a record, and takes it if it may be applied.
     *
     * @param record as {@link ShardRouting} made it; one without its headers is not of a shard, and comes at any time
     * @throws ChangesLostException if a shard has changed servers without a journal, or what this consumer began with is not what the servers sent
     */
    public synchronized Turn take(ConnectRecord<?> record) {
        Header shard = record.headers().lastWithName(ShardRouting.SHARD);
        Header server = record.headers().lastWithName(ShardRouting.SERVER);
        if (shard == null || server == null) {
            return Turn.NOW;
        }
        Header lsn = record.headers().lastWithName(ShardRouting.LSN);
        if (lsn == null) {
            throw new IllegalArgumentException("a record of %s has no position".formatted(record.topic()));
        }
        // Kafka Connect's converter of headers keeps no types: a small number comes back as a byte, a server named 1 as
        // a number.
        int its = ((Number) shard.value()).intValue();
        String from = String.valueOf(server.value());
        long position = ((Number) lsn.value()).longValue();
        Place place = places.get(its);
        if (place == null) {
            throw new ChangesLostException(
                    "shard %s is not one of those that there were at the beginning".formatted(its));
        }
        return ShardRouting.isJournal(record)
                ? journal(from, ShardRouting.journal((Struct) record.value()), place, position)
                : change(from, its, place, position);
    }

    private Turn journal(String server, Journal line, Place place, long lsn) {
        Owner next = place.owner().after(server, line).orElse(null);
        if (next == null) {
            return Turn.LATER;
        }
        if (next.left().isPresent()) {
            departures.merge(server, lsn, (one, other) -> Long.compareUnsigned(one, other) < 0 ? other : one);
        }
        places.put(line.shard(), new Place(next, next.epoch() > place.owner().epoch() ? lsn : place.since()));
        return Turn.NOW;
    }

    private Turn change(String server, int shard, Place place, long lsn) {
        Owner owner = place.owner();
        boolean isOwners = owner.server().equals(server);
        if (isOwners && owner.left().isEmpty()) {
            return Long.compareUnsigned(lsn, place.since()) < 0 ? Turn.PAST : Turn.NOW;
        }
        if (Long.compareUnsigned(lsn, departures.getOrDefault(server, 0L)) >= 0) {
            throw new ChangesLostException(
                    "%s sent a change of shard %s, which is %s's: its publication was out of step, or the slots were created during a cutover"
                            .formatted(server, shard, owner.server()));
        }
        return Turn.PAST;
    }

    /**
     * The identity of a change whose turn is {@link Turn#NOW}, which it has again if Debezium sends it again. Its position is that of the change, as
     * {@link Change#position} has it, since Debezium does not tell that of the commit. Its number is the place among the changes of that position, or 0
     * with a Debezium that does not count them: several rows of one {@code COPY} have one position, and differ by their keys. An update of a
     * primary key is a deletion and an insert of one identity.
     *
     * @return empty for a line of the journal, a record that is not of a shard, and a change whose turn it is not
     */
    public synchronized Optional<EventId> id(ConnectRecord<?> record) {
        Header shard = record.headers().lastWithName(ShardRouting.SHARD);
        Header number = record.headers().lastWithName(ShardRouting.NUMBER);
        if (shard == null || ShardRouting.isJournal(record)) {
            return Optional.empty();
        }
        int its = ((Number) shard.value()).intValue();
        String server = String.valueOf(
                record.headers().lastWithName(ShardRouting.SERVER).value());
        long lsn = ((Number) record.headers().lastWithName(ShardRouting.LSN).value()).longValue();
        Place place = places.get(its);
        if (place == null
                || !place.owner().server().equals(server)
                || place.owner().left().isPresent()
                || Long.compareUnsigned(lsn, place.since()) < 0) {
            return Optional.empty();
        }
        return Optional.of(new EventId(
                its, place.owner().epoch(), lsn, number == null ? 0 : ((Number) number.value()).longValue()));
    }

    /** The state as text, to be stored. It changes only when a shard leaves or arrives. */
    @Override
    public synchronized String toString() {
        StringBuilder text = new StringBuilder(HEAD);
        departures.forEach((server, lsn) -> text.append("\nserver %s %s".formatted(server, text(lsn))));
        Map<Place, TreeSet<Integer>> shards = new LinkedHashMap<>();
        places.forEach((shard, place) ->
                shards.computeIfAbsent(place, its -> new TreeSet<>()).add(shard));
        shards.forEach((place, its) -> text.append("\nshards %s %s %s %s%s"
                .formatted(
                        ShardSet.of(its),
                        place.owner().epoch(),
                        place.owner().server(),
                        text(place.since()),
                        place.owner().left().map(left -> " " + left).orElse(""))));
        return text.toString();
    }

    private static String text(long lsn) {
        return LogSequenceNumber.valueOf(lsn).asString();
    }
}
