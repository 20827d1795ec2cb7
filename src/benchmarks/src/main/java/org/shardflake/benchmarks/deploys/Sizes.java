/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.deploys;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.shardflake.benchmarks.report.Sizing;

/**
 * How much is measured, by system properties {@code deploys.*}.
 *
 * @param shards of the case that the others differ from
 * @param rounds of that case
 * @param growthRounds of the others
 * @param databases how many shards there are instead
 * @param servers how many servers there are instead
 * @param sample how many schemas the loop is measured on
 */
record Sizes(int shards, int rounds, int growthRounds, List<Integer> databases, List<Integer> servers, int sample) {

    /** Of the case that the others differ from. */
    static final int BASE_SERVERS = 2;

    static Sizes of(Sizing sizing) {
        return new Sizes(
                sizing.number("shards", 2000),
                sizing.number("rounds", 5),
                sizing.number("growthRounds", 3),
                sizing.numbers("databases", List.of(100, 500, 2000, 8192)),
                sizing.numbers("servers", List.of(2, 3, 4, 5, 6)),
                sizing.number("sample", 100));
    }

    /**
     * What is deployed to.
     *
     * @param shards in equal parts on all servers
     */
    record Case(int shards, int servers) {

        @Override
        public String toString() {
            return "%,d shards on %d server%s".formatted(shards, servers, servers == 1 ? "" : "s");
        }
    }

    Case base() {
        return new Case(shards, BASE_SERVERS);
    }

    /** All cases, the base first. */
    List<Case> cases() {
        Set<Case> cases = new LinkedHashSet<>(List.of(base()));
        cases.addAll(byShards());
        cases.addAll(byServers());
        return new ArrayList<>(cases);
    }

    /** The cases that differ by their shards. */
    List<Case> byShards() {
        return databases.stream().map(count -> new Case(count, BASE_SERVERS)).toList();
    }

    /** The cases that differ by their servers. */
    List<Case> byServers() {
        return servers.stream().map(count -> new Case(shards, count)).toList();
    }

    int rounds(Case measured) {
        return measured.equals(base()) ? rounds : growthRounds;
    }

    int mostServers() {
        return IntStream.concat(IntStream.of(BASE_SERVERS), servers.stream().mapToInt(Integer::intValue))
                .max()
                .orElseThrow();
    }
}
