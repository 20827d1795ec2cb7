/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.load;

import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.shardflake.Advice;
import org.shardflake.CliCommand;
import org.shardflake.ShardflakeException;
import org.shardflake.ShardflakeException.Kind;
import org.shardflake.jdbc.Plural;

/**
 * The counters of the shards at one time. Two of them give rates.
 *
 * @param shards by number; without those of servers in {@code problems}
 * @param problems why there are no counters of a server, by its name
 */
public record LoadSample(Map<Integer, ShardCounters> shards, Map<String, String> problems) {

    public LoadSample {
        shards = Map.copyOf(shards);
        problems = Map.copyOf(problems);
    }

    /**
     * The rates of shards between an earlier sample and this one.
     *
     * <p>Without shards whose rate cannot be known: not both samples have them, they changed servers in between, or a counter fell, since a
     * server crashed, statistics were reset, or a table was dropped.
     */
    public Map<Integer, ShardRate> since(LoadSample before) {
        Map<Integer, ShardRate> rates = new TreeMap<>();
        shards.forEach((shard, counters) -> {
            ShardCounters earlier = before.shards.get(shard);
            ShardRate rate = earlier == null ? null : counters.since(earlier);
            if (rate != null) {
                rates.put(shard, rate);
            }
        });
        return rates;
    }

    /**
     * Requires that all servers were sampled.
     *
     * @throws ShardflakeException if one was not
     */
    public LoadSample whole() {
        problems.forEach((server, problem) -> {
            throw new ShardflakeException(
                    Kind.FAILURE,
                    "cannot measure the load of server %s: %s".formatted(server, problem),
                    Advice.of("%s looks for the cause; to balance by count needs no server", CliCommand.DOCTOR),
                    null);
        });
        return this;
    }

    /**
     * The rates of all shards between an earlier sample and this one.
     *
     * @throws ShardflakeException if one cannot be known, as in {@link #since}
     */
    public Map<Integer, ShardRate> allSince(LoadSample before) {
        Map<Integer, ShardRate> rates = since(before);
        int unknown = shards.size() - rates.size();
        if (unknown > 0) {
            throw new ShardflakeException(
                    Kind.FAILURE,
                    "the rate of %s is not known: they moved, or counters were reset or lost while they were measured"
                            .formatted(Plural.of(unknown, "shard")),
                    "run the command again",
                    null);
        }
        return rates;
    }

    /** The rates of servers between an earlier sample and this one: sums over the shards whose rate is known. */
    public Map<String, ShardRate> byServer(LoadSample before) {
        Map<String, ShardRate> rates = new TreeMap<>();
        since(before).forEach((shard, rate) -> rates.merge(server(shard), rate, ShardRate::plus));
        return rates;
    }

    private String server(int shard) {
        return Objects.requireNonNull(shards.get(shard)).server();
    }
}
