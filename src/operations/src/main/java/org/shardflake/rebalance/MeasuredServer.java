/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.rebalance;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.shardflake.Server;
import org.shardflake.ShardMap;

/** A server's load during planning, by one or more measures. */
final class MeasuredServer {

    final String name;
    private final double capacity;
    private final List<Measure> measures;
    private final double[] loads;
    private final List<Integer> shards = new ArrayList<>();

    private MeasuredServer(Server server, List<Measure> measures) {
        this.name = server.name();
        this.capacity = ServerLoad.capacity(server);
        this.measures = measures;
        this.loads = new double[measures.size()];
    }

    /** The servers of a map with their shards, by name. */
    static Map<String, MeasuredServer> all(ShardMap map, List<Measure> measures) {
        Map<String, MeasuredServer> all = new TreeMap<>();
        for (Server server : map.servers()) {
            MeasuredServer measured = new MeasuredServer(server, measures);
            map.shards(server).stream().forEach(measured::add);
            all.put(server.name(), measured);
        }
        return all;
    }

    List<Integer> shards() {
        return shards;
    }

    private void add(int shard) {
        shards.add(shard);
        count(shard, 1);
    }

    /** Moves a shard from this server to another one. */
    void give(Integer shard, MeasuredServer there) {
        shards.remove(shard);
        count(shard, -1);
        there.add(shard);
    }

    private void count(int shard, int sign) {
        for (int i = 0; i < loads.length; i++) {
            loads[i] += sign * measures.get(i).of().applyAsDouble(shard);
        }
    }

    /** The utilisation by one of the measures; 1 is the mean. */
    double utilisation(int measure) {
        double mean = measures.get(measure).mean();
        return mean == 0 ? 0 : loads[measure] / capacity / mean;
    }

    /** The utilisation by the measure that loads the server most. */
    double utilisation() {
        double most = 0;
        for (int i = 0; i < loads.length; i++) {
            most = Math.max(most, utilisation(i));
        }
        return most;
    }

    /** The utilisation with one more shard. */
    double utilisationWith(int shard) {
        double most = 0;
        for (int i = 0; i < loads.length; i++) {
            double mean = measures.get(i).mean();
            double more = mean == 0 ? 0 : measures.get(i).of().applyAsDouble(shard) / capacity / mean;
            most = Math.max(most, utilisation(i) + more);
        }
        return most;
    }

    /** The decrease in the sum of capacity * utilisation² over all servers and measures if a shard moves to another server. */
    double gain(int shard, MeasuredServer there) {
        double gain = 0;
        for (int i = 0; i < loads.length; i++) {
            double mean = measures.get(i).mean();
            if (mean > 0) {
                double its = measures.get(i).of().applyAsDouble(shard) / mean;
                gain += its * (2 * (utilisation(i) - there.utilisation(i)) - its / capacity - its / there.capacity);
            }
        }
        return gain;
    }
}
