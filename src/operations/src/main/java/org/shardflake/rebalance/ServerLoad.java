/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.util.Comparator;
import java.util.SortedSet;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.Server;

/** The load of a server during planning. */
final class ServerLoad {

    private static final String LABEL = "weight";

    /** A shard and its weight. */
    record Shard(int number, long weight) {

        /** Sorts the lightest shard first. */
        static final Comparator<Shard> BY_WEIGHT =
                Comparator.comparingLong(Shard::weight).thenComparingInt(Shard::number);

        /** Sorts the heaviest shard first. */
        static final Comparator<Shard> HEAVIEST =
                Comparator.comparingLong(Shard::weight).reversed().thenComparingInt(Shard::number);
    }

    final String name;
    final double capacity;
    final boolean drained;
    private final boolean excluded;
    private final TreeSet<Shard> movable = new TreeSet<>(Shard.BY_WEIGHT);
    private long weight;
    private long pinnedWeight;
    private int shards;
    private boolean gave;
    private boolean received;

    ServerLoad(Server server, boolean drained, boolean excluded) {
        this.name = server.name();
        this.capacity = capacity(server);
        this.drained = drained;
        this.excluded = excluded;
    }

    /** The share of the load that a server should have, relative to others. */
    static double capacity(Server server) {
        String text = server.labels().getOrDefault(LABEL, "1");
        try {
            double capacity = Double.parseDouble(text);
            if (capacity > 0 && capacity <= 1e6) {
                return capacity;
            }
        } catch (NumberFormatException e) {
            // Reported below, like a number out of range.
        }
        throw new RebalanceRefusedException(
                "label weight=%s of server %s is not a number above 0, up to 1000000".formatted(text, server.name()),
                Advice.of("%s sets it", CliCommand.SERVER_CHANGE_WEIGHT.with(server.name())));
    }

    void add(Shard shard, boolean pinned) {
        shards++;
        weight += shard.weight();
        if (pinned) {
            pinnedWeight += shard.weight();
        } else {
            movable.add(shard);
        }
    }

    void give(Shard shard, ServerLoad target) {
        movable.remove(shard);
        shards--;
        weight -= shard.weight();
        gave = true;
        target.shards++;
        target.weight += shard.weight();
        target.received = true;
    }

    /** Undoes a {@link #give}. */
    void takeBack(Shard shard, ServerLoad target) {
        target.shards--;
        target.weight -= shard.weight();
        shards++;
        weight += shard.weight();
    }

    SortedSet<Shard> movable() {
        return movable;
    }

    long weight() {
        return weight;
    }

    int shards() {
        return shards;
    }

    double utilisation() {
        return weight / capacity;
    }

    double utilisationWith(long more) {
        return (weight + more) / capacity;
    }

    /** Whether the server may give shards: in a plan it is a source or a target, never both, so the order of moves does not matter. */
    boolean mayGive() {
        return !received && !movable.isEmpty();
    }

    boolean mayReceive() {
        return !drained && !excluded && !gave;
    }

    /** The weight that the server may reach if the others aim for this utilisation. */
    double within(double utilisation) {
        double wanted = utilisation * capacity;
        if (drained) {
            return 0;
        }
        double most = excluded ? Math.min((double) weight, wanted) : wanted;
        return Math.max((double) pinnedWeight, most);
    }

    /** The heaviest shard that weighs at most this much. */
    @Nullable
    Shard heaviest(double atMost) {
        return movable.floor(new Shard(Integer.MAX_VALUE, (long) Math.floor(atMost)));
    }

    /** The lightest shard that weighs more than this. */
    @Nullable
    Shard lightestAbove(double weight) {
        return movable.higher(new Shard(Integer.MAX_VALUE, (long) Math.floor(weight)));
    }
}
