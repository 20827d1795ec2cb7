/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.watch;

import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.shardflake.ShardMap;
import org.shardflake.ShardSet;
import org.shardflake.cli.map.RateView;
import org.shardflake.cli.output.Amounts;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.load.LoadSample;
import org.shardflake.load.ShardRate;
import org.shardflake.load.ShardSizes;

/** Shows the busiest shards between two samples. */
final class TopView {

    private final ShardMap map;
    private final LoadSample sample;
    private final Map<Integer, ShardRate> rates;
    private final TopBy by;
    private final int limit;
    private Map<Integer, Long> bytes = Map.of();

    TopView(ShardMap map, LoadSample before, LoadSample now, TopBy by, int limit) {
        this.map = map;
        this.sample = now;
        this.rates = now.since(before);
        this.by = by;
        this.limit = limit;
    }

    ShardMap map() {
        return map;
    }

    /** The shards whose sizes are needed for display. To measure all of them takes as long as there are tables. */
    ShardSet wanted() {
        return by == TopBy.BYTES ? ShardSet.of(rates.keySet()) : ShardSet.of(busiest());
    }

    void measure(ShardSizes sizes) {
        bytes = sizes.all();
    }

    private double load(int shard) {
        return by.of(rates.getOrDefault(shard, ShardRate.NONE), bytes.getOrDefault(shard, 0L));
    }

    private double total() {
        return rates.keySet().stream().mapToDouble(this::load).sum();
    }

    private List<Integer> busiest() {
        return rates.keySet().stream()
                .filter(shard -> load(shard) > 0)
                .sorted(Comparator.comparingDouble((Integer shard) -> -load(shard))
                        .thenComparing(shard -> shard))
                .limit(limit)
                .toList();
    }

    private ShardRate all() {
        return rates.values().stream().reduce(ShardRate.NONE, ShardRate::plus);
    }

    Map<String, Object> facts() {
        Map<String, Object> facts = new LinkedHashMap<>(RateView.facts(all()));
        facts.put("measured", rates.size());
        facts.put("shards", busiest().stream().map(this::facts).toList());
        facts.put("problems", sample.problems());
        return facts;
    }

    private Map<String, Object> facts(int shard) {
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("server", map.server(shard).name());
        facts.put("shard", shard);
        facts.putAll(RateView.facts(rates.getOrDefault(shard, ShardRate.NONE)));
        facts.put("bytes", bytes.get(shard));
        facts.put("share", Math.round(1000 * load(shard) / total()) / 1000.0);
        return facts;
    }

    /** The text with the total load, and a line for each of the busiest shards. */
    String text() {
        ShardRate all = all();
        int unknown = map.sharding().shardCount() - rates.size();
        String head = "%s rows/s written, %s inserted, %s read%s%n%n"
                .formatted(
                        Amounts.rate(all.written()),
                        Amounts.rate(all.inserted()),
                        Amounts.rate(all.read()),
                        unknown == 0 ? "" : "; without " + Amounts.shards(unknown) + " of unknown rate");
        TableWriter table = new TableWriter("SERVER", "SHARD", "WRITTEN/S", "INSERTED/S", "READ/S", "BYTES", "SHARE")
                .mayLeaveOut("INSERTED/S");
        busiest().forEach(shard -> row(table, shard));
        return head + table;
    }

    private void row(TableWriter table, int shard) {
        ShardRate rate = rates.getOrDefault(shard, ShardRate.NONE);
        Long its = bytes.get(shard);
        table.row(
                map.server(shard).name(),
                shard,
                Amounts.rate(rate.written()),
                Amounts.rate(rate.inserted()),
                Amounts.rate(rate.read()),
                its == null ? "-" : Amounts.bytes(its),
                String.format(Locale.ROOT, "%.1f %%", 100 * load(shard) / total()));
    }

    /** A line for each server that could not be sampled. */
    String problems() {
        StringBuilder lines = new StringBuilder();
        sample.problems()
                .forEach((server, problem) -> lines.append("no rates for %s: %s%n".formatted(server, problem)));
        return lines.toString();
    }
}
