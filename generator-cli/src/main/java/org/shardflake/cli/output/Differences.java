/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.output;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.compare.TableDifference;

/** Writes the rows that differ in shards as facts. */
public final class Differences {

    private Differences() {}

    /** The facts about differences, by shard. */
    public static Map<String, Object> facts(Map<Integer, List<TableDifference>> differences) {
        Map<String, Object> facts = new LinkedHashMap<>();
        differences.forEach((shard, tables) -> facts.put(
                String.valueOf(shard),
                tables.stream().map(TableDifference::toString).toList()));
        return facts;
    }

    /** The keys of the differing rows, at most a thousand for all shards. */
    public static List<Map<String, Object>> rows(Map<Integer, List<TableDifference>> differences) {
        List<Map<String, Object>> rows = new ArrayList<>();
        differences.forEach((shard, tables) -> tables.forEach(table -> {
            Map<String, Object> facts = new LinkedHashMap<>();
            facts.put("shard", shard);
            facts.put("table", table.table());
            facts.put("missing", List.copyOf(table.missing()));
            facts.put("extra", List.copyOf(table.extra()));
            facts.put("different", List.copyOf(table.different()));
            facts.put("atLeast", table.atLeast());
            rows.add(facts);
        }));
        return rows;
    }
}
