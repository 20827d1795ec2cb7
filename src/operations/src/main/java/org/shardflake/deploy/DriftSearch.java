/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.deploy;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Finds shards whose schema differs from that of most of their peers. */
final class DriftSearch {

    /** The number of shards described in full; the others are only named. */
    private static final int DESCRIBED = 20;

    private record Found(DeployTarget target, int shard, String fingerprint) {}

    private final List<Found> shards = new ArrayList<>();
    private final Map<DeployTarget, Integer> versions = new HashMap<>();

    /** Adds the shards of a server. Safe for any thread. */
    void add(DeployTarget target, Connection connection) throws SQLException {
        int version = connection.getMetaData().getDatabaseMajorVersion();
        Map<Integer, String> fingerprints = ShardDescription.fingerprints(connection, target.shards(), false);
        synchronized (this) {
            versions.put(target, version);
            add(target, fingerprints);
        }
    }

    private void add(DeployTarget target, Map<Integer, String> fingerprints) {
        target.shards().stream()
                .forEach(shard -> shards.add(new Found(target, shard, fingerprints.getOrDefault(shard, ""))));
    }

    private boolean isAcrossVersions() {
        return Set.copyOf(versions.values()).size() > 1;
    }

    private void readAcrossVersions() throws SQLException {
        shards.clear();
        for (DeployTarget target : versions.keySet()) {
            try (Connection connection = target.connect()) {
                add(target, ShardDescription.fingerprints(connection, target.shards(), true));
            }
        }
    }

    /** The differing shards, with the differences of the first of them. */
    synchronized List<ShardDrift> find() throws SQLException {
        if (isAcrossVersions()) {
            readAcrossVersions();
        }
        Map<String, Integer> counts = new HashMap<>();
        shards.forEach(shard -> counts.merge(shard.fingerprint(), 1, Integer::sum));
        if (counts.size() < 2) {
            return List.of();
        }
        String usual = counts.entrySet().stream()
                .max(Map.Entry.comparingByValue())
                .orElseThrow()
                .getKey();
        Found peer = shards.stream()
                .filter(shard -> shard.fingerprint().equals(usual))
                .findFirst()
                .orElseThrow();
        Map<String, String> expected = describe(peer);
        List<ShardDrift> drifts = new ArrayList<>();
        for (Found shard : shards.stream()
                .filter(shard -> !shard.fingerprint().equals(usual))
                .sorted(Comparator.comparingInt(Found::shard))
                .toList()) {
            drifts.add(new ShardDrift(
                    shard.shard(),
                    shard.target().server(),
                    drifts.size() < DESCRIBED
                            ? differences(expected, describe(shard), "in the other shards")
                            : List.of()));
        }
        return drifts;
    }

    private Map<String, String> describe(Found shard) throws SQLException {
        try (Connection connection = shard.target().connect()) {
            return ShardDescription.describe(connection, shard.shard(), isAcrossVersions());
        }
    }

    static List<String> differences(Map<String, String> expected, Map<String, String> actual, String where) {
        if (actual.isEmpty()) {
            return List.of("schema is missing");
        }
        List<String> differences = new ArrayList<>();
        Map<String, String> all = new TreeMap<>(expected);
        all.putAll(actual);
        for (String object : all.keySet()) {
            String there = expected.get(object);
            String here = actual.get(object);
            if (here == null) {
                differences.add(object + " is missing");
            } else if (there == null) {
                differences.add("%s is not %s: %s".formatted(object, where, shown(here)));
            } else if (!there.equals(here)) {
                differences.add("%s is %s, %s %s".formatted(object, shown(here), where, shown(there)));
            }
        }
        return differences;
    }

    private static String shown(String definition) {
        return definition.isEmpty() ? "plain" : definition;
    }
}
