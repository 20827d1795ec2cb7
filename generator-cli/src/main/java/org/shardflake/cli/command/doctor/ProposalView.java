/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.cli.command.doctor;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.shardflake.ShardSet;
import org.shardflake.cli.output.TableWriter;
import org.shardflake.doctor.Doctor.Proposal;

/** Shows what a proposed shard map changes, and why. */
final class ProposalView {

    private record Change(String server, String from, String why) {}

    private ProposalView() {}

    private static Map<Change, List<Integer>> changes(Proposal proposal) {
        Map<Change, List<Integer>> changes = new LinkedHashMap<>();
        proposal.reasons()
                .forEach((shard, why) -> changes.computeIfAbsent(
                                new Change(
                                        proposal.map().server(shard).name(),
                                        proposal.current().server(shard).name(),
                                        why),
                                change -> new ArrayList<>())
                        .add(shard));
        return changes;
    }

    static List<Map<String, Object>> facts(Proposal proposal) {
        List<Map<String, Object>> all = new ArrayList<>();
        changes(proposal).forEach((change, shards) -> {
            Map<String, Object> facts = new LinkedHashMap<>();
            facts.put("server", change.server());
            facts.put("fromServer", change.from());
            facts.put("shards", ShardSet.of(shards).toString());
            facts.put("why", change.why());
            all.add(facts);
        });
        return all;
    }

    static String table(Proposal proposal) {
        TableWriter table = new TableWriter("SERVER", "FROM", "SHARDS", "WHY");
        changes(proposal)
                .forEach((change, shards) ->
                        table.row(change.server(), change.from(), ShardSet.of(shards), change.why()));
        return table.toString();
    }
}
