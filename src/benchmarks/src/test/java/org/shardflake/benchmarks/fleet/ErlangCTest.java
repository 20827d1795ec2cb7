/*
 * Copyright The Shardflake Authors
 * SPDX-License-Identifier: Apache-2.0
 */
package org.shardflake.benchmarks.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Random;
import org.junit.jupiter.api.Test;

class ErlangCTest {

    @Test
    void isTheUtilisationWithOneConnection() {
        assertThat(new ErlangC(0.7, 1).waits()).isEqualTo(0.7, within(1e-12));
        assertThat(new ErlangC(0.7, 1).meanWait()).isEqualTo(0.7 / 0.3, within(1e-12));
    }

    /** 200 calls an hour of three minutes each, that is 10 erlangs, and 14 agents: the example of every call centre. */
    @Test
    void hasTheTextbooksValues() {
        assertThat(new ErlangC(1, 2).waits()).isEqualTo(1 / 3.0, within(1e-12));
        assertThat(new ErlangC(2, 3).waits()).isEqualTo(4 / 9.0, within(1e-12));
        ErlangC agents = new ErlangC(10, 14);
        assertThat(agents.waits()).isEqualTo(0.174, within(5e-4));
        assertThat(180 * agents.meanWait()).isEqualTo(7.83, within(0.02));
    }

    @Test
    void agreesWithTheSumOfThePage() {
        double load = 15.6;
        int connections = 27;
        double term = 1;
        double sum = 0;
        for (int i = 0; i < connections; i++) {
            sum += term;
            term *= load / (i + 1);
        }
        double all = term * connections / (connections - load);
        assertThat(new ErlangC(load, connections).waits()).isEqualTo(all / (sum + all), within(1e-12));
    }

    @Test
    void findsTheSmallestPool() {
        ErlangC smallest = ErlangC.smallest(15.6, 0.01);
        assertThat(smallest.waits()).isLessThanOrEqualTo(0.01);
        assertThat(new ErlangC(15.6, smallest.connections() - 1).waits()).isGreaterThan(0.01);
    }

    @Test
    void saysHowLongAlmostNobodyWaits() {
        ErlangC pool = new ErlangC(8, 10);
        double wait = pool.waitExceededBy(0.001);
        assertThat(pool.waits() * Math.exp(-2 * wait)).isEqualTo(0.001, within(1e-12));
        assertThat(new ErlangC(1, 20).waitExceededBy(0.001)).isZero();
    }

    @Test
    void agreesWithAPoolThatIsSimulated() {
        for (ErlangC formula : new ErlangC[] {new ErlangC(0.7, 1), new ErlangC(8, 10), new ErlangC(1.95, 4)}) {
            Pool pool = Pool.simulate(formula.load(), formula.connections(), 400_000, new Random(7));
            assertThat(pool.waits()).isEqualTo(formula.waits(), within(0.03 * formula.waits()));
            assertThat(pool.meanWait()).isEqualTo(formula.meanWait(), within(0.05 * formula.meanWait()));
        }
    }

    @Test
    void refusesALoadThatNoLineCanBear() {
        assertThatThrownBy(() -> new ErlangC(10, 10))
                .hasMessage("10 connections cannot bear a load of 10.0; it has to be above 0 and below that");
    }
}
