/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.shardflake.benchmarks.fleet.Rebalancing.Move;

class FleetTest {

    private static final double[] SHARES = {0.5, 0.25, 0.125, 0.125};

    @Test
    void dividesTheMostLoadedServerByTheMean() {
        Fleet fleet = Fleet.roundRobin(SHARES, 2);
        assertThat(fleet.loads()).containsExactly(0.625, 0.375);
        assertThat(fleet.imbalance()).isEqualTo(1.25);
        assertThat(fleet.loadBesideHottest()).isEqualTo(0.625);
    }

    /** Six ways to put two of four shards on the first server: sums 6/8, 5/8, 5/8, 3/8, 3/8 and 2/8. */
    @Test
    void theFormulaeAreThoseOfAllPlacements() {
        assertThat(ImbalancePart.besideHottest(SHARES, 2)).isEqualTo(2 * (6 + 5 + 5) / 24.0, within(1e-12));
        assertThat(ImbalancePart.deviation(SHARES, 2))
                .isEqualTo(Math.sqrt((4 + 1 + 1 + 1 + 1 + 4) / 16.0 / 6), within(1e-12));
    }

    @Test
    void theSameSeedShufflesAlike() {
        double[] first = Fleet.shuffled(Zipf.shares(100, 1), new Random(1));
        assertThat(Fleet.shuffled(Zipf.shares(100, 1), new Random(1))).containsExactly(first);
        assertThat(first).containsExactlyInAnyOrder(Zipf.shares(100, 1));
    }

    @Test
    void theHottestUidIsInOneShard() {
        Uids uids = Uids.simulate(1_000_000, 1, new Random(2));
        assertThat(uids.hottestUid()).isEqualTo(1 / 14.392726722865723, within(1e-12));
        assertThat(uids.hottestShard()).isEqualTo(uids.expected(), within(1e-3));
    }

    @Test
    void thePlannerEvensOutAndLosesNothing() {
        Fleet fleet = Fleet.roundRobin(Fleet.shuffled(Zipf.shares(8192, 0.6), new Random(4)), 64);
        Rebalancing plan = Rebalancing.of(fleet, shard -> Math.round(1e12 * fleet.share(shard)));
        assertThat(fleet.imbalance()).isGreaterThan(1.4);
        assertThat(plan.after().imbalance()).isLessThanOrEqualTo(1.1 + 1e-6);
        int changed = 0;
        double bytes = 0;
        for (int shard = 0; shard < 8192; shard++) {
            if (plan.after().server(shard) != fleet.server(shard)) {
                changed++;
                bytes += Math.round(1e12 * fleet.share(shard));
            }
        }
        assertThat(plan.shards()).isEqualTo(changed);
        assertThat((double) plan.bytes()).isEqualTo(bytes, within(1.0));
    }

    @Test
    void thePlannerEmptiesADrainedServer() {
        Fleet fleet = Fleet.roundRobin(Zipf.shares(8192, 0), 64);
        Rebalancing plan = Rebalancing.draining(5, fleet, shard -> 1_000_000);
        assertThat(plan.after().loads()[5]).isZero();
        assertThat(plan.shards()).isEqualTo(128);
        assertThat(plan.moves()).extracting(Move::from).containsOnly(5);
    }
}
