/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * A set of logical shards, with a text form that is easy to write: {@code 0-99,1341} or, for every second one, {@code 0-1998/2}.
 *
 * <p>Immutable. Always in order and without duplicates.
 */
public final class ShardSet {

    private static final Pattern PART =
            Pattern.compile("(?<first>\\d{1,9})(?:-(?<last>\\d{1,9})(?:/(?<step>\\d{1,9}))?)?");
    private static final int SHORTEST_RUN = 3;

    private final BitSet shards;

    private ShardSet(BitSet shards) {
        this.shards = shards;
    }

    /** The set of these shards, each 0..8191. */
    public static ShardSet of(int... shards) {
        BitSet set = new BitSet();
        for (int shard : shards) {
            set.set(IdLayout.checkRange("shard", shard, IdLayout.MAX_SHARD));
        }
        return new ShardSet(set);
    }

    /** The set of these shards, each 0..8191. */
    public static ShardSet of(Collection<Integer> shards) {
        return of(shards.stream().mapToInt(Integer::intValue).toArray());
    }

    /** The shards from {@code first} to {@code last}, both included. */
    public static ShardSet range(int first, int last) {
        return of(IntStream.rangeClosed(first, last).toArray());
    }

    /**
     * Parses a list of shards {@code 7}, ranges {@code 0-99} and ranges with a step {@code 0-1998/2}, separated by commas.
     *
     * @throws IllegalArgumentException if the text is not such a list, naming the part that is wrong
     */
    public static ShardSet parse(String text) {
        return parse(text, IdLayout.MAX_SHARD + 1);
    }

    /**
     * Parses shards of an installation.
     *
     * @param shardCount how many it has, as {@link Sharding#shardCount()} says
     * @throws IllegalArgumentException if the text is not such a list, or names a shard that there is not
     */
    public static ShardSet parse(String text, int shardCount) {
        BitSet set = new BitSet();
        for (String part : text.strip().split("\\s*,\\s*", -1)) {
            Matcher range = PART.matcher(part);
            if (!range.matches()) {
                throw new IllegalArgumentException(
                        "\"%s\" is not a list of shards; write it as 7, 0-99 or 0-1998/2, separated by commas"
                                .formatted(part));
            }
            int first = checked(range.group("first"), shardCount);
            int last = range.group("last") == null ? first : checked(range.group("last"), shardCount);
            int step = range.group("step") == null ? 1 : Integer.parseInt(range.group("step"));
            if (last < first || step == 0) {
                throw new IllegalArgumentException(
                        "\"%s\" holds no shard; write ranges upwards, with a step of at least 1".formatted(part));
            }
            for (int shard = first; shard <= last; shard += step) {
                set.set(shard);
            }
        }
        return new ShardSet(set);
    }

    private static int checked(String number, int shardCount) {
        return IdLayout.checkRange("shard", Integer.parseInt(number), shardCount - 1);
    }

    public boolean contains(int shard) {
        return shard >= 0 && shards.get(shard);
    }

    /** The shards that are in both sets. */
    public ShardSet and(ShardSet other) {
        BitSet both = (BitSet) shards.clone();
        both.and(other.shards);
        return new ShardSet(both);
    }

    /** The number of shards. */
    public int size() {
        return shards.cardinality();
    }

    public boolean isEmpty() {
        return shards.isEmpty();
    }

    /** The shards in order. */
    public IntStream stream() {
        return shards.stream();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ShardSet set && shards.equals(set.shards);
    }

    @Override
    public int hashCode() {
        return shards.hashCode();
    }

    /** A text, usually the shortest, that {@link #parse} turns back into this set; empty for no shards. */
    @Override
    public String toString() {
        int[] sorted = shards.stream().toArray();
        List<String> parts = new ArrayList<>();
        for (int i = 0; i < sorted.length; ) {
            int run = runLength(sorted, i);
            if (run < SHORTEST_RUN) {
                parts.add(Integer.toString(sorted[i++]));
                continue;
            }
            int step = sorted[i + 1] - sorted[i];
            parts.add(sorted[i] + "-" + sorted[i + run - 1] + (step == 1 ? "" : "/" + step));
            i += run;
        }
        return String.join(",", parts);
    }

    /** The number of shards from {@code start} on that are spaced equally. */
    private static int runLength(int[] sorted, int start) {
        if (start + 1 >= sorted.length) {
            return 1;
        }
        int step = sorted[start + 1] - sorted[start];
        int end = start + 1;
        while (end + 1 < sorted.length && sorted[end + 1] - sorted[end] == step) {
            end++;
        }
        return end - start + 1;
    }
}
