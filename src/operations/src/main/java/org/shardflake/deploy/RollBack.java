/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.shardflake.jdbc.Sql;

/**
 * The most recent changesets of a changelog on any shard of the installation, with the statements that undo them on each shard.
 *
 * <p>They are the same changesets for all shards. A shard that has not had one of them, since its deployment failed there or the rollback
 * was interrupted, has less to undo. Its own last changeset would be an earlier one, which nobody asked to undo.
 */
final class RollBack {

    private final List<ShardChangeSet> latest;
    private final Map<String, Map<Integer, Map<String, ShardHistory.Line>>> histories;
    private final Set<String> known;

    private RollBack(
            List<ShardChangeSet> latest,
            Map<String, Map<Integer, Map<String, ShardHistory.Line>>> histories,
            Set<String> known) {
        this.latest = latest;
        this.histories = histories;
        this.known = known;
    }

    /**
     * One changeset to undo on a shard.
     *
     * @param onlyMarked whether the shard only has it in its history, since its preconditions did not hold: nothing is there to undo
     */
    record Undoing(ShardChangeSet changeSet, boolean onlyMarked) {

        /**
         * The statements that undo the changeset.
         *
         * @throws DeployException if it cannot be undone
         */
        List<String> sql() {
            return onlyMarked
                    ? List.of()
                    : changeSet
                            .rollbackSql()
                            .orElseThrow(() -> new DeployException("it cannot be undone: write a rollback into it"));
        }
    }

    /** The changesets to undo on one shard, the latest first. */
    record Plan(int shard, List<Undoing> steps) {}

    /**
     * Reads the histories of all shards of the installation.
     *
     * @param everywhere all shards, by server
     * @param changeSets those of the changelog, in order
     * @param known the keys of these and of Shardflake's own
     * @throws DeployRefusedException if a server cannot be asked
     */
    static RollBack read(List<DeployTarget> everywhere, List<ShardChangeSet> changeSets, Set<String> known, int count) {
        Map<String, Map<Integer, Map<String, ShardHistory.Line>>> histories = new LinkedHashMap<>();
        for (DeployTarget target : everywhere) {
            histories.put(target.server(), history(target));
        }
        Set<String> had = histories.values().stream()
                .flatMap(server -> server.values().stream())
                .flatMap(lines -> lines.keySet().stream())
                .collect(Collectors.toSet());
        List<ShardChangeSet> latest = new ArrayList<>(changeSets);
        latest.removeIf(changeSet -> !had.contains(changeSet.key()));
        Collections.reverse(latest);
        return new RollBack(List.copyOf(latest.subList(0, Math.min(count, latest.size()))), histories, known);
    }

    private static Map<Integer, Map<String, ShardHistory.Line>> history(DeployTarget target) {
        try (Connection connection = target.connect()) {
            Set<Integer> present = new HashSet<>(ShardHistory.presentShards(connection));
            Map<Integer, Map<String, ShardHistory.Line>> history =
                    ShardHistory.exists(connection) ? ShardHistory.lines(connection) : new HashMap<>();
            // Lines may be left of a shard that was dropped, or that is another server's.
            history.keySet().retainAll(present);
            history.keySet().removeIf(shard -> !target.shards().contains(shard));
            return history;
        } catch (SQLException e) {
            throw new DeployRefusedException(
                    "server %s cannot be asked which changesets its shards have had, so the last ones are not known: %s. No shard was changed"
                            .formatted(target.server(), Sql.message(e)));
        }
    }

    /** The changesets that are undone, the latest first. */
    List<ShardChangeSet> latest() {
        return latest;
    }

    /**
     * The plan for one shard.
     *
     * @throws DeployRefusedException if the shard has had a later changeset that the changelog does not have
     */
    Plan plan(String server, int shard) {
        Map<String, ShardHistory.Line> lines =
                histories.getOrDefault(server, Map.of()).getOrDefault(shard, Map.of());
        List<Undoing> steps = new ArrayList<>();
        int first = Integer.MAX_VALUE;
        for (ShardChangeSet changeSet : latest) {
            ShardHistory.Line line = lines.get(changeSet.key());
            if (line != null) {
                steps.add(new Undoing(changeSet, line.onlyMarked()));
                first = Math.min(first, line.order());
            }
        }
        int earliest = first;
        Optional<String> later = lines.entrySet().stream()
                .filter(line -> line.getValue().order() > earliest && !known.contains(line.getKey()))
                .map(Map.Entry::getKey)
                .sorted()
                .findFirst();
        if (later.isPresent()) {
            throw new DeployRefusedException(
                    "shard %s on server %s has had changeset %s after %s, and the changelog does not have it. No shard was changed: give the changelog that was deployed last"
                            .formatted(
                                    shard,
                                    server,
                                    later.get(),
                                    steps.get(steps.size() - 1).changeSet().key()));
        }
        return new Plan(shard, steps);
    }
}
